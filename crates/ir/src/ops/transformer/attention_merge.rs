//! `AttentionMerge`: one result of the parts of an attention.

use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::{Infer, Types, one};
use crate::ops::attention::AttentionLayout;
use crate::ops::attention_parts::BESIDE;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Grad, OpDef};
use crate::sample::{Fill, Sample};
use crate::shape::{ValueType, f32, sym, tensor};
use pumice_types::{DType, DimExpr};

crate::op! {
    /// y = Σ e^(mₚ − m)·oₚ / Σ e^(mₚ − m)·lₚ over the parts p of `AttentionParts`, m = max mₚ; parts with mₚ = −Inf
    /// take no part. Where all have that, y is zero, or NaN where some lₚ is. `sinks`, floats of \[H\], are one part
    /// more of each head, of one key without a value; a row of which all other parts have mₚ = −Inf is then Σ oₚ.
    /// With `lse`, a second result is m + ln Σ e^(mₚ − m)·lₚ, f32 \[B, H, S\] in either layout: −Inf of no key.
    pub struct AttentionMerge {
        /// Order of the axes of the result.
        layout: AttentionLayout = AttentionLayout::Bhsd,
        /// Whether the logarithms of the sums are a result, too.
        lse: bool = false,
    }
}

impl Default for AttentionMerge {
    fn default() -> AttentionMerge {
        AttentionMerge { layout: AttentionLayout::Bhsd, lse: false }
    }
}

impl OpDef for AttentionMerge {
    const OPERANDS: &'static [&'static str] = &["x", "sinks?"];
    const GRAD: Grad<Self> = Grad::No("it is made by passes, after gradients are taken");

    fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
        cx.expect_dtype(0, &[DType::F32])?;
        cx.expect_rank(0, 5)?;
        let x = &cx.ty(0)?.shape;
        let width = x[4].as_extent().and_then(|w| w.checked_sub(BESIDE));
        let width = width
            .ok_or_else(|| OpError::Invalid("rows of parts have four columns and a known width".into()))?;
        if self.lse && width == 0 {
            return Err(OpError::Invalid("of parts without values nothing is merged but their sums".into()));
        }
        let mut shape = vec![DimExpr::constant(0); 4];
        let extents = [x[0].clone(), x[1].clone(), x[2].clone(), width.into()];
        self.layout.axes().into_iter().zip(extents).for_each(|(axis, extent)| shape[axis] = extent);
        if let Some(sinks) = cx.opt(1) {
            cx.expect_dtype(1, FLOATS)?;
            cx.expect_rank(1, 1)?;
            cx.equal(&sinks.shape[0], &x[1], "entries of `sinks` and heads")?;
        }
        let mut types = one(DType::F32, shape)?;
        let rows = [x[0].clone(), x[1].clone(), x[2].clone()];
        types.extend(self.lse.then(|| ValueType::new(DType::F32, rows)));
        Ok(types)
    }

    fn samples() -> Vec<Sample> {
        let case = |shape: [u64; 5], layout| {
            Sample::graph(&format!("{shape:?} {layout:?}"), |g| {
                g.output(
                    "y",
                    g.attention_merge(g.input("x", f32(shape)), AttentionMerge { layout, lse: false }),
                );
            })
            .fill("x", Fill::Uniform(0.25, 2.0))
        };
        let mut samples = Vec::new();
        for layout in [AttentionLayout::Bhsd, AttentionLayout::Bshd] {
            let shapes =
                [[1, 1, 1, 1, 8], [2, 3, 1, 5, 20], [1, 4, 3, 17, 68], [2, 2, 2, 70, 132], [1, 2, 1, 3, 4]];
            samples.extend(shapes.map(|s| case(s, layout)));
            samples.extend([[0, 2, 1, 3, 8], [1, 2, 0, 3, 8]].map(|s| case(s, layout)));
        }
        let (low, nan) = (f64::NEG_INFINITY, f64::NAN);
        let part = |o: f64, m: f64, l: f64| [o, o, -o, 0.5 * o, m, l, 0.0, 0.0];
        let rows = [
            [part(1.0, 3.0, 2.0), part(0.0, low, 0.0), part(2.0, 5.0, 4.0)],
            [part(0.0, low, 0.0), part(0.0, low, 0.0), part(0.0, low, 0.0)],
            [part(0.0, low, 0.0), part(0.0, low, nan), part(0.0, low, 0.0)],
            [part(0.0, low, nan), part(1.0, -80.0, 2.0), part(3.0, -81.0, 1.0)],
            [part(1.0, 300.0, 2.0), part(1.0, 0.0, 1.0), part(nan, 299.0, 1.0)],
        ];
        let values: Vec<f64> = rows.iter().flatten().flatten().copied().collect();
        samples.push(
            Sample::graph("parts without keys", |g| {
                let x = g.input("x", f32([1u64, 5, 1, 3, 8]));
                g.output("y", g.attention_merge(x, AttentionMerge::default()));
            })
            .fill("x", Fill::Floats(values.clone())),
        );
        for (sinks, lse) in [(false, true), (true, false), (true, true)] {
            let shapes = [[2, 3, 1, 5, 20], [1, 4, 3, 70, 68], [0, 2, 1, 3, 8]];
            samples.extend(shapes.map(|s| with_sums(s, AttentionLayout::Bshd, DType::F16, (sinks, lse))));
            let parts = with_sums([1, 5, 1, 3, 8], AttentionLayout::Bhsd, DType::F32, (sinks, lse));
            samples
                .push(parts.fill("x", Fill::Floats(values.clone())).fill("sinks", Fill::Uniform(-2.0, 4.0)));
        }
        samples.extend([1, 3].map(|n| {
            Sample::graph(&format!("symbolic, {n} of 3"), |g| {
                let x = g.input("x", f32([sym("b", 1..=3), 2.into(), 1.into(), 4.into(), 12.into()]));
                g.output(
                    "y",
                    g.attention_merge(x, AttentionMerge { layout: AttentionLayout::Bshd, lse: false }),
                );
            })
            .bind("b", n)
            .fill("x", Fill::Uniform(0.25, 2.0))
        }));
        samples
    }
}

/// With sinks, or with the logarithms of the sums.
fn with_sums(shape: [u64; 5], layout: AttentionLayout, dtype: DType, (sinks, lse): (bool, bool)) -> Sample {
    Sample::graph(&format!("{shape:?} {layout:?} {dtype} sinks {sinks} lse {lse}"), |g| {
        let x = g.input("x", f32(shape));
        let sinks = sinks.then(|| g.input("sinks", tensor(dtype, [shape[1]])));
        let results = g.apply_all(AttentionMerge { layout, lse }, &[Some(x), sinks]);
        results.into_iter().zip(["y", "lse"]).for_each(|(v, name)| g.output(name, v));
    })
    .fill("x", Fill::Uniform(0.25, 2.0))
}

impl GraphBuilder {
    /// The results of parts as one: x\[B, H, S, parts, Dv + 4\] → \[B, H, S, Dv\], or in the other layout.
    #[track_caller]
    pub fn attention_merge(&self, x: Value, op: AttentionMerge) -> Value {
        self.apply(AttentionMerge { lse: false, ..op }, &[x])
    }
}
