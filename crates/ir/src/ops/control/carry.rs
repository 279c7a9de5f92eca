//! `Carry`: what a turn of a loop begins with.

use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::control::loop_::looping_samples;
use crate::ops::{Grad, Op, OpDef};
use crate::sample::Sample;

crate::op! {
    /// What a turn of a loop begins with: `init` in the first, in every other what the turn before left in its place
    /// ([`Loop`](crate::ops::Loop)). What follows from it is computed in every turn. In place 0 is an I32: 1 where
    /// there is a turn, else 0.
    pub struct Carry {
        /// The loop, by its number in the graph.
        number: i64,
        /// The place among what the loop carries.
        place: i64,
    }
}

impl OpDef for Carry {
    const OPERANDS: &'static [&'static str] = &["init"];
    const GRAD: Grad<Self> = Grad::No(
        "loops that are recorded are not differentiated; one whose turns are known is built turn by turn",
    );

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        one(cx.ty(0)?.dtype(), cx.ty(0)?.shape.clone())
    }

    fn carries(&self) -> Option<(i64, usize)> {
        Some((self.number, usize::try_from(self.place).ok()?))
    }

    fn with_loop_number(&self, number: i64) -> Option<Op> {
        Some(Carry { number, ..*self }.into())
    }

    fn moves_bits(&self) -> bool {
        true
    }

    fn samples() -> Vec<Sample> {
        looping_samples("of a carried value")
    }
}
