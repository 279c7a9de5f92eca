//! Windows as columns of a matrix, and their sum back into an image, as compositions.

use super::windows::{Lists, decided, require_fit, spatial_rank};
use crate::attr::{AttrError, CountRange};
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::{FLOATS, NUMERIC};
use crate::ops::pad::Pad;
use crate::ops::{Cast, Reshape};
use crate::shape::product;
use pumice_types::{DType, DimExpr, WindowAxis};

/// How the matrix of [`GraphBuilder::im2col`] lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Im2ColLayout {
    /// A column for each position: \[N, C·Πkernel, L\] (PyTorch `unfold`).
    #[default]
    Columns,
    /// A row for each position of each image: \[N·L, C·Πkernel\].
    Rows,
}

impl Im2ColLayout {
    /// Every layout.
    pub const ALL: [Im2ColLayout; 2] = [Im2ColLayout::Columns, Im2ColLayout::Rows];

    /// Of so many images, rows and columns.
    fn shape(self, images: &DimExpr, rows: DimExpr, columns: DimExpr) -> Vec<DimExpr> {
        match self {
            Im2ColLayout::Columns => vec![images.clone(), rows, columns],
            Im2ColLayout::Rows => vec![images * columns, rows],
        }
    }

    /// The order of the axes \[N, C, k₁, o₁, k₂, o₂, …\].
    fn order(self, spatial: i64) -> Vec<i64> {
        let (taps, at): (Vec<i64>, Vec<i64>) = (0..spatial).map(|i| (2 * i + 2, 2 * i + 3)).unzip();
        match self {
            Im2ColLayout::Columns => [vec![0, 1], taps, at].concat(),
            Im2ColLayout::Rows => [vec![0], at, vec![1], taps].concat(),
        }
    }
}

/// Attributes of [`GraphBuilder::im2col`] and [`GraphBuilder::col2im`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Im2Col {
    /// Taps of the window, one number for each spatial axis (ONNX `block_shape`).
    pub kernel: Vec<u64>,
    /// Elements between positions, for each spatial axis; ones if empty.
    pub strides: Vec<u64>,
    /// Pads before each spatial axis, then pads after each; none if empty.
    pub pads: Vec<u64>,
    /// Elements between taps, for each spatial axis; ones if empty.
    pub dilations: Vec<u64>,
    /// How the matrix lies.
    pub layout: Im2ColLayout,
}

impl Im2Col {
    /// The window on each of so many spatial axes.
    fn windows(&self, spatial: usize) -> Result<Vec<WindowAxis>, OpError> {
        let (given, name) = (self.kernel.len(), "kernel");
        if given != spatial {
            let reason = format!("it has {given} numbers, and must have {spatial}");
            return Err(AttrError::Value { name, reason }.into());
        }
        for (name, list, range) in [
            (name, &self.kernel, CountRange::POSITIVE),
            ("strides", &self.strides, CountRange::POSITIVE),
            ("dilations", &self.dilations, CountRange::POSITIVE),
            ("pads", &self.pads, CountRange::ANY),
        ] {
            within(name, list, range)?;
        }
        let taps = self.kernel.iter().try_fold(1u64, |all, &k| all.checked_mul(k));
        if taps.is_none_or(|taps| !CountRange::POSITIVE.holds(taps)) {
            let reason = format!("{:?} has more than 2^31 - 1 taps", self.kernel);
            return Err(AttrError::Value { name, reason }.into());
        }
        let lists = Lists { strides: &self.strides, dilations: &self.dilations, pads: &self.pads };
        lists.axes(&self.kernel)
    }

    /// Positions on each axis of the operand, once it and the attributes are found right.
    fn unfolded(&self, cx: &Infer<'_>) -> Result<Vec<DimExpr>, OpError> {
        cx.expect_dtype(0, NUMERIC)?;
        let windows = self.windows(spatial_rank(cx, 0)?)?;
        let shape = &cx.ty(0)?.shape;
        require_fit(cx, shape, &windows)?;
        Ok(shape[2..].iter().zip(&windows).map(|(n, w)| positions(cx, w, n)).collect())
    }

    fn pad(&self, spatial: usize) -> Pad {
        let pads = self.pads.iter().map(|&p| p as i64).collect();
        Pad { pads, axes: (2..2 + spatial as i64).collect(), ..Pad::default() }
    }
}

/// Errors unless all of a list are in that range.
fn within(name: &'static str, list: &[u64], range: CountRange) -> Result<(), AttrError> {
    match list.iter().find_map(|&k| range.refusal(k)) {
        None => Ok(()),
        Some(reason) => Err(AttrError::Value { name, reason }),
    }
}

/// Positions of a window on an axis.
fn positions(cx: &Infer<'_>, window: &WindowAxis, n: &DimExpr) -> DimExpr {
    decided(window.positions(n), cx.symbols())
}

impl GraphBuilder {
    /// The elements under a window that slides over one to three spatial axes, as a matrix (PyTorch `unfold`):
    /// x\[N, C, spatial…\] → \[N, C·Πkernel, L\] with L positions, or \[N·L, C·Πkernel\], by `layout`. Pads are 0.
    /// Elements keep their bits; any number dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::im2col::Im2Col;
    /// let g = GraphBuilder::new("g");
    /// let op = Im2Col { kernel: vec![3, 3], pads: vec![1; 4], ..Im2Col::default() };
    /// g.output("y", g.im2col(g.input("x", f32([1, 3, 8, 8])), op));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn im2col(&self, x: Value, op: Im2Col) -> Value {
        let mut outs = Vec::new();
        let checked = self.checked_operands("im2col", &["x"], &[x], |cx| {
            outs = op.unfolded(cx)?;
            Ok(())
        });
        let shape = match checked {
            Ok(types) => types[0].shape.to_vec(),
            Err(mistake) => return mistake,
        };
        let g = self.composition("im2col");
        let y = g.under_windows(x, &op, &outs);
        let y = g.transpose(y, &op.layout.order(outs.len() as i64));
        let taps: u64 = op.kernel.iter().product();
        let shape = op.layout.shape(&shape[0], &shape[1] * taps, product(&outs));
        g.last().apply(Reshape { shape }, &[y])
    }

    /// The sum of windows back into an image (ONNX Col2Im, PyTorch `fold`): x\[N, C·Πkernel, L\] with as many columns
    /// as the window has positions in the image → \[N, C, image…\]; what falls into pads is dropped, and elements that
    /// no window covers are 0. Overlapping elements are added in a fixed order, axis by axis; 16-bit floats are added
    /// in f32 and rounded once. Floats. The layout is [`Im2ColLayout::Columns`].
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::im2col::Im2Col;
    /// let g = GraphBuilder::new("g");
    /// let op = Im2Col { kernel: vec![2, 2], ..Im2Col::default() };
    /// g.output("y", g.col2im(g.input("x", f32([1, 12, 9])), &[4, 4], op));
    /// # assert!(g.build().is_ok());
    /// ```
    #[track_caller]
    pub fn col2im(&self, x: Value, image: &[u64], op: Im2Col) -> Value {
        let extents: Vec<DimExpr> = image.iter().map(|&n| DimExpr::from(n)).collect();
        let mut fold = None;
        let checked = self.checked_operands("col2im", &["x"], &[x], |cx| {
            fold = Some(Fold::of(cx, &extents, &op)?);
            Ok(())
        });
        let ty = match checked {
            Ok(types) => types[0].clone(),
            Err(mistake) => return mistake,
        };
        let Some(fold) = fold else { return x };
        let g = self.composition("col2im");
        let mut y = g.lines(g.widened(x, ty.dtype()), &ty.shape[0], &fold);
        for (i, window) in fold.windows.iter().enumerate() {
            y = g.summed(y, (i + 2, image.len() + 2), window, [&extents[i], &fold.outs[i]]);
        }
        g.last().apply(Cast { to: ty.dtype() }, &[y])
    }
}

/// Windows of an image.
struct Fold {
    windows: Vec<WindowAxis>,
    /// Positions on each axis.
    outs: Vec<DimExpr>,
    channels: DimExpr,
}

impl Fold {
    fn of(cx: &Infer<'_>, image: &[DimExpr], op: &Im2Col) -> Result<Fold, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        cx.expect_rank(0, 3)?;
        if !(1..=3).contains(&image.len()) {
            return Err(OpError::Invalid("an image has one to three spatial axes".into()));
        }
        if op.layout != Im2ColLayout::Columns {
            let reason = "the sum of windows takes columns".to_owned();
            return Err(AttrError::Value { name: "layout", reason }.into());
        }
        let (x, windows) = (&cx.ty(0)?.shape, op.windows(image.len())?);
        let around = [DimExpr::constant(1), DimExpr::constant(1)];
        require_fit(cx, &[&around[..], image].concat(), &windows)?;
        let outs: Vec<DimExpr> = image.iter().zip(&windows).map(|(n, w)| positions(cx, w, n)).collect();
        cx.equal(&product(&outs), &x[2], "positions of the window and columns of `x`")?;
        let taps = op.kernel.iter().product();
        let channels = super::windows::of_group(cx, &x[1], taps, "the rows of `x`")?;
        Ok(Fold { windows, outs, channels })
    }
}

/// The order that brings \[N, C, k₁, k₂, …, o₁, o₂, …\] into pairs.
fn pairs(spatial: i64) -> Vec<i64> {
    let pairs = (0..spatial).flat_map(|i| [2 + i, 2 + i + spatial]);
    [0, 1].into_iter().chain(pairs).collect()
}

impl Composition {
    /// The elements under windows with so many positions, \[N, C, k₁, o₁, k₂, o₂, …\].
    #[track_caller]
    fn under_windows(&self, x: Value, op: &Im2Col, outs: &[DimExpr]) -> Value {
        let windows = op.windows(outs.len()).unwrap_or_default();
        let padded = op.pads.iter().any(|&p| p != 0);
        let mut y = if padded { self.pad(x, None, op.pad(outs.len())) } else { x };
        for (i, window) in windows.iter().enumerate().rev() {
            let kernel = DimExpr::from(window.kernel);
            let tap = self.scaled(self.counted(&kernel), window.dilation, 0);
            let first = self.scaled(self.counted(&outs[i]), window.stride, 0);
            y = self.gather(y, self.add(self.over(tap, &[kernel], 1), first), i as i64 + 2);
        }
        y
    }

    /// Columns as \[N, C, k₁·o₁, k₂·o₂, …\].
    #[track_caller]
    fn lines(&self, x: Value, batch: &DimExpr, Fold { windows, outs, channels }: &Fold) -> Value {
        let kernels: Vec<DimExpr> = windows.iter().map(|w| w.kernel.into()).collect();
        let leading = [batch.clone(), channels.clone()];
        let apart = self.reshape_to(x, [&leading[..], &kernels, outs].concat());
        let paired = self.transpose(apart, &pairs(outs.len() as i64));
        let lines: Vec<DimExpr> = kernels.iter().zip(outs).map(|(k, o)| k * o).collect();
        self.reshape_to(paired, [&leading[..], &lines].concat())
    }

    /// Lines of taps × positions of one axis as the elements of the image.
    #[track_caller]
    fn summed(
        &self,
        x: Value,
        (axis, rank): (usize, usize),
        window: &WindowAxis,
        [n, o]: [&DimExpr; 2],
    ) -> Value {
        let (place, hits) = self.hits(window, [n, o]);
        let under = self.gather(x, place, axis as i64);
        let kernel = DimExpr::from(window.kernel);
        let hits = self.over(hits, &[n.clone(), kernel], rank - 1 - axis);
        let kept = self.select(hits, under, self.constant_scalar(DType::F32, 0.0));
        self.reduce_sum(kept, &[axis as i64 + 1], false)
    }

    /// For each element of the image and each tap which element of a line falls there, and whether one does.
    #[track_caller]
    fn hits(&self, window: &WindowAxis, [n, o]: [&DimExpr; 2]) -> (Value, Value) {
        let (zero, taps) = (self.whole(0), self.counted(&DimExpr::from(window.kernel)));
        let element = self.scaled(self.counted(n), 1, window.begin as i64);
        let element = self.over(element, std::slice::from_ref(n), 1);
        let from = self.sub(element, self.scaled(taps, window.dilation, 0));
        let (stride, positions) = (self.whole(window.stride as i64), self.length(o));
        let position = self.div(from, stride);
        let whole = self.equal(self.mul(position, stride), from);
        let inside = self.and(self.less_or_equal(zero, from), self.less(position, positions));
        let hits = self.and(whole, inside);
        let place = self.add(self.mul(taps, positions), position);
        (self.select(hits, place, zero), hits)
    }
}
