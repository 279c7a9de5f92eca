//! First texts of a new op's files. In: name, type and kind. Out: Rust that compiles and computes the identity.
//! Never here: where a text is written.

/// What an op is, as far as its files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Elements to elements, one operand.
    Unary,
    /// Elements to elements, two operands that broadcast.
    Binary,
    /// Defined by other ops.
    Composite,
    /// Run by the host.
    Host,
    /// Lowered to kernels that there are.
    Lowered,
    /// With a kernel of its own.
    Kernel,
}

impl Kind {
    /// The word that stands in the list of ops.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Unary | Kind::Binary => "elementwise",
            Kind::Composite => "composite",
            Kind::Host => "host",
            Kind::Lowered | Kind::Kernel => "lowered",
        }
    }
}

/// `crates/ir/src/ops/<section>/<name>.rs`.
pub fn declaration(kind: Kind, optional: bool, name: &str, type_name: &str) -> String {
    let text = match kind {
        Kind::Unary => UNARY,
        Kind::Binary => BINARY,
        Kind::Composite => &general([EXPAND_USES, EXPAND, "Grad, OpDef", "Grad::Expansion", ""]),
        Kind::Host | Kind::Lowered | Kind::Kernel => {
            &general(["", "", "Grad, GradCx, Grads, NoGrad, OpDef", "Grad::Rule(rule)", RULE])
        }
    };
    let text = OPTIONAL.into_iter().fold(text.to_owned(), |text, (mark, with, without)| {
        text.replace(mark, if optional { with } else { without })
    });
    filled(&text, name, type_name)
}

/// The declaration of an op that is not elementwise: what it uses, what it is made of, and how gradients pass it.
fn general(texts: [&str; 5]) -> String {
    let marks = ["{uses}", "{expand}", "{gradient names}", "{gradient}", "{rule}"];
    marks.iter().zip(texts).fold(GENERAL.to_owned(), |text, (mark, with)| text.replace(mark, with))
}

/// What stands in a declaration in place of a mark: with an operand that may be absent, and without one.
const OPTIONAL: [(&str, &str, &str); 6] = [
    ("{optional operand}", ", \"b?\"", ""),
    (
        "{optional rule}",
        "        if cx.opt(1).is_some() {\n            cx.same_dtype(0, 1)?;\n        }\n",
        "",
    ),
    (
        "{optional input}",
        "                let b = g.input(\"b\", tensor(dtype, shape.iter().copied()));\n",
        "",
    ),
    ("{optional sample}", "x, Some(b)", "x"),
    ("{optional argument}", ", b: Option<Value>", ""),
    ("{optional apply}", "apply_all({Type} {}, &[Some(x), b])[0]", "apply({Type} {}, &[x])"),
];

/// `crates/cpu-ref/src/ops/<section>/<name>.rs`.
pub fn reference(kind: Kind, type_name: &str) -> String {
    let text = match kind {
        Kind::Unary => UNARY_REFERENCE,
        Kind::Binary => BINARY_REFERENCE,
        Kind::Composite | Kind::Host | Kind::Lowered | Kind::Kernel => GENERAL_REFERENCE,
    };
    filled(text, "", type_name)
}

/// `crates/compile/src/lower/<name>.rs`.
pub fn lowering(kind: Kind, name: &str, type_name: &str) -> String {
    filled(if kind == Kind::Kernel { KERNEL_LOWERING } else { LOWERING }, name, type_name)
}

/// `crates/plan/src/kernels/<name>.rs`.
pub fn kernel(name: &str, type_name: &str) -> String {
    filled(KERNEL, name, type_name)
}

/// `crates/plan/src/check/footprint/<name>.rs`.
pub fn footprint(name: &str) -> String {
    filled(FOOTPRINT, name, "")
}

/// What the author does next.
pub fn what_is_left(kind: Kind, name: &str) -> String {
    let place = match kind {
        Kind::Unary | Kind::Binary => {
            "the formula twice (scalar form in ir, f64 in cpu-ref), its slope in cpu-ref, and the dtypes"
                .to_owned()
        }
        Kind::Composite => "the type rule, the samples, the expansion, the f64 evaluation".to_owned(),
        Kind::Host => "the type rule, the rule of gradients, the samples, the f64 evaluation".to_owned(),
        Kind::Lowered => {
            format!(
                "the type rule, the rule of gradients, the samples, the f64 evaluation, crates/compile/src/lower/{name}.rs (--kernel makes a \
                 kernel, too)"
            )
        }
        Kind::Kernel => format!(
            "`cargo xtask shaders`; then the type rule, the samples, the f64 evaluation, and the kernel, which copies \
             elements so far: shaders/{name}/{name}.comp, crates/plan/src/kernels/{name}.rs, \
             crates/plan/src/check/footprint/{name}.rs, crates/compile/src/lower/{name}.rs"
        ),
    };
    format!(
        "next: {place}; then `cargo xtask ops`, `cargo xtask tidy`, `cargo xtask test`. See HOWTO-add-an-op.md."
    )
}

fn filled(text: &str, name: &str, type_name: &str) -> String {
    text.replace("{name}", name).replace("{Type}", type_name)
}

const UNARY: &str = r"//! `{Type}`: what it is, in a few words.

use crate::ops::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x. The formula, the ONNX name, and what NaN, the infinities and −0 become.
    {Type} {name}, FLOATS, |_b, x| x, Fill::Special
}
";

const BINARY: &str = r"//! `{Type}`: what it is, in a few words.

use crate::ops::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a + b. The formula, the ONNX name, and what NaN, the infinities and −0 become.
    {Type} {name}, NUMERIC, |b, x, y| b.add(x, y), Fill::Special
}
";

const GENERAL: &str = r#"//! `{Type}`: what it is, in a few words.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::FLOATS;
use crate::ops::{{gradient names}};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
{uses}
crate::op! {
    /// y = x. The formula, the ONNX name, shapes, and what NaN and empty extents become.
    pub struct {Type} {}
}

impl OpDef for {Type} {
    const OPERANDS: &'static [&'static str] = &["x"{optional operand}];
    const GRAD: Grad<Self> = {gradient};

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
{optional rule}        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let shapes: &[&[u64]] = &[&[], &[0], &[1], &[7, 37], &[2, 3, 65], &[1, 1025]];
        let case = |dtype, shape: &[u64]| {
            Sample::graph(&format!("{dtype} {shape:?}"), |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
{optional input}                g.output("y", g.{name}({optional sample}));
            })
            .fill("x", Fill::Special)
        };
        FLOATS.iter().flat_map(|&dtype| shapes.iter().map(move |shape| case(dtype, shape))).collect()
    }
{expand}}
{rule}
impl GraphBuilder {
    /// What it computes: x\[…\] → the same type.
    #[track_caller]
    pub fn {name}(&self, x: Value{optional argument}) -> Value {
        self.{optional apply}
    }
}
"#;

const UNARY_REFERENCE: &str = r"//! `{Type}`.

use crate::ops::elementwise::unary_eval;

unary_eval!({Type}, ulp 0.5, |_op, x| x, slope 1.0);
";

const BINARY_REFERENCE: &str = r"//! `{Type}`.

use crate::ops::elementwise::binary_eval;

binary_eval!({Type}, ulp 0.5, |x, y| x + y, int |_d, i, j| i.wrapping_add(j), slopes 1.0, 1.0);
";

const GENERAL_REFERENCE: &str = r"//! `{Type}`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::ops::elementwise::exact;
use pumice_ir::ops::{Type};

impl Eval for {Type} {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![cx.arg(0).clone()]
    }
    exact!();
}
";

const RULE: &str = r"
/// dy·∂y/∂x: the formula. What it has no formula for is an error, never zero.
fn rule(_: &{Type}, cx: &GradCx<'_>) -> Result<Grads, NoGrad> {
    Ok(vec![Some(cx.dy())])
}
";

const EXPAND_USES: &str = r"use crate::ops::Identity;
use crate::ops::def::expansion;
use crate::{Graph, NodeId, Patch, PatchRef};
";

const EXPAND: &str = r"
    /// The equation that defines it.
    fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
        let (node, name) = (graph.node(id), graph.node_name(id));
        let x = PatchRef::Old(node.input(0)?);
        let mut patch = expansion(graph, id);
        let y = patch.add(Identity {}, name, &[x]);
        patch.replace(node.output(), y);
        Some(patch)
    }
";

const KERNEL_LOWERING: &str = r#"//! `{Type}`: its kernel, its operands, its grid.

use super::Lower;
use crate::cx::{LowerCx, LowerResult, node_meaning};
use crate::step::StepBuilder;
use pumice_ir::NodeId;
use pumice_ir::ops::{Type};
use pumice_ir::shape::product;
use pumice_plan::kernels::{name} as kernel;
use pumice_types::DimExpr;

impl Lower for {Type} {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let value = node.input(0).ok_or("it has no operand")?;
        // A matrix is read with the strides that it has; what has other axes is made dense, and rows of its last axis.
        let x = cx.at(value)?;
        let is_matrix = x.view.shape.len() == 2 && x.view.is_words();
        let x = if is_matrix { x } else { cx.dense(value)? };
        let one = DimExpr::constant(1);
        let (n, outer) = x.view.shape.split_last().map_or((one.clone(), &[][..]), |(n, outer)| (n.clone(), outer));
        let rows = product(outer);
        let strides = if is_matrix { x.view.strides.clone() } else { vec![n.clone(), one] };
        let y = cx.result(node.output())?;
        let elements = &rows * &n;
        if elements.is(0) {
            return Ok(());
        }
        cx.fits_u32(&elements, "the result")?;
        // What the kernel computes in f32 is rounded as the result's type asks.
        let holes = crate::rows::rounding(cx.graph.ty(node.output()).dtype(), "epilogue")?;
        let mut step = StepBuilder::new();
        let call = kernel::{Type} {
            variant: kernel::{Type}::plain,
            rows: cx.arg(&rows),
            n: cx.arg(&n),
            x: step.read(0, &x).along(strides),
            y: step.write(&y),
            slots: Vec::new(),
            holes,
        };
        // Additions and products, by which steps are timed and submissions bounded.
        step.flops(elements.clone());
        let grid = cx.grid(&elements.ceil_div(&DimExpr::constant(256)))?;
        let meaning = node_meaning(cx, id)?;
        step.dispatch(cx, call.into_call(), grid, meaning)
    }
}
"#;

const KERNEL: &str = r#"//! `{name}`: what it computes, in a few words.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[{Type}::DECL];

kernel! {
    /// y[r, c] = epilogue(x[r, c]); r < rows, c < n. The formula, and where the elements of operands lie.
    ///
    /// x lies at `x_offset + r * x_row + c * x_col`, y at `r * n + c`.
    pub struct {Type} = "{name}" in "{name}/{name}.comp";
    grid "ceil(rows * n / 256) groups of 256 threads, folded";
    args { rows: u32, n: u32, x { offset, row, col: i32 } }
    operands { x: read, y: write }
    slots 0;
    holes { epilogue: float [v] (row, col) }
    specs {}
    trip_count |_| 0;
    variants { plain: zero }
}
"#;

const FOOTPRINT: &str = r#"//! `{name}`: which elements it touches.

use super::call::{Call, iteration};
use super::accesses::Accesses;
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("{name}", each)];

/// `{name}`.
fn each(call: &Call<'_>) -> Result<Footprint, Wrong> {
    let [rows, n] = call.counts(["rows", "n"])?;
    let [offset, row, col] = call.strides(["x_offset", "x_row", "x_col"])?;
    let elements = iteration(&[rows, n])?;
    let x = Accesses::new(4, offset).axis(rows, row).axis(n, col);
    Ok(Footprint::new(elements.div_ceil(256), 256).operand(0, x).operand(1, Accesses::dense(4, elements)))
}
"#;

/// `shaders/<name>/<name>.comp`.
pub const SHADER: &str = r#"#version 460
// y[r, c] = epilogue(x[r, c]). One thread an element, columns fastest.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

float hole_epilogue(float v, uint row, uint col) { return v; }

void main() {
    keep_holes();
    uint i = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_n();
    if (i >= arg_rows() * n) return;
    uint c, r = divide(i, n, c);
    int at = arg_x_offset() + int(r) * arg_x_row() + int(c) * arg_x_col();
    store_y(i, hole_epilogue(load_x(uint(at)), r, c));
}
"#;

const LOWERING: &str = r#"//! `{Type}`: which kernel, which operands, which grid.

use super::Lower;
use crate::cx::{LowerCx, LowerResult};
use pumice_ir::NodeId;
use pumice_ir::ops::{Type};

impl Lower for {Type} {
    fn lower(&self, _cx: &mut LowerCx<'_>, _id: NodeId) -> LowerResult {
        Err("it has no kernel".into())
    }
}
"#;
