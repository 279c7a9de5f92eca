//! Where random numbers come from: a seed and a step, of the graph or of a caller.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::{Op, RandomNumbers};
use pumice_types::{DType, DimExpr};

/// Operands of a source.
const WORDS: usize = 3;

/// A seed of two words, and the step that tells one run's numbers from the next one's: u32 of rank 0 each. Where rows
/// of a result belong to unlike requests, some may be \[rows\]: every row then has the numbers of a request of its own,
/// wherever in the batch it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomSource {
    /// The low word of the seed.
    pub seed_low: Value,
    /// The high word of the seed.
    pub seed_high: Value,
    /// The step.
    pub step: Value,
}

impl RandomSource {
    /// In the order of operands.
    pub(crate) fn operands(&self) -> [Value; WORDS] {
        [self.seed_low, self.seed_high, self.step]
    }
}

/// Checks the operands from `first` on as a source for results of that shape.
pub(crate) fn expect_source(cx: &Infer<'_>, first: usize, shape: &[DimExpr]) -> Result<(), OpError> {
    for operand in first..first + WORDS {
        cx.expect_dtype(operand, &[DType::U32])?;
        let own = &cx.ty(operand)?.shape;
        match (&own[..], shape.first()) {
            ([], _) => {}
            ([rows], Some(of_shape)) => cx.equal(rows, of_shape, "rows of the source, and of the result")?,
            _ => return cx.expect_rank(operand, 0),
        }
    }
    Ok(())
}

/// The stream of a node that nobody gave one: its name by FNV-1a in 32 bits (Fowler, Noll, Vo), so that it is the
/// same in every build of the program.
pub(crate) fn stream_of(name: &str) -> u64 {
    let word = name.bytes().fold(0x811c_9dc5u32, |h, byte| (h ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    u64::from(word)
}

impl GraphBuilder {
    /// The graph's own source: dynamic scalars `seed_low`, `seed_high` (0 until they are set) and `random_step`, which
    /// goes on by one with every replay. Set it before a run to repeat that run's numbers. They are declared when this
    /// is first asked, or something random is first made without a source.
    ///
    /// ```
    /// # use pumice_ir::GraphBuilder;
    /// # use pumice_ir::ops::random_normal::RandomNormal;
    /// let g = GraphBuilder::new("g");
    /// g.output("noise", g.random_normal([4, 8], None, RandomNormal::default()));
    /// let graph = g.build()?;
    /// assert!(graph.find("seed_low").is_some() && graph.find("random_step").is_some());
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn random_source(&self) -> RandomSource {
        if let Some(source) = self.own_source() {
            return source;
        }
        // No closure: the mistake of a name that is taken names the caller's line.
        let seed_low = self.word_scalar("seed_low", None);
        let seed_high = self.word_scalar("seed_high", None);
        let step = self.word_scalar("random_step", Some(1.into()));
        let source = RandomSource { seed_low, seed_high, step };
        self.keep_source(source);
        source
    }

    /// The words and numbers of a node called `name`, or as the handle says; `stream` or one of its own.
    #[track_caller]
    pub(crate) fn draw(
        &self,
        name: &str,
        source: Option<RandomSource>,
        stream: Option<u32>,
        op: impl FnOnce(u64) -> RandomNumbers,
    ) -> Value {
        let source = source.unwrap_or_else(|| self.random_source());
        let operands = source.operands().map(Some);
        self.apply_streamed(name, stream, |stream| Op::from(op(stream)), &operands)[0]
    }
}
