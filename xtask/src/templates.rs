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
    /// With a kernel of its own.
    Kernel,
}

/// `crates/ir/src/ops/<name>.rs`.
pub fn declaration(kind: Kind, name: &str, type_name: &str) -> String {
    let text = match kind {
        Kind::Unary => UNARY,
        Kind::Binary => BINARY,
        Kind::Composite => &GENERAL.replace("{composite}", "    const COMPOSITE: bool = true;\n"),
        Kind::Host | Kind::Kernel => &GENERAL.replace("{composite}", ""),
    };
    filled(text, name, type_name)
}

/// `crates/cpu-ref/src/ops/<name>.rs`.
pub fn reference(kind: Kind, type_name: &str) -> String {
    let text = match kind {
        Kind::Unary => UNARY_REFERENCE,
        Kind::Binary => BINARY_REFERENCE,
        Kind::Composite | Kind::Host | Kind::Kernel => GENERAL_REFERENCE,
    };
    filled(text, "", type_name)
}

/// `crates/opt/src/decompose/<name>.rs`.
pub fn decomposition(type_name: &str) -> String {
    filled(DECOMPOSITION, "", type_name)
}

/// `crates/compile/src/lower/<name>.rs`.
pub fn lowering(type_name: &str) -> String {
    filled(LOWERING, "", type_name)
}

/// What the author does next.
pub fn what_is_left(kind: Kind, name: &str) -> String {
    let place = match kind {
        Kind::Unary | Kind::Binary => {
            "the formula twice (scalar form in ir, f64 in cpu-ref) and the dtypes".to_owned()
        }
        Kind::Composite => "the type rule, the samples, the f64 evaluation, the decomposition".to_owned(),
        Kind::Host => "the type rule, the samples, the f64 evaluation".to_owned(),
        Kind::Kernel => format!(
            "the type rule, the samples, the f64 evaluation, crates/compile/src/lower/{name}.rs, and a kernel if none fits"
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

use super::elementwise::unary;
use crate::sample::Fill;

unary! {
    /// y = x. The formula, the ONNX name, and what NaN, the infinities and −0 become.
    {Type} {name}, FLOATS, |_b, x| x, Fill::Special
}
";

const BINARY: &str = r"//! `{Type}`: what it is, in a few words.

use super::elementwise::binary;
use crate::sample::Fill;

binary! {
    /// y = a + b. The formula, the ONNX name, and what NaN, the infinities and −0 become.
    {Type} {name}, NUMERIC, |b, x, y| b.add(x, y), Fill::Special
}
";

const GENERAL: &str = r#"//! `{Type}`: what it is, in a few words.

use super::OpDef;
use super::elementwise::FLOATS;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;

crate::op! {
    /// y = x. The formula, the ONNX name, shapes, and what NaN and empty extents become.
    pub struct {Type} {}
}

impl OpDef for {Type} {
    const OPERANDS: &'static [&'static str] = &["x"];
{composite}
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
}

impl GraphBuilder {
    /// What it computes: x\[…\] → the same type.
    #[track_caller]
    pub fn {name}(&self, x: Value) -> Value {
        self.apply({Type} {}, &[x])
    }
}
"#;

const UNARY_REFERENCE: &str = r"//! `{Type}`.

use super::elementwise::unary_eval;

unary_eval!({Type}, ulp 0.5, |_op, x| x);
";

const BINARY_REFERENCE: &str = r"//! `{Type}`.

use super::elementwise::binary_eval;

binary_eval!({Type}, ulp 0.5, |x, y| x + y, int |_d, i, j| i.wrapping_add(j));
";

const GENERAL_REFERENCE: &str = r"//! `{Type}`.

use super::elementwise::exact;
use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use pumice_ir::ops::{Type};

impl Eval for {Type} {
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        vec![cx.arg(0).clone()]
    }
    exact!();
}
";

const DECOMPOSITION: &str = r#"//! `{Type}` in terms of other ops.

use super::Decompose;
use pumice_ir::ops::{self, {Type}};
use pumice_ir::{Graph, NodeId, Patch, PatchRef};
use pumice_types::Target;

impl Decompose for {Type} {
    fn decompose(&self, graph: &Graph, id: NodeId, _target: &Target) -> Option<Patch> {
        let node = graph.node(id);
        let name = graph.node_name(id);
        let x = PatchRef::Old(node.operands().next()?);
        let mut patch = Patch::new(format!("decompose {name}"));
        let y = patch.add(ops::Identity {}, name, &[x]);
        patch.replace(node.output(), y);
        Some(patch)
    }
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
