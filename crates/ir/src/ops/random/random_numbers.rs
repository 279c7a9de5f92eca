//! `RandomNumbers`: the words of the generator, or what they become.

use super::source::{RandomSource, expect_source};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::{Grad, Op, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::{DType, DimExpr};

crate::attr_enum! {
    /// What becomes of the generator's words.
    pub enum RandomKind {
        /// They stay words: u32, each of all values equally likely.
        Words = "words",
        /// Their upper 24 bits as a part of 1: f32 in \[0, 1).
        Uniform = "uniform",
        /// Two neighbours (w₀, w₁) become √(−2 ln a)·(cos, sin)(2πu) with a = ((w₀ » 8) + 1)·2⁻²⁴, u = (w₁ » 8)·2⁻²⁴
        /// (Box and Muller, 1958): f32, standard normal.
        Normal = "normal",
    }
}

crate::op! {
    /// Numbers of Philox4x32-10 (Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011): element i of the
    /// row-major result is word i mod 4 at the counter (⌊i/4⌋ low, ⌊i/4⌋ high, stream, step) under the key (seed_low,
    /// seed_high). Words are the same on every device. Where an operand is \[rows\], i is counted within a row: an
    /// element of the first axis.
    pub struct RandomNumbers {
        /// The shape of the result.
        shape: Vec<DimExpr>,
        /// The word that tells the numbers of one node from another's.
        stream: u64 => WORD,
        /// What becomes of words.
        kind: RandomKind = RandomKind::Words,
    }
}

impl OpDef for RandomNumbers {
    const OPERANDS: &'static [&'static str] = &["seed_low", "seed_high", "step"];
    const GRAD: Grad<Self> = Grad::Zero;

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        expect_source(cx, 0, &self.shape)?;
        cx.not_negative(&self.shape)?;
        let dtype = if self.kind == RandomKind::Words { DType::U32 } else { DType::F32 };
        one(dtype, self.shape.clone())
    }

    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for (stream, kind) in (0..).zip(RandomKind::ALL) {
            let case = |shape: &[u64]| {
                Sample::graph(&format!("{kind:?} {shape:?}"), |g| {
                    let shape = shape.iter().map(|&n| n.into()).collect();
                    g.output(
                        "y",
                        g.draw("y", None, Some(stream), |stream| RandomNumbers { shape, stream, kind }),
                    );
                })
                .scalar("seed_low", 4_000_000_000.0)
                .scalar("seed_high", 77.0)
                .runs(2)
            };
            let shapes: [&[u64]; 9] =
                [&[], &[0], &[1], &[2, 3], &[4], &[5, 0], &[7, 37], &[1025], &[2, 2, 2, 2, 2, 2, 2, 6]];
            samples.extend(shapes.map(case));
            samples.extend([by_rows(kind, 5), by_rows(kind, 8), symbolic(kind, 0), symbolic(kind, 33)]);
        }
        let many = Sample::graph("more than 65,535 groups", |g| {
            let RandomSource { seed_low, seed_high, .. } = g.random_source();
            let steps = g.input("steps", tensor(DType::U32, [16_800_000]));
            let op = RandomNumbers {
                shape: vec![16_800_000.into(), 1.into()],
                stream: 3,
                kind: RandomKind::Words,
            };
            let words = g.apply(op, &[seed_low, seed_high, steps]);
            g.output("y", g.narrow(words, 0, 16_799_990u64, 10u64));
        });
        samples.push(many.fill("steps", Fill::Range(0, 1 << 30)));
        samples
    }

    fn stream(&self) -> Option<u64> {
        Some(self.stream)
    }

    fn with_stream(&self, stream: u64) -> Option<Op> {
        Some(RandomNumbers { stream, ..self.clone() }.into())
    }
}

/// Rows that have one operand each of their own.
fn by_rows(kind: RandomKind, n: u64) -> Sample {
    Sample::graph(&format!("{kind:?} of {n} by rows"), |g| {
        let RandomSource { seed_low, seed_high, step } = g.random_source();
        let own = g.input("own", tensor(DType::U32, [3]));
        for (name, source) in
            [("a", [own, seed_high, step]), ("b", [seed_low, own, step]), ("c", [own, own, own])]
        {
            let op = RandomNumbers { shape: vec![3.into(), n.into()], stream: 9, kind };
            g.output(name, g.apply(op, &source));
        }
    })
    .fill("own", Fill::Ints(vec![0, u32::MAX.into(), 7]))
}

fn symbolic(kind: RandomKind, n: u64) -> Sample {
    let sample = Sample::graph(&format!("{kind:?} symbolic {n} of 33"), |g| {
        let x = g.input("x", tensor(DType::F32, [3.into(), sym("n", 0..=33)]));
        let op = |stream| RandomNumbers { shape: vec![3.into(), g.dim_of(x, 1)], stream, kind };
        g.output("y", g.draw("y", None, None, op));
    });
    sample.bind("n", n)
}
