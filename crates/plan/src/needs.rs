//! What a plan needs of a device, and what of it a device lacks.
//!
//! In: a plan. Out: the largest of each limit that any of its steps or regions uses, and the features its kernels were
//! built for. Never here: whether the plan is right, or how much memory there is.

#[cfg(feature = "unsound")]
use crate::check::Loops;
use crate::kernel::{Feature, KernelCall, VariantDecl};
use crate::kernels;
use crate::plan::Plan;
use crate::step::{Grid, Step, StepKind};
use pumice_types::Target;
use pumice_types::target::Component;
use std::fmt;

/// Limits and features that a plan uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Each limit with the most that is used of it.
    limits: Vec<(Limit, u64)>,
    features: Vec<Feature>,
}

/// A limit of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// Workgroups of a dispatch along x.
    WorkgroupsX,
    /// Workgroups of a dispatch along y.
    WorkgroupsY,
    /// Workgroups of a dispatch along z.
    WorkgroupsZ,
    /// Threads of a workgroup.
    WorkgroupThreads,
    /// Bytes of shared memory of a workgroup.
    SharedMemory,
    /// Bytes of push constants.
    PushConstants,
    /// Bytes of one allocation.
    Allocation,
    /// Trips of the loops of one invocation.
    LoopTurns,
}

/// A limit or feature of a device that falls short of what a plan uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// The plan uses more than there is.
    Limit {
        /// Of what.
        limit: Limit,
        /// What the plan uses.
        needed: u64,
        /// What the device has.
        available: u64,
    },
    /// The plan's kernels need an ability.
    Feature(Feature),
}

/// Threads of a workgroup of every kernel whose variant says nothing else, at most.
const PLAIN_THREADS: u64 = 256;

impl Needs {
    /// Of a plan that was not checked.
    #[cfg(feature = "unsound")]
    pub fn of(plan: &Plan) -> Needs {
        let mut needs = Needs::of_regions(plan);
        for loops in Loops::of_plan(plan) {
            let trip_count = |call: &KernelCall| call.check().map_or(0, |decl| loops.trip_count(decl, call));
            loops.steps().iter().for_each(|step| needs.add(step, trip_count));
        }
        needs
    }

    /// Of the regions of a plan alone.
    pub(crate) fn of_regions(plan: &Plan) -> Needs {
        let mut needs = Needs::default();
        for chunk in plan.regions.iter().chain(plan.streams.iter().map(|s| &s.room)).flat_map(|r| &r.chunks) {
            needs.limit(Limit::Allocation, chunk.0);
        }
        needs.limit(Limit::LoopTurns, 0);
        needs
    }

    /// Of a step, too. `trip_count` says the trip count of a call.
    pub(crate) fn add(&mut self, step: &Step, trip_count: impl FnOnce(&KernelCall) -> u64) {
        if let StepKind::Dispatch { grid, .. } = &step.kind {
            let (Grid::Static(groups) | Grid::Frame { upper: groups, .. }) = grid;
            let axes = [Limit::WorkgroupsX, Limit::WorkgroupsY, Limit::WorkgroupsZ];
            axes.iter().zip(groups).for_each(|(axis, n)| self.limit(*axis, u64::from(*n)));
        }
        if let StepKind::Dispatch { call, .. } | StepKind::Advance { call } = &step.kind {
            self.call(call);
            self.limit(Limit::LoopTurns, trip_count(call));
        }
    }

    fn call(&mut self, call: &KernelCall) {
        let Some(decl) = kernels::find(&call.kernel.0) else { return };
        self.limit(Limit::PushConstants, u64::from(decl.layout().push_bytes()));
        self.limit(Limit::WorkgroupThreads, PLAIN_THREADS);
        let of_variant = decl.variant(&call.variant).map_or(&[][..], |v| v.features);
        let of_holes = call.holes.iter().any(|h| h.expr.computes_int64()).then_some(Feature::Int64);
        for feature in of_variant.iter().copied().chain(of_holes) {
            match feature {
                Feature::SharedMemory(bytes) => self.limit(Limit::SharedMemory, bytes.into()),
                Feature::Threads(threads) => self.limit(Limit::WorkgroupThreads, threads.into()),
                _ if self.features.contains(&feature) => {}
                _ => self.features.push(feature),
            }
        }
    }

    fn limit(&mut self, limit: Limit, used: u64) {
        match self.limits.iter_mut().find(|(l, _)| *l == limit) {
            Some((_, most)) => *most = used.max(*most),
            None => self.limits.push((limit, used)),
        }
    }

    /// Each limit that is used, with the most of it.
    pub fn limits(&self) -> &[(Limit, u64)] {
        &self.limits
    }

    /// Each feature that is used.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Where a device falls short.
    pub fn lacks(&self, device: &Target) -> Vec<Lack> {
        let limits = self.limits.iter().filter_map(|&(limit, needed)| {
            let available = limit.of(device);
            (needed > available).then_some(Lack::Limit { limit, needed, available })
        });
        let features = self.features.iter().filter(|f| !offers(device, **f)).map(|&f| Lack::Feature(f));
        limits.chain(features).collect()
    }
}

impl Limit {
    /// What a device has of it.
    fn of(self, device: &Target) -> u64 {
        let limits = &device.limits;
        match self {
            Limit::WorkgroupsX => limits.max_workgroup_count[0].into(),
            Limit::WorkgroupsY => limits.max_workgroup_count[1].into(),
            Limit::WorkgroupsZ => limits.max_workgroup_count[2].into(),
            Limit::WorkgroupThreads => limits.max_workgroup_invocations.into(),
            Limit::SharedMemory => limits.max_shared_memory.0,
            Limit::PushConstants => limits.max_push_constants.into(),
            Limit::Allocation => limits.max_allocation.0,
            Limit::LoopTurns => limits.loop_turns.unwrap_or(u64::MAX),
        }
    }
}

impl VariantDecl {
    /// Whether a device has everything that the variant needs.
    pub fn runs_on(&self, device: &Target) -> bool {
        self.features.iter().all(|&f| offers(device, f))
    }
}

/// Whether a device has what a variant needs.
pub(crate) fn offers(target: &Target, feature: Feature) -> bool {
    match feature {
        Feature::SubgroupArithmetic => target.features.subgroup_arithmetic,
        Feature::SubgroupShuffle => target.features.subgroup_shuffle,
        Feature::SubgroupSize(lanes) => target.features.subgroup_size.is_multiple_of(lanes),
        Feature::Int64 => target.features.int64,
        Feature::Float16 => target.features.float16,
        Feature::Storage16 => target.features.storage16,
        Feature::Storage8 => target.features.storage8,
        Feature::DotProduct => target.features.dot_product.offered && target.features.dot_product.signed,
        Feature::CooperativeMatrix => has_units(target, Component::F16),
        Feature::CooperativeMatrixBf16 => has_units(target, Component::BF16),
        Feature::SharedMemory(bytes) => u64::from(bytes) <= target.limits.max_shared_memory.0,
        Feature::Threads(threads) => threads <= target.limits.max_workgroup_invocations,
    }
}

/// Whether subgroups of exactly 32 threads multiply matrices of such factors.
fn has_units(target: &Target, factor: Component) -> bool {
    let features = &target.features;
    features.subgroup_size == 32 && features.matrices.iter().any(|shape| shape.is_by_16(factor))
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::WorkgroupsX => "workgroups along x",
            Limit::WorkgroupsY => "workgroups along y",
            Limit::WorkgroupsZ => "workgroups along z",
            Limit::WorkgroupThreads => "threads in a workgroup",
            Limit::SharedMemory => "bytes of shared memory",
            Limit::PushConstants => "bytes of push constants",
            Limit::Allocation => "bytes in one allocation",
            Limit::LoopTurns => "trips of the loops of one invocation",
        })
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::Limit { limit, needed, available } => {
                write!(f, "{limit}: the plan uses {needed}, the device has {available}")
            }
            Lack::Feature(feature) => write!(f, "{feature:?}: the plan's kernels need it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::OptLevel;

    /// What a variant may need of what a device multiplies: the profiles have it or lack it as their drivers say.
    #[test]
    fn variants_run_where_the_device_multiplies_what_they_need() {
        let runs = |features: &'static [Feature], target: &Target| {
            let variant =
                VariantDecl { name: "fast", plain: false, opt: OptLevel::Zero, features, defines: &[] };
            variant.runs_on(target)
        };
        let (gpu, cpu) = (Target::h200(), Target::lavapipe());
        let narrow: &[Feature] = &[Feature::Float16, Feature::Storage16, Feature::Storage8];
        assert!(runs(narrow, &gpu) && runs(narrow, &cpu));
        // lavapipe offers dot products and computes them one by one.
        assert!(runs(&[Feature::DotProduct], &gpu) && !runs(&[Feature::DotProduct], &cpu));
        let mut old = gpu;
        (old.features.float16, old.features.storage8, old.features.dot_product) = Default::default();
        for feature in [&[Feature::Float16][..], &[Feature::Storage8], &[Feature::DotProduct]] {
            assert!(!runs(feature, &old), "{feature:?}");
        }
        assert!(runs(&[Feature::Storage16], &old));
    }
}
