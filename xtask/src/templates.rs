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
pub fn declaration(kind: Kind, name: &str, type_name: &str) -> String {
    let text = match kind {
        Kind::Unary => UNARY,
        Kind::Binary => BINARY,
        Kind::Composite => &GENERAL.replace("{uses}", EXPAND_USES).replace("{expand}", EXPAND),
        Kind::Host | Kind::Lowered | Kind::Kernel => &GENERAL.replace("{uses}", "").replace("{expand}", ""),
    };
    filled(text, name, type_name)
}

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

/// `crates/plan/src/check/reach/<name>.rs`.
pub fn reach(name: &str) -> String {
    filled(REACH, name, "")
}

/// What the author does next.
pub fn what_is_left(kind: Kind, name: &str) -> String {
    let place = match kind {
        Kind::Unary | Kind::Binary => {
            "the formula twice (scalar form in ir, f64 in cpu-ref) and the dtypes".to_owned()
        }
        Kind::Composite => "the type rule, the samples, the expansion, the f64 evaluation".to_owned(),
        Kind::Host => "the type rule, the samples, the f64 evaluation".to_owned(),
        Kind::Lowered => {
            format!(
                "the type rule, the samples, the f64 evaluation, crates/compile/src/lower/{name}.rs (--kernel makes a \
                 kernel, too)"
            )
        }
        Kind::Kernel => format!(
            "`cargo xtask shaders`; then the type rule, the samples, the f64 evaluation, and the kernel, which copies \
             elements so far: shaders/{name}/{name}.comp, crates/plan/src/kernels/{name}.rs, \
             crates/plan/src/check/reach/{name}.rs, crates/compile/src/lower/{name}.rs"
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
use crate::ops::OpDef;
use crate::ops::elementwise::FLOATS;
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
{uses}
crate::op! {
    /// y = x. The formula, the ONNX name, shapes, and what NaN and empty extents become.
    pub struct {Type} {}
}

impl OpDef for {Type} {
    const OPERANDS: &'static [&'static str] = &["x"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, FLOATS)?;
        Ok(smallvec::smallvec![cx.ty(0)?.clone()])
    }

    fn samples() -> Vec<Sample> {
        let shapes: &[&[u64]] = &[&[], &[0], &[1], &[7, 37], &[2, 3, 65], &[1, 1025]];
        let case = |dtype, shape: &[u64]| {
            Sample::graph(&format!("{dtype} {shape:?}"), |g| {
                let x = g.input("x", tensor(dtype, shape.iter().copied()));
                g.output("y", g.{name}(x));
            })
            .fill("x", Fill::Special)
        };
        FLOATS.iter().flat_map(|&dtype| shapes.iter().map(move |shape| case(dtype, shape))).collect()
    }
{expand}}

impl GraphBuilder {
    /// What it computes: x\[…\] → the same type.
    #[track_caller]
    pub fn {name}(&self, x: Value) -> Value {
        self.apply({Type} {}, &[x])
    }
}
"#;

const UNARY_REFERENCE: &str = r"//! `{Type}`.

use crate::ops::elementwise::unary_eval;

unary_eval!({Type}, ulp 0.5, |_op, x| x);
";

const BINARY_REFERENCE: &str = r"//! `{Type}`.

use crate::ops::elementwise::binary_eval;

binary_eval!({Type}, ulp 0.5, |x, y| x + y, int |_d, i, j| i.wrapping_add(j));
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
use pumice_plan::kernels::{name} as kernel;
use pumice_types::DimExpr;

impl Lower for {Type} {
    fn lower(&self, cx: &mut LowerCx<'_>, id: NodeId) -> LowerResult {
        let node = cx.graph.node(id);
        let x = cx.dense(node.input(0).ok_or("it has no operand")?)?;
        let y = cx.result(node.output())?;
        let n = pumice_ir::shape::product(&y.view.shape);
        if n.is(0) {
            return Ok(());
        }
        cx.fits_u32(&n, "the result")?;
        let mut step = StepBuilder::new();
        let call = kernel::{Type} {
            variant: kernel::{Type}::plain,
            n: cx.arg(&n),
            x: step.read(0, &x),
            y: step.write(&y),
            slots: Vec::new(),
            holes: Vec::new(),
        };
        let grid = cx.grid(&n.ceil_div(&DimExpr::constant(256)))?;
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
    /// y[i] = x[i]; i < n. The formula, and where the elements of operands lie.
    pub struct {Type} = "{name}" in "{name}/{name}.comp";
    grid "ceil(n / 256) groups of 256 threads, folded";
    args { n: u32 }
    operands { x: read, y: write }
    slots 0;
    holes {}
    specs {}
    turns |_| 0;
    variants { plain: zero }
}
"#;

const REACH: &str = r#"//! `{name}`: which elements it touches.

use super::call::Call;
use super::walk::Walk;
use super::{Reach, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("{name}", each)];

/// `{name}`.
fn each(call: &Call<'_>) -> Result<Reach, Wrong> {
    let [n] = call.counts(["n"])?;
    Ok(Reach::new(n.div_ceil(256), 256).operand(0, Walk::dense(4, n)).operand(1, Walk::dense(4, n)))
}
"#;

/// `shaders/<name>/<name>.comp`.
pub const SHADER: &str = r#"#version 460
// y[i] = x[i]. One thread an element.
#include "interface.glsl"
layout(local_size_x = 256) in;

void main() {
    uint i = linear_group() * 256u + gl_LocalInvocationID.x;
    if (i >= arg_n()) return;
    storeu_y(i, loadu_x(i));
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
