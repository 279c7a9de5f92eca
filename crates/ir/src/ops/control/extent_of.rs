//! `ExtentOf`: a count that the program finds, as an extent.

use super::found_count::LARGEST;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{bool_, f32, i32};
use pumice_types::{DType, DimExpr, SymbolId};
use std::ops::RangeInclusive;

crate::op! {
    /// From here on a symbol is the value of a rank-0 I32 between 0 and the symbol's largest value, which `FoundCount`
    /// gives: no caller binds it. The result is that value.
    pub struct ExtentOf {
        /// The symbol.
        extent: DimExpr,
    }
}

impl OpDef for ExtentOf {
    const OPERANDS: &'static [&'static str] = &["count"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::I32])?;
        cx.expect_rank(0, 0)?;
        let symbol = self.extent.as_symbol().and_then(|id| cx.symbols().get(id));
        let Some(symbol) = symbol.filter(|s| s.found) else {
            let shown = cx.show(std::slice::from_ref(&self.extent));
            return Err(OpError::Invalid(format!("{shown} is no symbol that is found")));
        };
        if symbol.max > LARGEST.unsigned_abs() {
            let (name, max) = (&symbol.name, symbol.max);
            return Err(OpError::Invalid(format!(
                "{name} may be {max}, and an extent that is found {LARGEST} at most"
            )));
        }
        one(DType::I32, [])
    }

    fn finds(&self) -> Option<SymbolId> {
        self.extent.as_symbol()
    }

    fn samples() -> Vec<Sample> {
        let mut samples = [0, 1, 5, 9, 10, -3].map(first_rows).to_vec();
        samples.extend([0, 1, 9].map(turned));
        samples.extend([0, 3, 9].map(|n| two_counts(n, 4)));
        samples.extend([-2, 4, 30].map(beside_its_count));
        samples.push(as_many_as_are_true());
        samples
    }
}

/// As many rows as a count says, with what follows from them.
fn first_rows(count: i64) -> Sample {
    let sample = Sample::graph(&format!("{count} of 9 rows"), |g| {
        let (x, w) = (g.input("x", f32([9, 5])), g.param("w", f32([5, 4])));
        let n = g.extent_of(g.input("count", i32::<u64>([])), 0..=9);
        let rows = g.narrow(x, 0, 0u64, n.clone());
        let y = g.matmul(rows, w);
        g.output("y", y);
        g.output("rows", rows);
        g.output("sum", g.reduce_sum(g.relu(rows), &[0], false));
        g.output("flat", g.reshape_to(y, vec![n * DimExpr::constant(4)]));
        g.output("extent", g.extent(rows, 0));
    });
    let sample = sample.fill("count", Fill::Ints(vec![count]));
    if (0..=9).contains(&count) { sample } else { sample.expect_status() }
}

/// Rows that are views in other orders, and along which something is summed.
fn turned(count: i64) -> Sample {
    Sample::graph(&format!("{count} of 9 rows, turned"), |g| {
        let x = g.input("x", f32([9, 5]));
        let n = g.extent_of(g.input("count", i32::<u64>([])), 0..=9);
        let columns = g.transpose(g.narrow(x, 0, 0u64, n), &[1, 0]);
        g.output("turned", g.softmax(columns, 0));
        g.output("along", g.softmax(columns, 1));
    })
    .fill("count", Fill::Ints(vec![count]))
}

/// Two counts in one shape.
fn two_counts(n: i64, m: i64) -> Sample {
    Sample::graph(&format!("{n} by {m}"), |g| {
        let [n, m] =
            [("n", 9), ("m", 6)].map(|(name, most)| g.extent_of(g.input(name, i32::<u64>([])), 0..=most));
        let rows = g.narrow(g.input("x", f32([9, 1])), 0, 0u64, n);
        let y = g.mul(rows, g.narrow(g.input("z", f32([1, 6])), 1, 0u64, m));
        g.output("y", y);
        g.output("sums", g.reduce_sum(y, &[1], false));
    })
    .fill("n", Fill::Ints(vec![n]))
    .fill("m", Fill::Ints(vec![m]))
}

/// What the count is made of stands beside what is as long.
fn beside_its_count(count: i64) -> Sample {
    let sample = Sample::graph(&format!("beside its count, {count}"), |g| {
        let (x, n) = (g.input("x", i32([9])), g.input("n", i32::<u64>([])));
        let more = g.add(n, g.constant_scalar(DType::I32, 1.0));
        let rows = g.narrow(x, 0, 0u64, g.extent_of(more, 0..=9));
        g.output("y", g.add(more, g.reduce_sum(rows, &[0], false)));
    });
    let sample = sample.fill("x", Fill::Range(-9, 9)).fill("n", Fill::Ints(vec![count]));
    if (-1..9).contains(&count) { sample } else { sample.expect_status() }
}

/// A count that the program makes itself.
fn as_many_as_are_true() -> Sample {
    Sample::graph("as many as are true", |g| {
        let mask = g.input("mask", bool_([300]));
        let count = g.reduce_sum(g.cast(mask, DType::I32), &[0], false);
        let n = g.extent_of(count, 0..=300);
        let x = g.input("x", f32([300]));
        g.output("y", g.square(g.narrow(x, 0, 0u64, n)));
    })
    .fill("mask", Fill::Range(0, 2))
}

impl GraphBuilder {
    /// An extent that is found while the program runs: the value of a count, i32\[\] or i64\[\], between 0 and the end
    /// of `range`, which begins at 0. A count outside reports FOUND_EXTENT and is taken for the nearer end. An output
    /// with such an extent comes as long as it was found; its bytes are planned for the largest.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32, i32};
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([100, 4]));
    /// let n = g.extent_of(g.input("count", i32::<u64>([])), 0..=100);
    /// g.output("first", g.narrow(x, 0, 0u64, n));
    /// assert_eq!(g.build()?.symbols().found().count(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn extent_of(&self, count: Value, range: RangeInclusive<u64>) -> DimExpr {
        let largest = i64::try_from(*range.end()).unwrap_or(i64::MAX);
        let starts_at_0 = |_: &Infer<'_>| match *range.start() {
            0 => Ok(()),
            start => Err(OpError::Invalid(format!("the range of an extent begins at 0, not at {start}"))),
        };
        if self.checked_operands("extent_of", &["count"], &[count], starts_at_0).is_err() {
            return DimExpr::constant(largest);
        }
        let g = self.composition("extent_of");
        let count = g.found_count(count, largest);
        if g.type_of(count).is_none() {
            return DimExpr::constant(largest);
        }
        let extent = g.found_symbol(*range.end());
        g.last().apply(ExtentOf { extent: extent.clone() }, &[count]);
        extent
    }
}
