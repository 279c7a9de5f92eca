//! The calls whose time is taken: of kernels that plans take too, because their rates are asked for.

use crate::gpu::Gpu;
use crate::pipelines::{PipelineRequest, Ready};
use pumice_plan::kernel::{Bound, CallBuilder};
use pumice_plan::kernels::copy::{Fill, filled};
use pumice_plan::kernels::elementwise::ElementwiseFlat;
use pumice_plan::kernels::matmul::MatmulF32;
use pumice_plan::{ArgValue, HoleFill, HoleInput, KernelCall, UseIndex};
use pumice_runtime::device::DeviceError;
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DimExpr, Target};

/// Terms of each sum of a product: so many that its beginning and end do not count.
pub(super) const TERMS: u32 = 2048;

/// A call with its pipeline.
pub(super) struct Kernel {
    pub(super) call: KernelCall,
    pub(super) ready: Ready,
}

/// Everything that is run.
pub(super) struct Kernels {
    /// y = x of some floats.
    pub(super) copy: Kernel,
    /// Rising floats, which cost a multiplier more than zeros.
    pub(super) fill: Kernel,
    /// A product of one tile a group.
    pub(super) product: Kernel,
    /// Rows and columns of a tile.
    pub(super) tile: [u32; 2],
    /// The device's rate of products as a multiple of the tile's: the table says times of tiles in that rate.
    pub(super) tile_share: f64,
}

impl Kernels {
    /// Makes their pipelines, side by side.
    pub(super) fn new(gpu: &Gpu) -> Result<Kernels, DeviceError> {
        let (variant, tile) = tile(&gpu.plan.target);
        let calls = [copy(0)?, fill(0)?, product(variant, [1, 1, 1])?];
        let requests = || calls.iter().map(|call| PipelineRequest { call, uses: &[] });
        gpu.pipelines.prepare(requests(), &|_| {})?;
        let mut made = requests()
            .map(|request| Ok(Kernel { call: request.call.clone(), ready: gpu.pipelines.get(request)? }));
        let mut next = || made.next().unwrap_or_else(|| Err(defect("a call is missing")));
        let (copy, fill, product) = (next()?, next()?, next()?);
        Ok(Kernels { copy, fill, product, tile, tile_share: share(variant) })
    }
}

pub(super) fn defect(error: impl ToString) -> DeviceError {
    DeviceError::Unsupported(format!("a measurement: {}", error.to_string()))
}

/// The largest tile that the device runs, which comes nearest to its rate.
fn tile(target: &Target) -> (&'static str, [u32; 2]) {
    let large = MatmulF32::DECL.variant(MatmulF32::t128).is_some_and(|variant| variant.runs_on(target));
    if large { (MatmulF32::t128, [128, 128]) } else { (MatmulF32::t64, [64, 64]) }
}

/// What the table of unmeasured GPUs says of the tile where there are many.
fn share(variant: &str) -> f64 {
    let take = format!("{}.{variant}", MatmulF32::DECL.name);
    let table = Target::gpu_table();
    let row = table.family("matmul.tile").find(|row| row.take == take);
    row.and_then(|row| row.figures.get("crowded").copied()).unwrap_or(1.0)
}

/// y\[i\] = x\[i\] for i < n, a multiple of four; x and y are slots.
pub(super) fn copy(n: u32) -> Result<KernelCall, DeviceError> {
    let expr = ScalarExpr::build(&[RegType::F32], |_, x| vec![x[0]]);
    let expr = expr.map_err(defect)?;
    let body = HoleFill {
        hole: "body".into(),
        expr,
        inputs: [HoleInput::Slot(0)].into_iter().collect(),
        result: None,
        stores: [(1, 0)].into_iter().collect(),
    };
    ElementwiseFlat {
        variant: ElementwiseFlat::plain,
        kinds0: 0,
        kinds1: 0,
        scalars: 0,
        per: 1,
        tail: 0,
        n: n.into(),
        status_op: 0.into(),
        slots: vec![UseIndex(0).into(), UseIndex(1).into()],
        holes: vec![body],
    }
    .into_call()
    .fixed()
    .map_err(defect)
}

/// y\[i\] = 1/2 + i/2^27 for i < n.
pub(super) fn fill(n: u32) -> Result<KernelCall, DeviceError> {
    Fill {
        variant: Fill::plain,
        kind: filled::FLOATS,
        n: n.into(),
        start_lo: ArgValue::f32(0.5),
        start_hi: ArgValue::ZERO,
        delta_lo: ArgValue::f32((-27f32).exp2()),
        delta_hi: ArgValue::ZERO,
        y: UseIndex(0).into(),
        slots: Vec::new(),
        holes: Vec::new(),
    }
    .into_call()
    .fixed()
    .map_err(defect)
}

/// y\[m, n\] = a\[m, k\] · b\[k, n\], all dense, with extents that are multiples of the tile's.
pub(super) fn product(variant: &'static str, [m, n, k]: [u32; 3]) -> Result<KernelCall, DeviceError> {
    let number = |n: u32| DimExpr::constant(n.into());
    let along =
        |at: u16, strides: &[u32]| Bound::from(UseIndex(at)).along(strides.iter().map(|&s| number(s)));
    let builder = CallBuilder::new(&MatmulF32::DECL, variant)
        .constant("a_mode", 0)
        .constant("b_mode", 2)
        .constant("vec_y", 1)
        .constant("k_tail", 0)
        .constant("edge", 0)
        .constant("round", 0);
    let own = [("m", m), ("n", n), ("k", k), ("batches", 1), ("inner", 1)];
    let builder =
        own.into_iter().fold(builder, |builder, (name, value)| builder.own(name, ArgValue::U32(value)));
    let builder = builder.operand("a", along(0, &[0, 0, k, 1])).operand("b", along(1, &[0, 0, n, 1]));
    builder.operand("y", along(2, &[0, 0, n])).fixed().map_err(defect)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tile's time in the table is a multiple of the time at the device's rate, so the rate is that multiple of what
    /// the tile reaches.
    #[test]
    fn the_tiles_that_are_measured_stand_in_the_table() {
        for variant in [MatmulF32::t128, MatmulF32::t64] {
            assert!(share(variant) > 1.0, "{variant}");
        }
        assert_eq!(share("none"), 1.0);
        assert_eq!(tile(&Target::h200()).0, MatmulF32::t128);
        assert_eq!(tile(&Target::lavapipe()).0, MatmulF32::t64);
    }

    #[test]
    fn every_call_fits_its_declaration() {
        for call in [copy(1024), fill(1024), product(MatmulF32::t128, [128, 256, 512])] {
            let call = call.expect("its words are known");
            assert!(call.check().is_ok(), "{}", call.label());
        }
    }
}
