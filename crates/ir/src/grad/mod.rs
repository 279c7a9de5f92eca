//! Gradients of a loss, as values of the same graph: reverse accumulation over the graph as it is written.
//!
//! In: a rank-0 float of a builder, and float values it depends on. Out: for each the derivative of the loss by it,
//! made of nodes that are added. Ways run over float values alone, from the wanted values to the loss and nowhere
//! else. Ops say how gradients pass them ([`Grad`](crate::ops::Grad)); a composite op is passed as what it is made
//! of. Never here: an op's mathematics, a plan.

mod asked;
mod reverse;
mod sum;
mod tape;

use crate::builder::{GraphBuilder, Value};
use crate::entity::ValueId;
use crate::error::BuildError;
use crate::ops::NoGrad;
use pumice_types::DType;
use reverse::Reverse;
use std::panic::Location;
use tape::Tape;

/// Why a loss has no gradient by a value.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum GradError {
    /// The loss is not one float.
    #[error("the loss `{name}` is {ty}; gradients are those of one float, of rank 0")]
    Loss {
        /// Its name.
        name: String,
        /// Its type.
        ty: String,
    },
    /// What is wanted is no float.
    #[error("`{name}` is {dtype}; only floats have gradients")]
    NotFloat {
        /// Its name.
        name: String,
        /// Its elements.
        dtype: DType,
    },
    /// The loss does not move with a value.
    #[error("the loss `{loss}` does not depend on `{name}` by any way that has a gradient")]
    NotReached {
        /// The loss.
        loss: String,
        /// The value.
        name: String,
    },
    /// An op on the way has no gradient.
    #[error(
        "{op} `{node}` has no gradient: {why}; it is on the way from `{from}` to `{loss}` \
         (`stop_gradient` before it ends the way)"
    )]
    NotDifferentiable {
        /// The node.
        node: String,
        /// Its op.
        op: &'static str,
        /// Why.
        why: String,
        /// A wanted value that it depends on.
        from: String,
        /// The loss.
        loss: String,
    },
}

pumice_types::debug_as_display!(GradError);

impl GraphBuilder {
    /// The derivatives of a loss, one float of rank 0, by float values that it depends on: one for each, of its type.
    /// They are values like any others: outputs, operands of further ops, parts of another loss. Where a way runs over
    /// an integer or a bool it ends there, as it does at `stop_gradient`. What is not differentiable, and how each op
    /// is, stands in `docs/gradients.md`.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f32};
    /// let g = GraphBuilder::new("square");
    /// let x = g.input("x", f32([3]));
    /// let loss = g.reduce_sum(g.mul(x, x), &[0], false);
    /// let [dx] = g.grad(loss, &[x])[..] else { unreachable!("one for each") };
    /// g.output("dx", dx);
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    ///
    /// Mistakes of the graph, reported by [`GraphBuilder::build`]: a loss that is no rank-0 float, a wanted value that
    /// is no float or that the loss does not reach, an op on the way that has no gradient.
    #[track_caller]
    pub fn grad(&self, loss: Value, wanted: &[Value]) -> Vec<Value> {
        let site = Location::caller();
        let given: Vec<Value> = std::iter::once(loss).chain(wanted.iter().copied()).collect();
        for &value in &given {
            if self.type_of(value).is_none() {
                // A foreign value is reported, one that came out of a mistake passes it on.
                let mistaken = self.stop_gradient(value);
                return vec![mistaken; wanted.len()];
            }
        }
        let made = self.at_site(site, |g| g.gradients(loss, wanted));
        made.unwrap_or_else(|error| {
            let mistake = self.wrong_build(BuildError::Grad(error), site);
            vec![mistake; wanted.len()]
        })
    }

    /// Whether a loss moves with a value by some way that has a gradient: where it does not, asking for one is a
    /// mistake.
    pub fn reaches(&self, loss: Value, value: Value) -> bool {
        let (Some(loss), Some(value)) = (loss.valid(), value.valid()) else { return false };
        self.look(|graph| tape::reaches(graph, loss, value))
    }

    fn gradients(&self, loss: Value, wanted: &[Value]) -> Result<Vec<Value>, GradError> {
        let (loss, wanted) = self.checked(loss, wanted)?;
        let tape = Tape::record(self, loss, &wanted);
        let mut reverse = Reverse::new(self, &tape, loss, &wanted);
        reverse.run()?;
        wanted.iter().map(|&value| reverse.gradient(value)).collect()
    }

    /// The loss and the wanted values as they lie in the graph; none came out of a mistake.
    fn checked(&self, loss: Value, wanted: &[Value]) -> Result<(ValueId, Vec<ValueId>), GradError> {
        let loss = loss.valid().ok_or_else(|| self.no_loss(loss))?;
        let wanted: Vec<ValueId> = wanted.iter().filter_map(|v| v.valid()).collect();
        self.look(|graph| {
            if !tape::moves(graph, loss) || graph.ty(loss).rank() != 0 {
                let ty = graph.ty(loss).display(graph.symbols());
                return Err(GradError::Loss { name: graph.value(loss).name.to_string(), ty });
            }
            match wanted.iter().find(|v| !tape::moves(graph, **v)) {
                Some(&v) => {
                    let (name, dtype) = (graph.value(v).name.to_string(), graph.ty(v).dtype());
                    Err(GradError::NotFloat { name, dtype })
                }
                None => Ok((loss, wanted.clone())),
            }
        })
    }

    fn no_loss(&self, loss: Value) -> GradError {
        let ty = self.type_of(loss).map_or_else(String::new, |ty| ty.dtype().to_string());
        GradError::Loss { name: String::new(), ty }
    }
}

/// What a rule says in words, where it has no formula and the op is made of no other ops.
fn reason(refusal: NoGrad) -> &'static str {
    match refusal {
        NoGrad::Composed => "it has no formula for what is asked, and is made of no other ops",
        NoGrad::Undefined(why) => why,
    }
}
