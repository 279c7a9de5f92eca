//! One of a row of logits at random, as a composition.

use super::random_numbers::{RandomKind, RandomNumbers};
use super::sample_sorted::expect_options;
use super::source::RandomSource;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::cum_sum::CumSum;
use crate::ops::elementwise::FLOATS;
use crate::ops::{ArgTopK, GatherElements};
use pumice_types::{DType, DimExpr};

/// Options of [`GraphBuilder::sample`]; those that are absent leave the distribution as it is. Each is a value of rank
/// 0 or \[B\]: a constant, or a scalar or input that changes from run to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampleOptions {
    /// f32 that logits are divided by; 0 takes the largest logit.
    pub temperature: Option<Value>,
    /// i32: how many of the largest logits are left; 0 and less: all.
    pub top_k: Option<Value>,
    /// f32: of those, the fewest in descending order whose share is at least this; one at least.
    pub top_p: Option<Value>,
    /// f32: of those, the ones at least this times as likely as the most likely one.
    pub min_p: Option<Value>,
    /// Where numbers come from; none: the graph's source ([`random_source`](crate::GraphBuilder::random_source)).
    pub source: Option<RandomSource>,
    /// The stream; none is one by the node's name.
    pub stream: Option<u32>,
}

impl SampleOptions {
    fn operands(&self) -> [Option<Value>; 4] {
        [self.temperature, self.top_k, self.top_p, self.min_p]
    }
}

/// Logits \[B, V\] and options.
fn logits_and_options(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.expect_rank(0, 2)?;
    let logits = &cx.ty(0)?.shape;
    if logits[1].lower(cx.symbols()) == 0 {
        return Err(OpError::Invalid(format!("rows of {} may be empty", cx.show(logits))));
    }
    expect_options(cx, 1, &logits[0])
}

impl GraphBuilder {
    /// A draw from each row of logits: \[B, V\] → (which, i32\[B\]; the logarithm of its probability among those that
    /// the options leave, f32\[B\]). Filters are applied in the order of the options; what is left is drawn by the
    /// inverse of its cumulative distribution in descending order, equal logits by their places, with one number of
    /// the source for each row. A temperature of 1 without filters draws, too; one of 0 takes the first largest logit.
    ///
    /// NaN counts as −∞ and reports BAD_DISTRIBUTION; so do a row of −∞ alone, which gives 0, and an option other than
    /// top_k that is negative or NaN. Of logits +∞ one is drawn. Computed in f32.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::sample::SampleOptions;
    /// let g = GraphBuilder::new("g");
    /// let logits = g.input("logits", f32([1, 32000]));
    /// let temperature = g.scalar("temperature", f32::<u64>([]), 0.0, 10.0, 0.8);
    /// let options = SampleOptions { temperature: Some(temperature), ..SampleOptions::default() };
    /// let (token, logprob) = g.sample(logits, options);
    /// g.output("token", token);
    /// g.output("logprob", logprob);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn sample(&self, logits: Value, options: SampleOptions) -> (Value, Value) {
        const METHOD: &str = "sample";
        const NAMES: &[&str] = &["logits", "temperature?", "top_k?", "top_p?", "min_p?"];
        let operands: Vec<Option<Value>> = std::iter::once(Some(logits)).chain(options.operands()).collect();
        let types = match self.checked_optional(METHOD, NAMES, &operands, logits_and_options) {
            Ok(types) => types,
            Err(mistake) => return (mistake, mistake),
        };
        let g = self.composition(METHOD);
        let logits = g.widened(logits, types[0].dtype());
        let is_nan = g.is_nan(logits);
        let (sorted, ids) = g.descending(logits, is_nan, &types[0].shape[1]);
        let weights = g.weights_of(sorted, options.temperature);
        let sums = g.cum_sum(weights, CumSum::default());
        let invalid = g.reduce_any(is_nan, &[1], false);
        let shape = vec![types[0].shape[0].clone()];
        let draw = |stream| RandomNumbers { shape, stream, kind: RandomKind::Uniform };
        let u = g.draw("numbers", options.source, options.stream, draw);
        g.last().sample_sorted([weights, sums, ids, invalid, u], options.operands())
    }

    /// Logits in descending order, NaN as −∞, and where they were.
    #[track_caller]
    fn descending(&self, logits: Value, is_nan: Value, vocabulary: &DimExpr) -> (Value, Value) {
        let none = self.constant_scalar(DType::F32, f64::NEG_INFINITY);
        let logits = self.select(is_nan, none, logits);
        let order = ArgTopK { axis: 1, k: vocabulary.clone(), largest: true, index_dtype: DType::I32 };
        let ids = self.apply(order, &[logits]);
        (self.apply(GatherElements { axis: 1 }, &[logits, ids]), ids)
    }

    /// e to the power of sorted logits over the temperature, 1 for the first: −∞ is 0, and where the first is −∞ all
    /// are.
    #[track_caller]
    fn weights_of(&self, sorted: Value, temperature: Option<Value>) -> Value {
        let number = |x: f64| self.constant_scalar(DType::F32, x);
        let first = self.narrow(sorted, 1, 0u64, 1u64);
        let below = self.sub(sorted, first);
        let scaled = match temperature {
            Some(t) => {
                // At 0 the first is taken whatever the others weigh.
                let t = self.select(self.equal(t, number(0.0)), number(1.0), t);
                let by_row = self.type_of(t).is_some_and(|ty| ty.rank() == 1);
                self.div(below, if by_row { self.unsqueeze(t, &[1]) } else { t })
            }
            None => below,
        };
        // Infinities have no distance.
        let weights = self.select(self.equal(sorted, first), number(1.0), self.exp(scaled));
        self.select(self.equal(sorted, number(f64::NEG_INFINITY)), number(0.0), weights)
    }
}
