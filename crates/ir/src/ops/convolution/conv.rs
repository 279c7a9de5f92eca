//! `Conv`: a window of weights slides over one to three spatial axes.

use super::windows::{Lists, expect_bias, kernel_of_weights, of_group, require_fit, spatial_rank};
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::def::expansion;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Add, MatMul, OpDef, Reshape};
use crate::sample::Sample;
use crate::{Graph, NodeId, Patch, PatchRef, ValueId};
use pumice_types::{DimExpr, WindowAxis};

crate::op! {
    /// y\[b, o, p\] = bias\[o\] + Σ x\[b, c, p·stride − begin + t·dilation\]·w\[o, c, t\] over the taps t of the kernel
    /// and the channels c of o's group (ONNX Conv): x\[B, Cin, spatial…\], w\[Cout, Cin/groups, kernel…\], bias\[Cout\]
    /// → \[B, Cout, positions…\] with 1 to 3 spatial axes. x is 0 outside, and a tap there multiplies it: an infinite
    /// or NaN weight gives NaN. Positions are ⌊(padded − (kernel − 1)·dilation − 1)/stride⌋ + 1; a window larger than
    /// the padded extent is refused, where symbols decide when they are bound. No batch gives no result, no channel the
    /// bias.
    pub struct Conv {
        /// Elements between positions, for each spatial axis; ones if empty.
        strides: Vec<u64> = Vec::new() => POSITIVE,
        /// Zeros before each spatial axis, then zeros after each; none if empty.
        pads: Vec<u64> = Vec::new() => ANY,
        /// Elements between taps, for each spatial axis; ones if empty.
        dilations: Vec<u64> = Vec::new() => POSITIVE,
        /// Parts into which channels fall: a result sees the operand's channels of its own part.
        groups: u64 = 1 => POSITIVE,
    }
}

impl Default for Conv {
    fn default() -> Conv {
        Conv { strides: Vec::new(), pads: Vec::new(), dilations: Vec::new(), groups: 1 }
    }
}

impl Conv {
    /// The window on each spatial axis, for weights with that kernel.
    ///
    /// # Errors
    /// A list is neither empty nor as long as there are axes (pads: twice that).
    pub fn windows(&self, kernel: &[u64]) -> Result<Vec<WindowAxis>, OpError> {
        Lists { strides: &self.strides, dilations: &self.dilations, pads: &self.pads }.axes(kernel)
    }

    /// Whether it is a product of matrices: each result sees one element of every channel, in order.
    fn is_product(&self, windows: &[WindowAxis]) -> bool {
        let alone = |w: &WindowAxis| WindowAxis { dilation: 1, ..*w } == WindowAxis::UNIT;
        self.groups == 1 && windows.iter().all(alone)
    }
}

impl OpDef for Conv {
    const OPERANDS: &'static [&'static str] = &["x", "w", "bias?"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        let dtype = cx.expect_dtype(0, FLOATS)?;
        cx.same_dtype(0, 1)?;
        let spatial = spatial_rank(cx, 0)?;
        let windows = self.windows(&kernel_of_weights(cx, 1, spatial)?)?;
        let (x, w) = (&cx.ty(0)?.shape, &cx.ty(1)?.shape);
        cx.equal(&x[1], &(&w[1] * self.groups), "the channels of `x` and of `w` in all groups")?;
        of_group(cx, &w[0], self.groups, "the channels of the result")?;
        expect_bias(cx, 2, &w[0])?;
        require_fit(cx, x, &windows)?;
        let positions = x[2..].iter().zip(&windows).map(|(extent, window)| window.positions(extent));
        one(dtype, [x[0].clone(), w[0].clone()].into_iter().chain(positions).collect::<Vec<_>>())
    }

    fn samples() -> Vec<Sample> {
        super::conv_samples::samples()
    }

    /// With a kernel of one tap that is never between two elements: Conv(x, w, bias) ==
    /// Reshape(Add(MatMul(w as \[Cout, Cin\], x as \[B, Cin, elements\]), bias as \[Cout, 1\])).
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let w = graph.node(id).input(1)?;
        let kernel: Option<Vec<u64>> = graph.ty(w).shape[2..].iter().map(DimExpr::as_extent).collect();
        let windows = self.windows(&kernel?).ok()?;
        if self.is_product(&windows) { as_product(graph, id) } else { None }
    }
}

fn as_product(graph: &Graph, id: NodeId) -> Option<Patch> {
    let (node, name) = (graph.node(id), graph.node_name(id));
    let (x, w) = (node.input(0)?, node.input(1)?);
    let (extents, channels) = (&graph.ty(x).shape, &graph.ty(w).shape[..2]);
    let elements = extents[2..].iter().fold(DimExpr::constant(1), |product, extent| product * extent.clone());
    let mut patch = expansion(graph, id);
    let mut seen_as = |what: &str, v: ValueId, shape: Vec<DimExpr>| {
        patch.add(Reshape { shape }, format!("{name}.{what}"), &[PatchRef::Old(v)])
    };
    let x = seen_as("rows", x, vec![extents[0].clone(), extents[1].clone(), elements]);
    let w = seen_as("weights", w, channels.to_vec());
    let column = vec![channels[0].clone(), DimExpr::constant(1)];
    let bias = node.input(2).map(|bias| seen_as("column", bias, column));
    let product = MatMul { trans_a: false, trans_b: false };
    let mut y = patch.add(product, format!("{name}.product"), &[w, x]);
    if let Some(bias) = bias {
        y = patch.add(Add {}, format!("{name}.sum"), &[y, bias]);
    }
    let shape = graph.ty(node.output()).shape.to_vec();
    let y = patch.add(Reshape { shape }, name, &[y]);
    patch.replace(node.output(), y);
    Some(patch)
}

impl GraphBuilder {
    /// A convolution: x\[B, Cin, spatial…\], w\[Cout, Cin/groups, kernel…\], bias\[Cout\] → \[B, Cout, positions…\].
    #[track_caller]
    pub fn conv(&self, x: Value, w: Value, bias: Option<Value>, op: Conv) -> Value {
        self.apply_all(op, &[Some(x), Some(w), bias])[0]
    }
}
