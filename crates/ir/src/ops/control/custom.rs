//! `Custom`: an op of a user, which the host runs by functions that are registered under its name.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{TypeSpec, ValueType, bool_, f32, sym, tensor};
use pumice_types::{DType, DimExpr};

/// The op that is registered everywhere, for samples: element i of result r is the attribute, a number (1 where there
/// is none), times the sum over all operands of element (i + r) modulo their number.
pub const WEAVE: &str = "pumice.weave";

/// Most bytes of a name.
const MOST_OF_NAME: usize = 256;
/// Most bytes of attributes.
const MOST_OF_ATTRIBUTES: usize = 1 << 16;
/// Most operands, and most results.
const MOST_VALUES: usize = 256;

crate::op! {
    /// An op of a user. Name, attributes and types of the results stand here; what it computes is registered under its
    /// name where graphs are compiled and plans are loaded (`pumice::CustomOps`). It computes one value from another
    /// and nothing else: equal nodes are one, and one that nobody needs is not run.
    pub struct Custom {
        /// Under which its functions are registered: 1 to 256 bytes.
        name: String,
        /// What its functions are told: any text of at most 65,536 bytes, which pumice does not read.
        attributes: String = String::new(),
        /// Types of the results, 1 to 256.
        ty: Vec<ValueType>,
    }
}

impl Custom {
    fn check(&self, operands: usize) -> Result<(), OpError> {
        let wrong = |name, reason: String| OpError::Attr(AttrError::Value { name, reason });
        if !(1..=MOST_OF_NAME).contains(&self.name.len()) {
            return Err(wrong("name", format!("it has {} bytes, not 1 to {MOST_OF_NAME}", self.name.len())));
        }
        if self.attributes.len() > MOST_OF_ATTRIBUTES {
            let len = self.attributes.len();
            return Err(wrong("attributes", format!("{len} bytes are more than {MOST_OF_ATTRIBUTES}")));
        }
        if !(1..=MOST_VALUES).contains(&self.ty.len()) {
            return Err(wrong("ty", format!("there are {} results, not 1 to {MOST_VALUES}", self.ty.len())));
        }
        if operands > MOST_VALUES {
            return Err(OpError::TooManyOperands { most: MOST_VALUES, given: operands });
        }
        Ok(())
    }
}

impl OpDef for Custom {
    const OPERANDS: &'static [&'static str] = &["xs*"];
    const GRAD: Grad<Self> = Grad::No("nobody registered one");
    const TYPED: bool = true;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        self.check(cx.len())?;
        (0..cx.len()).try_for_each(|i| cx.ty(i).map(drop))?;
        self.ty.iter().try_for_each(|ty| cx.not_negative(&ty.shape))?;
        Ok(self.ty.iter().cloned().collect())
    }

    fn user_name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn samples() -> Vec<Sample> {
        let mut samples = vec![
            case("first, middle and last", "0.5", |g| {
                let x = g.input("x", f32([3, 5]));
                let first = weave(g, "2", &[x], [f32([3, 5])])[0];
                let middle = weave(g, "-1", &[g.abs(first)], [f32([5])])[0];
                let y = g.mul(g.add(x, middle), first);
                g.output("y", weave(g, "0.5", &[y], [f32([7])])[0]);
            }),
            case("several operands and results", "", |g| {
                let (x, n) = (g.input("x", f32([4, 2])), g.input("n", tensor(DType::I32, [3])));
                let results = [f32([8]), tensor(DType::I32, [2, 2]), f32([1]), tensor(DType::F16, [3])];
                for (i, y) in weave(g, "", &[x, n, x], results).into_iter().enumerate() {
                    g.output(&format!("y{i}"), y);
                }
            })
            .fill("x", Fill::Range(-40, 40)),
            case("no operand", "3", |g| {
                let x = g.input("x", f32([2]));
                let none = weave(g, "3", &[], [f32([2])])[0];
                g.output("y", g.add(x, none));
            }),
            case("no element", "1", |g| {
                let x = g.input("x", f32([0, 3]));
                let y = weave(g, "1", &[x], [f32([2, 0]), f32([2])]);
                g.output("y", y[0]);
                g.output("z", y[1]);
            }),
            case("of params and a constant alone", "4", |g| {
                let (x, w) = (g.input("x", f32([6])), g.param("w", f32([6])));
                let c = g.constant_scalar(DType::F32, 2.0);
                let derived = weave(g, "4", &[w, c], [f32([6])])[0];
                let made = weave(g, "5", &[c], [f32([0u64; 0])])[0];
                g.output("y", g.mul(g.add(x, derived), made));
            }),
            case("of a transposed view", "1", |g| {
                let x = g.input("x", f32([3, 4]));
                g.output("y", weave(g, "1", &[g.transpose(x, &[1, 0])], [f32([12])])[0]);
            }),
            state_and_scalar(),
        ];
        samples.extend([0, 1, 9].map(symbolic));
        samples.extend(DType::ALL.map(of_dtype));
        samples
    }
}

/// An operand that a state holds, changed in every run, and one that is a scalar of the run.
fn state_and_scalar() -> Sample {
    case("a state and a scalar", "1", |g| {
        let (x, s) = (g.input("x", f32([4])), g.state("s", f32([4])));
        let at = g.scalar_advancing("at", 0, 100, 2, DimExpr::constant(1));
        let y = weave(g, "1", &[g.state_read(s), x, at], [f32([4])])[0];
        g.state_write(s, y);
        g.output("y", y);
    })
    .runs(3)
}

fn symbolic(n: u64) -> Sample {
    case(&format!("symbolic, {n} of 9"), "2", |g| {
        let x = g.input("x", f32([sym("n", 0..=9), 2.into()]));
        let n = g.dim_of(x, 0);
        let results = [f32([2.into(), n.clone()]), f32([n * 3 + 1])];
        let y = weave(g, "2", &[g.relu(x)], results);
        g.output("y", g.neg(y[0]));
        g.output("z", y[1]);
    })
    .bind("n", n)
}

fn of_dtype(dtype: DType) -> Sample {
    case(&format!("{dtype}"), "1", |g| {
        let x = g.input("x", tensor(dtype, [2, 3]));
        let y = weave(g, "1", &[x], [tensor(dtype, [5]), bool_([6])]);
        g.output("y", y[0]);
        g.output("b", y[1]);
    })
    .fill("x", Fill::Any)
}

fn case(label: &str, attributes: &str, build: impl FnOnce(&GraphBuilder)) -> Sample {
    Sample::graph(&format!("{label}, attributes `{attributes}`"), build)
}

fn weave(
    g: &GraphBuilder,
    attributes: &str,
    operands: &[Value],
    results: impl IntoIterator<Item = TypeSpec>,
) -> Vec<Value> {
    g.custom(WEAVE, attributes, operands, results)
}

impl GraphBuilder {
    /// An op of your own: operands of any shapes → results of these types. Its functions are registered under `name`
    /// (`pumice::CustomOps`): where it is not, compiling the graph and loading its plan are refused by that name.
    ///
    /// The host runs it, so a run waits for the device before and after it; its operands come from the device and its
    /// results go there. As many values as results.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, sym};
    /// let g = GraphBuilder::new("own");
    /// let x = g.input("x", f32([sym("n", 1..=64), 4.into()]));
    /// let n = g.dim_of(x, 0);
    /// let y = g.custom("mine.nearest", "{\"radius\": 2}", &[x], [f32([n, 2.into()])]);
    /// g.output("y", g.relu(y[0]));
    /// # g.build()?;
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    ///
    /// # Errors
    /// Noted in the builder: a name that is empty or has more than 256 bytes, attributes of more than 65,536 bytes, no
    /// result, more than 256 operands or results, results in blocks.
    #[track_caller]
    pub fn custom<T: Into<TypeSpec>>(
        &self,
        name: &str,
        attributes: &str,
        operands: &[Value],
        results: impl IntoIterator<Item = T>,
    ) -> Vec<Value> {
        let results = results.into_iter().map(Into::into).collect();
        let node = if name.is_empty() { "custom" } else { name };
        let (name, attributes) = (name.to_owned(), attributes.to_owned());
        self.apply_typed(node, results, |ty| Custom { name, attributes, ty }.into(), operands)
    }
}
