//! Gradients of updates that are put into data: one rule for elements and for slices.
//!
//! In: how a value is read and written at the places of the updates. Out: the gradients of data and updates. Never
//! here: where the places are.

use super::scatter::ScatterReduction;
use crate::builder::{GraphBuilder, Value};
use crate::ops::{GradCx, Grads, NoGrad};
use pumice_types::DType;

/// The places of updates: operands are data, indices and updates.
pub(crate) struct Places<'a> {
    pub(crate) cx: &'a GradCx<'a>,
    /// What of a value of data's shape lies there.
    pub(crate) read: &'a dyn Fn(Value) -> Value,
    /// Updates put into data.
    pub(crate) put: &'a dyn Fn(Value, Value, ScatterReduction) -> Value,
}

impl Places<'_> {
    /// The gradients for a way in which updates count.
    pub(crate) fn gradients(&self, how: ScatterReduction) -> Result<Grads, NoGrad> {
        let dy = self.cx.dy();
        Ok(match how {
            ScatterReduction::Add => self.both(|| dy, || (self.read)(dy)),
            ScatterReduction::Set => self.of_last(dy),
            ScatterReduction::Mul => self.of_products(dy),
            ScatterReduction::Max | ScatterReduction::Min => self.of_extremes(dy),
        })
    }

    fn g(&self) -> &GraphBuilder {
        self.cx.g
    }

    fn both(&self, data: impl FnOnce() -> Value, updates: impl FnOnce() -> Value) -> Grads {
        vec![self.cx.wanted(0, data), None, self.cx.wanted(2, updates)]
    }

    /// dy with 0 where an update went, and of each update that no later one covers what of dy lies there.
    fn of_last(&self, dy: Value) -> Grads {
        let (cx, g) = (self.cx, self.g());
        let nothing = || cx.zeros(cx.x(2));
        let last = || {
            let numbers = cx.numbers(cx.x(2));
            let nobody = cx.whole(cx.x(0), DType::I64, -1.0);
            let covering = (self.read)((self.put)(nobody, numbers, ScatterReduction::Set));
            g.select(g.equal(covering, numbers), (self.read)(dy), nothing())
        };
        self.both(|| (self.put)(dy, nothing(), ScatterReduction::Set), last)
    }

    /// dy/k for each of the k, data among them, that are the result.
    fn of_extremes(&self, dy: Value) -> Grads {
        let (cx, g, y) = (self.cx, self.g(), self.cx.y(0));
        let dtype = cx.ty(y).dtype();
        let (of_data, of_updates) = (g.equal(cx.x(0), y), g.equal(cx.x(2), (self.read)(y)));
        let [ones, more] = [of_data, of_updates].map(|is| g.cast(is, DType::F32));
        let count = (self.put)(ones, more, ScatterReduction::Add);
        let share = g.div(dy, g.cast(count, dtype));
        let chosen = |is, share| g.select(is, share, g.constant_scalar(dtype, 0.0));
        self.both(|| chosen(of_data, share), || chosen(of_updates, (self.read)(share)))
    }

    /// dy times the product of all others: of the factors that are not 0, and their number that are.
    fn of_products(&self, dy: Value) -> Grads {
        let (cx, g) = (self.cx, self.g());
        let dtype = cx.ty(dy).dtype();
        let (zero, one) = (g.constant_scalar(dtype, 0.0), g.constant_scalar(dtype, 1.0));
        let is_zero = |x| g.equal(x, zero);
        let of_data = (is_zero(cx.x(0)), g.select(is_zero(cx.x(0)), one, cx.x(0)));
        let of_updates = (is_zero(cx.x(2)), g.select(is_zero(cx.x(2)), one, cx.x(2)));
        let whole = g.mul(dy, (self.put)(of_data.1, of_updates.1, ScatterReduction::Mul));
        let [some, more] = [of_data.0, of_updates.0].map(|is| g.cast(is, DType::F32));
        let zeros = (self.put)(some, more, ScatterReduction::Add);
        // The others have no 0: there is none, or this is the only one.
        let others = |(is_zero, factor): (Value, Value), whole, zeros| {
            let own = g.cast(is_zero, DType::F32);
            g.select(g.equal(zeros, own), g.div(whole, factor), zero)
        };
        let by_updates = || others(of_updates, (self.read)(whole), (self.read)(zeros));
        self.both(|| others(of_data, whole, zeros), by_updates)
    }
}
