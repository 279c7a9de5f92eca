//! Windows as kernels take them: three spatial axes, those that an op does not have being one element under one tap.

use crate::cx::LowerCx;
use pumice_plan::View;
use pumice_plan::kernel::ArgValue;
use pumice_types::{DimExpr, SymbolTable, WindowAxis};

/// Spatial axes of every kernel with a window.
pub const AXES: usize = 3;

/// One spatial axis: tap t of position o lies at o · step + t · dilation - begin.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Elements of the operand.
    pub extent: DimExpr,
    /// Positions.
    pub out: DimExpr,
    /// Taps.
    pub kernel: u64,
    /// Elements from position to position.
    pub step: u64,
    /// Elements from tap to tap.
    pub dilation: u64,
    /// Elements before the first.
    pub begin: DimExpr,
    /// Where what pads the operand ends, counted from its first element.
    pub end: DimExpr,
}

/// The largest number of a window that kernels take: sums of two places stay below 2^31.
pub const LARGEST: u64 = 1 << 29;

impl Axis {
    /// Of an op's window over an extent, at so many positions; none where its numbers are more than kernels count to.
    pub fn of(window: &WindowAxis, extent: &DimExpr, out: &DimExpr) -> Option<Axis> {
        let WindowAxis { kernel, stride, dilation, begin, end } = *window;
        // What nothing is multiplied by may be any number.
        let (step, dilation) = (if out.is(1) { 1 } else { stride }, if kernel == 1 { 1 } else { dilation });
        let largest = [kernel, step, dilation, begin, end, window.reach()].into_iter().max()?;
        (largest <= LARGEST).then(|| Axis {
            extent: extent.clone(),
            out: out.clone(),
            kernel,
            step,
            dilation,
            begin: DimExpr::from(begin),
            end: extent + &DimExpr::from(end),
        })
    }

    /// An axis of one element under one tap.
    fn unit() -> Axis {
        let one = || DimExpr::constant(1);
        let (kernel, step, dilation, begin) = (1, 1, 1, DimExpr::constant(0));
        Axis { extent: one(), out: one(), kernel, step, dilation, begin, end: one() }
    }
}

/// The axes of a window.
#[derive(Clone, Debug)]
pub struct Window(pub [Axis; AXES]);

/// Arguments that all kernels with a window have.
pub struct Words {
    /// Elements of the operand.
    pub extent: [ArgValue; AXES],
    /// Taps.
    pub kernel: [ArgValue; AXES],
    /// Positions.
    pub out: [ArgValue; AXES],
    /// Elements from position to position.
    pub step: [ArgValue; AXES],
    /// Elements from tap to tap.
    pub dilation: [ArgValue; AXES],
    /// Elements before the first.
    pub begin: [ArgValue; AXES],
}

impl Window {
    /// Of the spatial axes of an op, at most three of them.
    pub fn new(axes: Vec<Axis>) -> Option<Window> {
        filled(axes, Axis::unit).map(Window)
    }

    /// Taps in all.
    pub fn taps(&self) -> u64 {
        self.0.iter().fold(1, |n, a| n.saturating_mul(a.kernel))
    }

    /// Positions in all.
    pub fn positions(&self) -> DimExpr {
        self.0.iter().fold(DimExpr::constant(1), |n, a| n * &a.out)
    }

    /// Whether every extent of the operand has an element, whatever symbols are.
    pub fn has_elements(&self, symbols: &SymbolTable) -> bool {
        self.0.iter().all(|a| a.extent.lower(symbols) >= 1)
    }

    /// Where what pads the operand ends: an argument of pools alone.
    pub fn pad_ends(&self, cx: &mut LowerCx<'_>) -> [ArgValue; AXES] {
        self.0.each_ref().map(|a| cx.arg(&a.end))
    }

    /// The arguments that all kernels with a window have.
    pub fn words(&self, cx: &mut LowerCx<'_>) -> Words {
        let fixed = |of: fn(&Axis) -> u64| self.0.each_ref().map(|a| ArgValue::U32(of(a) as u32));
        Words {
            extent: self.0.each_ref().map(|a| cx.arg(&a.extent)),
            kernel: fixed(|a| a.kernel),
            out: self.0.each_ref().map(|a| cx.arg(&a.out)),
            step: fixed(|a| a.step),
            dilation: fixed(|a| a.dilation),
            begin: self.0.each_ref().map(|a| cx.arg(&a.begin)),
        }
    }
}

/// Three axes: those that an op lacks, before its own, are units.
pub fn filled<T>(axes: Vec<T>, unit: fn() -> T) -> Option<[T; AXES]> {
    let missing = AXES.checked_sub(axes.len())?;
    let mut all = (0..missing).map(|_| unit()).chain(axes);
    Some([all.next()?, all.next()?, all.next()?])
}

/// Strides of a view's axes from `first` on, with leading ones of 0 up to three.
pub fn spatial_strides(view: &View, first: usize) -> [DimExpr; AXES] {
    let strides = &view.strides[first.min(view.strides.len())..];
    let missing = AXES - strides.len().min(AXES);
    std::array::from_fn(|i| i.checked_sub(missing).map_or(DimExpr::constant(0), |k| strides[k].clone()))
}

/// The one stride by which some axes are walked as if they were one; `None` where there is none.
pub fn joint_stride(shape: &[DimExpr], strides: &[DimExpr]) -> Option<DimExpr> {
    let mut axes = shape.iter().zip(strides).filter(|(n, _)| !n.is(1)).rev();
    let Some((mut inner, stride)) = axes.next() else { return Some(DimExpr::constant(0)) };
    let (first, mut step) = (stride.clone(), stride.clone());
    for (extent, stride) in axes {
        step = step * inner;
        if *stride != step {
            return None;
        }
        inner = extent;
    }
    Some(first)
}

/// Whether four neighbours, of so many positions of a batch and channel, are stored at once.
pub fn by_quads(cx: &LowerCx<'_>, positions: &DimExpr, y: &View) -> bool {
    [positions, &y.offset, &y.strides[0], &y.strides[1]].into_iter().all(|e| cx.by_four(e))
}
