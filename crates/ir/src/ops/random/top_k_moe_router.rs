//! `TopKMoeRouter`: which experts take a row, and with what weights.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types};
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, f32, sym};
use pumice_types::DType;

/// Experts at most.
const MOST: u64 = 1024;

crate::attr_enum! {
    /// What makes scores of logits.
    pub enum RouterGate {
        /// They are scores.
        Identity = "identity",
        /// Their soft-max.
        Softmax = "softmax",
        /// 1 / (1 + e⁻ˣ).
        Sigmoid = "sigmoid",
        /// √ln(1 + eˣ).
        SqrtSoftplus = "sqrt_softplus",
    }
}

crate::op! {
    /// The k experts of each row that are chosen, and their weights: logits\[T, E\], bias\[E\] → f32\[T, k\],
    /// i32\[T, k\], the largest choice first. Scores are a gate of the logits, or with `after` the logits themselves;
    /// choices are scores + bias. Of equal choices the lower expert is first; NaN is above infinity.
    ///
    /// `groups` of neighbouring experts have as score the sum of their two largest choices; the experts of the
    /// `groups_kept` best compete, ties by the lower group (DeepSeek-V3, LLaDA2). A weight is the expert's score; with
    /// `after` the soft-max of the k scores; with `norm`, where k > 1, divided by their sum + 1e-20; times `scale`.
    /// Without bias and groups rows are ordered by logits, of which all gates are increasing.
    pub struct TopKMoeRouter {
        /// Experts of a row.
        k: u64 => POSITIVE,
        /// What makes scores.
        gate: RouterGate = RouterGate::Softmax,
        /// Whether the gate, a soft-max, is that of the chosen logits alone.
        after: bool = false,
        /// Whether weights are divided by their sum.
        norm: bool = false,
        /// What weights are multiplied with.
        scale: f32 = 1.0 => FINITE,
        /// Groups of experts.
        groups: u64 = 1 => POSITIVE,
        /// Groups whose experts compete.
        groups_kept: u64 = 1 => POSITIVE,
    }
}

impl Default for TopKMoeRouter {
    /// Two experts by a soft-max of all logits.
    fn default() -> TopKMoeRouter {
        let (gate, after, norm, scale) = (RouterGate::Softmax, false, false, 1.0);
        TopKMoeRouter { k: 2, gate, after, norm, scale, groups: 1, groups_kept: 1 }
    }
}

impl TopKMoeRouter {
    fn check(&self, experts: u64) -> Result<(), OpError> {
        let wrong = |name, reason: String| Err(AttrError::Value { name, reason }.into());
        if experts == 0 || experts > MOST {
            return Err(OpError::Invalid(format!("there are {experts} experts, which must be 1 to {MOST}")));
        }
        if !experts.is_multiple_of(self.groups) {
            return wrong("groups", format!("{experts} experts make no {} equal groups", self.groups));
        }
        if self.groups_kept > self.groups {
            return wrong("groups_kept", format!("there are {} groups", self.groups));
        }
        let competing = experts / self.groups * self.groups_kept;
        if self.k > competing {
            return wrong("k", format!("it is {}, of {competing} experts that compete", self.k));
        }
        if self.after && self.gate != RouterGate::Softmax {
            return wrong("after", "only a soft-max is taken of the chosen logits".to_owned());
        }
        Ok(())
    }
}

impl OpDef for TopKMoeRouter {
    const OPERANDS: &'static [&'static str] = &["logits", "bias?"];
    const GRAD: Grad<Self> = Grad::No("rows are of the experts that each chose");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::F32])?;
        cx.expect_rank(0, 2)?;
        let logits = &cx.ty(0)?.shape;
        let Some(experts) = logits[1].as_extent() else {
            let what = "a number of experts that symbols decide".into();
            return Err(OpError::ExtentUnsupported { what, extent: cx.show(&logits[1..]) });
        };
        self.check(experts)?;
        if let Some(bias) = cx.opt(1) {
            cx.same_dtype(0, 1)?;
            cx.expect_rank(1, 1)?;
            cx.equal(&bias.shape[0], &logits[1], "the bias, and the experts")?;
        }
        let shape = vec![logits[0].clone(), self.k.into()];
        Ok(smallvec::smallvec![ValueType::new(DType::F32, shape.clone()), ValueType::new(DType::I32, shape)])
    }

    fn samples() -> Vec<Sample> {
        let of = |k: u64| TopKMoeRouter { k, ..TopKMoeRouter::default() };
        let mut samples = Vec::new();
        for gate in RouterGate::ALL {
            samples.extend([(128, 8), (7, 7), (1, 1), (256, 1), (257, 6), (1024, 300)].map(
                |(experts, k)| {
                    let after = gate == RouterGate::Softmax && k == 6;
                    case([9, experts], TopKMoeRouter { gate, after, norm: k % 2 == 0, ..of(k) }, experts > 7)
                },
            ));
            let grouped = TopKMoeRouter { gate, norm: true, scale: 2.5, groups: 8, groups_kept: 4, ..of(8) };
            samples.extend([case([5, 256], grouped.clone(), true), case([5, 64], grouped, false)]);
        }
        samples.extend([
            case([3, 12], TopKMoeRouter { groups: 12, groups_kept: 3, ..of(3) }, true),
            case([3, 12], TopKMoeRouter { groups: 4, groups_kept: 4, ..of(12) }, true),
            case([0, 12], of(4), true),
            case([66_000, 8], TopKMoeRouter { after: true, ..of(2) }, false),
        ]);
        let fills = [Fill::Constant(0.5), Fill::Range(0, 3), Fill::Special];
        samples.extend(fills.map(|fill| {
            let sample = Sample::graph(&format!("ties and what is not finite, {fill:?}"), |g| {
                let logits = g.input("logits", f32([12, 40]));
                let (_, plain) =
                    g.top_k_moe_router(logits, None, TopKMoeRouter { gate: RouterGate::Identity, ..of(7) });
                let grouped =
                    TopKMoeRouter { groups: 5, groups_kept: 2, gate: RouterGate::Identity, ..of(7) };
                let (_, grouped) = g.top_k_moe_router(logits, None, grouped);
                g.output("plain", plain);
                g.output("grouped", grouped);
            });
            sample.fill("logits", fill)
        }));
        samples.extend([0, 1, 40].map(|t| {
            let sample = Sample::graph(&format!("symbolic, {t} rows of 40"), |g| {
                let logits = g.input("logits", f32([sym("t", 0..=40), 60.into()]));
                results(g, logits, None, TopKMoeRouter { norm: true, ..of(4) });
            });
            sample.bind("t", t)
        }));
        samples
    }
}

fn case([rows, experts]: [u64; 2], op: TopKMoeRouter, biased: bool) -> Sample {
    let label = format!("{rows} rows of {experts}{} {op:?}", if biased { ", biased" } else { "" });
    Sample::graph(&label, |g| {
        let logits = g.input("logits", f32([rows, experts]));
        let bias = biased.then(|| g.param("bias", f32([experts])));
        results(g, logits, bias, op);
    })
    .fill("bias", Fill::Uniform(-0.5, 0.5))
}

fn results(g: &GraphBuilder, logits: Value, bias: Option<Value>, op: TopKMoeRouter) {
    let (weights, experts) = g.top_k_moe_router(logits, bias, op);
    g.output("weights", weights);
    g.output("experts", experts);
}

impl GraphBuilder {
    /// The experts of each row and their weights, one step: logits\[T, E\], a bias\[E\] that chooses and does not
    /// weigh → (\[T, k\] in the logits' dtype, i32\[T, k\]), the largest choice first. At most 1024 experts. 16-bit
    /// floats are computed in f32 and weights rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::TopKMoeRouter;
    /// let g = GraphBuilder::new("g");
    /// let logits = g.input("logits", f32([16, 128]));
    /// let op = TopKMoeRouter { k: 8, norm: true, ..TopKMoeRouter::default() };
    /// let (weights, experts) = g.top_k_moe_router(logits, None, op);
    /// g.output("weights", weights);
    /// g.output("experts", experts);
    /// assert_eq!(g.build()?.outputs().len(), 2);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn top_k_moe_router(&self, logits: Value, bias: Option<Value>, op: TopKMoeRouter) -> (Value, Value) {
        const METHOD: &str = "top_k_moe_router";
        const NAMES: &[&str] = &["logits", "bias?"];
        let rule = |cx: &Infer<'_>| {
            cx.expect_dtype(0, FLOATS)?;
            cx.opt(1).map_or(Ok(()), |_| cx.same_dtype(0, 1).map(|_| ()))
        };
        let dtype = match self.checked_optional(METHOD, NAMES, &[Some(logits), bias], rule) {
            Ok(types) => types[0].dtype(),
            Err(mistake) => return (mistake, mistake),
        };
        if dtype == DType::F32 {
            let results = self.apply_all(op, &[Some(logits), bias]);
            return (results[0], *results.last().unwrap_or(&results[0]));
        }
        let g = self.composition(METHOD);
        let bias = bias.map(|bias| g.widened(bias, dtype));
        let (weights, experts) = g.top_k_moe_router(g.widened(logits, dtype), bias, op);
        (g.last().cast(weights, dtype), experts)
    }
}
