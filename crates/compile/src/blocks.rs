//! Values in blocks: which kernels can read them where they lie, and the copy of their values for those that cannot.

use crate::codes::is_coded;
use crate::cx::{LowerCx, LowerResult};
use crate::meaning;
use crate::step::StepBuilder;
use crate::unplaced::{PlacedView, StorageClass};
use crate::views::restride;
use pumice_ir::ValueType;
use pumice_plan::kernel::FloatStorage;
use pumice_plan::kernels::copy::Dequantize;
use pumice_plan::{Storage, View};
use pumice_types::{DType, DimExpr, Encoding};

/// Neighbouring elements of a view that share bytes; `None` where each has its own.
fn block(view: &View) -> Option<u64> {
    match view.storage {
        Storage::Encoded(Encoding::Blocks(scheme)) => Some(scheme.elements()),
        _ => None,
    }
}

/// Whether a view shows elements that no block holds, or whole blocks along an axis of stride 1: what kernels that read
/// blocks take.
pub fn is_readable(cx: &LowerCx<'_>, view: &View) -> bool {
    let Some(elements) = block(view) else { return !is_coded(view) };
    let whole = |e: &DimExpr| e.is(0) || e.divisor(cx.graph.symbols()).is_multiple_of(elements);
    let axes: Vec<_> = view.shape.iter().zip(&view.strides).filter(|(n, _)| !n.is(1)).collect();
    let along = axes.iter().filter(|(_, stride)| stride.is(1)).count();
    let fits = |(extent, stride): &(&DimExpr, &DimExpr)| whole(if stride.is(1) { extent } else { stride });
    along == 1 && whole(&view.offset) && axes.iter().all(fits)
}

impl LowerCx<'_> {
    /// A place as elements: the param that a view in blocks shows is decoded as a whole, once for all that want it so.
    pub fn decoded(&mut self, at: &PlacedView) -> LowerResult<PlacedView> {
        if is_coded(&at.view) {
            return self.decoded_codes(at);
        }
        if block(&at.view).is_none() {
            return Ok(at.clone());
        }
        Ok(self.dequantized(at, "its reader takes elements, and it is stored in blocks")?.0)
    }

    /// As [`LowerCx::decoded`], but in scratch, anew in each run: the values take their bytes while they are read.
    pub fn decoded_anew(&mut self, at: &PlacedView, why: &str) -> LowerResult<PlacedView> {
        let (values, is_made) = self.dequantized(at, why)?;
        if is_made {
            self.unplaced.made_anew.insert(values.version);
        }
        Ok(values)
    }

    /// The values of the whole param that a view in blocks shows, seen as the view sees it, and whether this made the
    /// step that decodes them.
    fn dequantized(&mut self, at: &PlacedView, why: &str) -> LowerResult<(PlacedView, bool)> {
        let version = &self.unplaced.versions[at.version.0 as usize];
        let (name, shape) = (version.name.clone(), version.ty.shape.clone());
        let view = View::dense(DType::F32, at.view.storage, &shape).into();
        let blocks = PlacedView { view, ..at.clone() };
        if let Some(values) = self.copy_of(&blocks) {
            return Ok((seen_through(&values, at), false));
        }
        let ty = ValueType::new(DType::F32, shape);
        let values = self.alloc(name, StorageClass::Scratch, Storage::Arena, &ty)?;
        let first = self.unplaced.steps.len();
        dequantize(self, &blocks, &values, &ty)?;
        self.because(first, why);
        self.remember_copy(&blocks, &values);
        Ok((seen_through(&values, at), true))
    }
}

/// Strides count elements, so the view of the values is that of the blocks.
fn seen_through(values: &PlacedView, at: &PlacedView) -> PlacedView {
    restride(values, at.view.shape.clone(), at.view.strides.clone(), at.view.offset.clone())
}

/// The step that writes the values of blocks.
fn dequantize(cx: &mut LowerCx<'_>, from: &PlacedView, to: &PlacedView, ty: &ValueType) -> LowerResult {
    let count = ty.elements();
    if count.is(0) {
        return Ok(());
    }
    cx.fits_u32(&count, "the param")?;
    debug_assert!(FloatStorage::of(&from.view) != FloatStorage::F32);
    let meaning = meaning::of_copy(cx.graph, ty)?;
    let mut step = StepBuilder::new();
    let (x, y) = (step.read(0, from), step.write(to));
    let call = Dequantize {
        variant: Dequantize::plain,
        n: cx.arg(&count),
        x,
        y,
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let grid = cx.grid(&count.ceil_div(&DimExpr::constant(1024)))?;
    step.dispatch(cx, call.into_call(), grid, meaning)
}
