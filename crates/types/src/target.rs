//! What a plan is compiled for: limits, features and tuning of a device, as plain data.

mod figures;
mod products;

pub use figures::{FigureError, Figures, two_digits};
pub use products::{Component, DotProduct, MatrixScope, MatrixShape};

use crate::bytes::Bytes;
use crate::precision::Precision;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The checked-in selection tables of the profiles, as JSON.
pub(crate) const H200_TABLE: &str = include_str!("table/h200.json");
pub(crate) const GPU_TABLE: &str = include_str!("table/gpu.json");
pub(crate) const LAVAPIPE_TABLE: &str = include_str!("table/lavapipe.json");

/// A device as the planner sees it. Made from a real device's properties or taken from a profile, so that plans for
/// a GPU can be made, printed and checked on a machine that has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `h200`, `lavapipe`, or the device's own name.
    pub name: String,
    /// Hard limits.
    pub limits: Limits,
    /// Optional abilities.
    pub features: Features,
    /// Measured figures of the device as a whole, which feed the floor estimate.
    pub tuning: Tuning,
    /// How long one submission may last; zero: every level is a submission. Drivers end what runs too long: after 2 s
    /// on Windows and with current amdgpu, on some without an error.
    #[serde(default = "submission_bound")]
    pub submission_bound: Duration,
    /// Which kernels are best for which shapes. Plans do not keep it, only its identity.
    #[serde(default)]
    pub table: Arc<Table>,
}

/// How long a submission may last where nobody says otherwise.
pub const SUBMISSION_BOUND: Duration = Duration::from_millis(200);

fn submission_bound() -> Duration {
    SUBMISSION_BOUND
}

/// Limits that a plan must not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest group count per dimension of a dispatch.
    pub max_workgroup_count: [u32; 3],
    /// Threads in one workgroup.
    pub max_workgroup_invocations: u32,
    /// Shared memory of one workgroup.
    pub max_shared_memory: Bytes,
    /// Bytes of push constants.
    pub max_push_constants: u32,
    /// Largest single allocation; a region is split into chunks of at most this.
    pub max_allocation: Bytes,
    /// Largest range one descriptor can cover (descriptor form only).
    pub max_storage_range: Bytes,
    /// Memory the device can give to weights, states and scratch together.
    pub memory: Bytes,
    /// Trips that all loops of one invocation may make together before the driver ends them without a word; `None`: no
    /// limit. A loop of n iterations makes n + 1 trips.
    #[serde(default)]
    pub loop_turns: Option<u64>,
}

impl Limits {
    /// Whether loops of so many trips terminate by themselves.
    pub fn allows_trips(&self, trip_count: u64) -> bool {
        self.loop_turns.is_none_or(|limit| trip_count <= limit)
    }
}

/// What a device may or may not have beyond the floor (Vulkan 1.2, buffer device address, timeline semaphores).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// 64-bit integers in shaders.
    pub int64: bool,
    /// Lanes of a subgroup.
    pub subgroup_size: u32,
    /// The smallest subgroup that a kernel can ask for; 0: unknown.
    #[serde(default)]
    pub least_subgroup_size: u32,
    /// The largest one; 0: unknown.
    #[serde(default)]
    pub most_subgroup_size: u32,
    /// Whether kernels can ask for a size between them.
    #[serde(default)]
    pub subgroup_size_control: bool,
    /// Subgroup arithmetic (reductions) in compute shaders.
    pub subgroup_arithmetic: bool,
    /// Subgroup shuffles in compute shaders.
    pub subgroup_shuffle: bool,
    /// NaN, infinities and signed zeros of f32 are preserved.
    pub preserve_special_f32: bool,
    /// Subnormal f32 values are preserved.
    pub preserve_subnormal_f32: bool,
    /// f16 arithmetic in shaders.
    #[serde(default)]
    pub float16: bool,
    /// 8-bit integer arithmetic in shaders.
    #[serde(default)]
    pub int8: bool,
    /// 16-bit elements in storage buffers.
    #[serde(default)]
    pub storage16: bool,
    /// 8-bit elements in storage buffers.
    #[serde(default)]
    pub storage8: bool,
    /// Dot products of packed 8-bit integers.
    #[serde(default)]
    pub dot_product: DotProduct,
    /// Products of cooperative matrices; none: none are offered, or nobody has asked the device.
    #[serde(default)]
    pub matrices: Vec<MatrixShape>,
    /// The device is a CPU.
    #[serde(default)]
    pub cpu: bool,
}

/// Figures measured on the device (or taken from the profile nearest to it).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Compute units (streaming multiprocessors, cores): grids smaller than a few times this starve the device.
    pub compute_units: u32,
    /// Time of one level: a dispatch and the barrier before it, in microseconds.
    pub level_us: f64,
    /// Time of one more dispatch in a level, in microseconds.
    pub dispatch_us: f64,
    /// Time of one submission as the host sees it, in microseconds.
    pub submit_us: f64,
    /// Memory bandwidth, read plus write, in bytes per microsecond.
    pub bytes_per_us: f64,
    /// f32 multiply-add rate of a matrix product, in operations per microsecond.
    pub f32_flops_per_us: f64,
    /// As before, of products whose operands are rounded to 16 bits or less; `None`: as f32.
    #[serde(default)]
    pub rounded_flops_per_us: Option<f64>,
}

impl Tuning {
    /// Rate of matrix products in a precision, in operations per microsecond.
    pub fn flops_per_us(&self, precision: Precision) -> f64 {
        match precision {
            Precision::Exact => self.f32_flops_per_us,
            Precision::F16 | Precision::Bf16 | Precision::Int8 => {
                self.rounded_flops_per_us.unwrap_or(self.f32_flops_per_us)
            }
        }
    }

    /// Time of steps that run side by side: so many, which move so many bytes together, and whose arithmetic takes so
    /// many microseconds.
    pub fn level(&self, steps: usize, bytes: f64, flops_us: f64) -> LevelTime {
        let further = steps.saturating_sub(1) as f64;
        LevelTime {
            dispatch_us: self.level_us + further * self.dispatch_us,
            bytes_us: bytes / self.bytes_per_us,
            flops_us,
        }
    }
}

/// What the time of a level is made of, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelTime {
    /// The level and its dispatches.
    pub dispatch_us: f64,
    /// Moving the bytes.
    pub bytes_us: f64,
    /// The arithmetic of products, while bytes move.
    pub flops_us: f64,
}

impl LevelTime {
    /// All of it: bytes move while products are computed.
    pub fn total_us(&self) -> f64 {
        self.dispatch_us + self.bytes_us.max(self.flops_us)
    }
}

/// What llvmpipe (lavapipe) lets the loops of one invocation iterate, all of them together (Mesa 22.3 and 25.0,
/// `LP_MAX_TGSI_LOOP_ITERATIONS`).
pub const LLVMPIPE_LOOP_TURNS: u64 = 65_535;

impl Target {
    /// NVIDIA H200, driver 580.159.04: limits from its vulkaninfo, figures measured 2026-11-20.
    pub fn h200() -> Target {
        Target {
            name: "h200".into(),
            limits: Limits {
                max_workgroup_count: [2_147_483_647, 65_535, 65_535],
                max_workgroup_invocations: 1024,
                max_shared_memory: Bytes(48 << 10),
                max_push_constants: 256,
                max_allocation: Bytes(0xffe0_0000),
                max_storage_range: Bytes((4 << 30) - 1),
                memory: Bytes(140 << 30),
                loop_turns: None,
            },
            features: Features {
                int64: true,
                subgroup_size: 32,
                least_subgroup_size: 32,
                most_subgroup_size: 32,
                subgroup_size_control: true,
                subgroup_arithmetic: true,
                subgroup_shuffle: true,
                preserve_special_f32: true,
                preserve_subnormal_f32: false,
                float16: true,
                int8: true,
                storage16: true,
                storage8: true,
                dot_product: DotProduct {
                    offered: true,
                    signed: true,
                    unsigned: true,
                    mixed: true,
                    saturating: true,
                },
                // The driver offers VK_KHR_cooperative_matrix; its shapes are not in the vulkaninfo of that date.
                matrices: Vec::new(),
                cpu: false,
            },
            tuning: Tuning {
                compute_units: 132,
                level_us: 2.2,
                dispatch_us: 0.16,
                submit_us: 35.0,
                bytes_per_us: 4.19e6,
                f32_flops_per_us: 50.9e6,
                rounded_flops_per_us: None,
            },
            submission_bound: SUBMISSION_BOUND,
            table: Arc::new(Table::built_in(H200_TABLE)),
        }
    }

    /// Mesa 22.3 lavapipe, the floor: every plan for another target should also be makeable for this one.
    pub fn lavapipe() -> Target {
        Target {
            name: "lavapipe".into(),
            limits: Limits {
                max_workgroup_count: [65_535; 3],
                max_workgroup_invocations: 1024,
                max_shared_memory: Bytes(32 << 10),
                max_push_constants: 128,
                max_allocation: Bytes(2 << 30),
                max_storage_range: Bytes(128 << 20),
                memory: Bytes(2 << 30),
                loop_turns: Some(LLVMPIPE_LOOP_TURNS),
            },
            features: Features {
                int64: true,
                subgroup_size: 8,
                least_subgroup_size: 8,
                most_subgroup_size: 8,
                subgroup_size_control: true,
                subgroup_arithmetic: true,
                subgroup_shuffle: true,
                preserve_special_f32: true,
                preserve_subnormal_f32: false,
                float16: true,
                int8: true,
                storage16: true,
                storage8: true,
                dot_product: DotProduct { offered: true, ..DotProduct::default() },
                matrices: Vec::new(),
                cpu: true,
            },
            tuning: Tuning {
                compute_units: 2,
                level_us: 9.0,
                dispatch_us: 7.0,
                submit_us: 60.0,
                bytes_per_us: 2.4e4,
                f32_flops_per_us: 5.0e4,
                rounded_flops_per_us: None,
            },
            submission_bound: SUBMISSION_BOUND,
            table: Arc::new(Table::built_in(LAVAPIPE_TABLE)),
        }
    }

    /// The table of GPUs that nobody has measured: rows whose conditions are in compute units and rates, so that a card
    /// like a measured one gets the same kernels, and whose kernels every GPU can run.
    pub fn gpu_table() -> Arc<Table> {
        Arc::new(Table::built_in(GPU_TABLE))
    }

    /// This device with another table.
    #[must_use]
    pub fn with_table(self, table: Arc<Table>) -> Target {
        Target { table, ..self }
    }

    /// The target as plans keep it: without the table's rows.
    #[must_use]
    pub fn without_table(&self) -> Target {
        self.clone().with_table(Arc::default())
    }

    /// What this device can run, chosen as for another one: its limits and abilities, the other's figures and table,
    /// and loops no longer than either lets them be. So a device that is at hand runs the kernels that users of the
    /// other get, as far as it can.
    pub fn selecting_as(&self, other: &Target) -> Target {
        let loop_turns = [self, other].into_iter().filter_map(|t| t.limits.loop_turns).min();
        Target {
            name: format!("{} selecting as {}", self.name, other.name),
            limits: Limits { loop_turns, ..self.limits.clone() },
            features: self.features.clone(),
            tuning: other.tuning.clone(),
            submission_bound: self.submission_bound,
            table: other.table.clone(),
        }
    }

    /// A profile by name: `h200` or `lavapipe`.
    pub fn profile(name: &str) -> Option<Target> {
        match name {
            "h200" => Some(Target::h200()),
            "lavapipe" => Some(Target::lavapipe()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_can_stays_when_it_selects_as_another() {
        let (gpu, cpu) = (Target::h200(), Target::lavapipe());
        let both = cpu.selecting_as(&gpu);
        assert_eq!((&both.limits, &both.features), (&cpu.limits, &cpu.features));
        assert_eq!((&both.tuning, &both.table), (&gpu.tuning, &gpu.table));
        assert_eq!(gpu.selecting_as(&cpu).limits.loop_turns, cpu.limits.loop_turns);
        assert_eq!(cpu.selecting_as(&cpu), Target { name: both.name.replace("h200", "lavapipe"), ..cpu });
    }
}
