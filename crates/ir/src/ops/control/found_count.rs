//! `FoundCount`: a count that becomes an extent, between 0 and the largest.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::steering_samples::steering_samples;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::tensor;
use pumice_types::DType;
use pumice_types::limits::LARGEST_INDEX;

/// The largest extent that kernels count to.
pub(super) const LARGEST: i64 = LARGEST_INDEX as i64 - 1;
/// Dtypes of counts.
const COUNTS: &[DType] = &[DType::I32, DType::I64];

crate::op! {
    /// A rank-0 count between 0 and `largest`, as I32. One that is outside reports FOUND_EXTENT and is taken for the
    /// nearer end.
    pub struct FoundCount {
        /// The largest it may be, below 2³¹ − 2¹⁰.
        largest: i64,
    }
}

impl OpDef for FoundCount {
    const OPERANDS: &'static [&'static str] = &["count"];
    const GRAD: Grad<Self> = Grad::Zero;
    const STEERS: &'static [&'static str] = &["count"];

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, COUNTS)?;
        cx.expect_rank(0, 0)?;
        if !(0..=LARGEST).contains(&self.largest) {
            let reason = format!("{} is not in 0..={LARGEST}", self.largest);
            return Err(AttrError::Value { name: "largest", reason }.into());
        }
        one(DType::I32, [])
    }

    fn holds_count(&self) -> Option<i64> {
        Some(self.largest)
    }

    fn samples() -> Vec<Sample> {
        let of = |largest: i64, count: i64| {
            let sample = Sample::graph(&format!("{count} of i64, at most {largest}"), |g| {
                g.output("y", g.found_count(g.input("count", tensor::<u64>(DType::I64, [])), largest));
            });
            let sample = sample.fill("count", Fill::Ints(vec![count]));
            if (0..=largest).contains(&count) { sample } else { sample.expect_status() }
        };
        let mut samples = [0, 7, 8, 1 << 32, i64::MAX, i64::MIN, -1].map(|n| of(7, n)).to_vec();
        samples.extend([of(0, 0), of(0, 1), of(LARGEST, LARGEST), of(LARGEST, LARGEST + 1)]);
        let raises = |count: i64| !(0..=7).contains(&count);
        samples.extend(steering_samples("a count", 7, raises, |g, count| {
            g.output("y", g.found_count(count, 7));
        }));
        samples
    }
}

impl GraphBuilder {
    /// A count between 0 and `largest`: i32\[\] or i64\[\] → i32\[\]. See
    /// [`extent_of`](crate::GraphBuilder::extent_of), which makes it an extent.
    #[track_caller]
    pub fn found_count(&self, count: Value, largest: i64) -> Value {
        self.apply(FoundCount { largest }, &[count])
    }
}
