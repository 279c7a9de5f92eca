//! Samples of `DequantizeLinear`: the values themselves, and what reads codes where they lie.

use super::dequantize_linear::DequantizeLinear;
use crate::builder::{GraphBuilder, Value};
use crate::sample::{Fill, Sample};
use crate::shape::{f32, i32, sym, tensor};
use pumice_types::{Code, DType, Encoding};

/// All samples.
pub fn samples() -> Vec<Sample> {
    let mut all: Vec<Sample> = CODES.into_iter().flat_map(of_codes).collect();
    all.extend(CODES.into_iter().flat_map(products));
    all.extend(edges());
    all.extend(of_runs());
    all.extend(readers());
    all
}

/// What codes may be.
const CODES: [Encoding; 9] = [
    Encoding::Plain(DType::I8),
    Encoding::Plain(DType::U8),
    Encoding::Plain(DType::I16),
    Encoding::Plain(DType::I32),
    Encoding::Codes(Code::I4),
    Encoding::Codes(Code::U4),
    Encoding::Codes(Code::F8E4M3Fn),
    Encoding::Codes(Code::F8E5M2),
    Encoding::Codes(Code::F4E2M1),
];

/// Rows of the other operand.
const ROWS: [u64; 6] = [1, 2, 7, 16, 33, 257];

/// Codes of a shape with scales: what a sample is made of.
#[derive(Clone)]
struct Weight {
    codes: Encoding,
    shape: Vec<u64>,
    scales: Encoding,
    zero: bool,
    op: DequantizeLinear,
}

impl Weight {
    fn new(codes: Encoding, shape: &[u64], axis: i64, block_size: u64) -> Weight {
        let op = DequantizeLinear { axis, block_size, output_dtype: Some(DType::F32) };
        Weight { codes, shape: shape.to_vec(), scales: DType::F32.into(), zero: false, op }
    }

    /// Whether its codes may have zero points.
    fn may_have_zero(codes: Encoding) -> bool {
        match codes {
            Encoding::Codes(code) => code.is_int(),
            _ => codes != DType::I32,
        }
    }

    fn with_zero(self) -> Weight {
        Weight { zero: Weight::may_have_zero(self.codes), ..self }
    }

    fn scaled(self, scales: impl Into<Encoding>) -> Weight {
        Weight { scales: scales.into(), ..self }
    }

    fn giving(mut self, dtype: Option<DType>) -> Weight {
        self.op.output_dtype = dtype;
        self
    }

    /// Extents of the scales.
    fn scale_shape(&self) -> Vec<u64> {
        let axis = self.op.axis.rem_euclid(self.shape.len().max(1) as i64) as usize;
        match self.op.block_size {
            0 if self.op.axis == i64::MAX => Vec::new(),
            0 => vec![self.shape[axis]],
            block => {
                let mut shape = self.shape.clone();
                shape[axis] = shape[axis].div_ceil(block);
                shape
            }
        }
    }

    /// The values of params.
    fn values(&self, g: &GraphBuilder) -> Value {
        let shape = self.scale_shape();
        let whole = self.op.axis == i64::MAX;
        let q = g.param("q", tensor(self.codes, self.shape.iter().copied()));
        let scale = g.param("scale", tensor(self.scales, shape.iter().copied()));
        let zero = self.zero.then(|| g.param("zero", tensor(self.codes, shape.iter().copied())));
        let op = DequantizeLinear { axis: if whole { 1 } else { self.op.axis }, ..self.op.clone() };
        g.dequantize_linear(q, scale, zero, op)
    }

    fn label(&self) -> String {
        let Weight { codes, shape, scales, zero, op } = self;
        let dtype = op.output_dtype.map_or("default".to_owned(), |d| d.to_string());
        let zero = if *zero { " and zero points" } else { "" };
        format!("{codes} {shape:?} under {scales}{zero} along {} by {}, {dtype}", op.axis, op.block_size)
    }

    fn sample(&self, what: &str, build: impl FnOnce(&GraphBuilder, Value)) -> Sample {
        let sample = Sample::graph(&format!("{}{what}", self.label()), |g| build(g, self.values(g)));
        // Sums of many values stay small.
        sample.fill("scale", Fill::Uniform(-0.25, 0.25)).fill("q", Fill::Any).fill("zero", Fill::Any)
    }

    fn value(&self) -> Sample {
        self.sample("", |g, w| g.output("y", w))
    }
}

/// A scale for the whole tensor.
const WHOLE: i64 = i64::MAX;

fn of_codes(codes: Encoding) -> Vec<Sample> {
    let of = |shape: &[u64], axis, block| Weight::new(codes, shape, axis, block);
    let mut all = vec![
        of(&[3, 5], WHOLE, 0),
        of(&[2, 3, 5], WHOLE, 0).with_zero(),
        of(&[3, 5], 1, 0).with_zero(),
        of(&[7, 6], 0, 0),
        of(&[2, 3, 4], -2, 0).with_zero(),
        of(&[6, 64], 1, 32),
        of(&[6, 64], 1, 16).with_zero(),
        of(&[5, 21], 1, 8).with_zero(),
        of(&[21, 5], 0, 8).with_zero(),
        of(&[2, 9, 3], 1, 4).with_zero(),
        of(&[3, 7], -1, 100),
        of(&[3, 7], 1, 1),
        of(&[6, 64], 1, 32).scaled(DType::F16).with_zero(),
        of(&[6, 64], 1, 32).scaled(DType::BF16),
        of(&[6, 64], 1, 32).scaled(Code::F8E8M0).with_zero(),
        of(&[6, 64], 1, 32).scaled(DType::F16).giving(None),
        of(&[6, 66], 1, 0).scaled(DType::BF16).giving(None),
        of(&[6, 64], 1, 32).scaled(Code::F8E8M0).giving(None),
        of(&[6, 66], WHOLE, 0).giving(Some(DType::F16)),
        of(&[6, 66], WHOLE, 0).giving(Some(DType::BF16)).with_zero(),
    ];
    all.dedup_by_key(|w| w.label());
    let mut samples: Vec<Sample> = all.iter().map(Weight::value).collect();
    let any = of(&[16, 32], 1, 8).sample(" of any scales", |g, w| g.output("y", w));
    samples.push(any.fill("scale", Fill::Special).fill("q", Fill::Special));
    if codes.block().1 == 1 {
        let all = of(&[2, 256], WHOLE, 0).sample(" every code", |g, w| g.output("y", w));
        samples.push(all.fill("scale", Fill::Constant(1.0)).fill("q", Fill::Patterns));
    }
    samples
}

/// Products of every number of rows with weights \[n, k\] and \[k, n\].
fn products(codes: Encoding) -> Vec<Sample> {
    let mut all = Vec::new();
    for m in ROWS {
        let along_k = Weight::new(codes, &[68, 96], 1, 32);
        let along_k = if m % 2 == 0 { along_k.with_zero() } else { along_k };
        all.push(linear(&along_k, m));
        let across = Weight::new(codes, &[96, 68], 0, 32);
        all.push(matmul(&if m % 2 == 0 { across } else { across.with_zero() }, m));
    }
    for m in [1, 5, 40] {
        all.push(linear(&Weight::new(codes, &[36, 64], 0, 0).with_zero(), m));
        all.push(linear(&Weight::new(codes, &[37, 30], 1, 16).with_zero(), m));
        all.push(linear(&Weight::new(codes, &[36, 40], 1, 16).with_zero(), m));
        all.push(matmul(&Weight::new(codes, &[40, 36], 1, 0).with_zero(), m));
        all.push(matmul(&Weight::new(codes, &[30, 37], WHOLE, 0), m));
        all.push(linear(&Weight::new(codes, &[36, 64], 1, 16).scaled(Code::F8E8M0), m));
        all.push(linear(&Weight::new(codes, &[36, 64], 1, 16).scaled(DType::F16), m));
        all.push(linear(&Weight::new(codes, &[36, 64], 1, 16).scaled(DType::BF16), m));
    }
    all
}

/// x\[m, k\] · wᵀ for w \[n, k\].
fn linear(w: &Weight, m: u64) -> Sample {
    let k = w.shape[1];
    w.sample(&format!(", product of {m} rows"), |g, v| {
        g.output("y", g.linear(g.input("x", f32([m, k])), v, None));
    })
}

/// x\[m, k\] · w for w \[k, n\].
fn matmul(w: &Weight, m: u64) -> Sample {
    let k = w.shape[0];
    w.sample(&format!(", {m} rows by it"), |g, v| {
        g.output("y", g.matmul(g.input("x", f32([m, k])), v));
    })
}

/// Extents of 0 and 1, no axes, many elements.
fn edges() -> Vec<Sample> {
    let (i8, i4) = (Encoding::Plain(DType::I8), Encoding::Codes(Code::I4));
    let mut all: Vec<Sample> = [i8, i4]
        .into_iter()
        .flat_map(|codes| {
            let of = |shape: &[u64], axis, block| Weight::new(codes, shape, axis, block).value();
            [
                of(&[], WHOLE, 0),
                of(&[1], WHOLE, 0),
                of(&[1, 1], 1, 1),
                of(&[0, 4], 1, 0),
                of(&[4, 0], 0, 0),
                of(&[4, 0], 1, 2),
                of(&[1_025], 0, 3),
                of(&[2, 2, 1, 3, 1, 2, 1, 5], 3, 2),
                of(&[65_537, 3], 1, 0),
            ]
        })
        .collect();
    all.push(Weight::new(i4, &[70_000, 33], 1, 8).value());
    all
}

/// Codes that a run has: inputs, and results of steps.
fn of_runs() -> Vec<Sample> {
    let dtypes = [DType::I8, DType::U8, DType::I16, DType::I32];
    let mut all: Vec<Sample> = dtypes
        .into_iter()
        .map(|d| {
            Sample::graph(&format!("an input {d}"), |g| {
                let q = g.input("q", tensor(d, [3u64, 8]));
                let scale = g.input("scale", f32([8]));
                let zero = (d != DType::I32).then(|| g.input("zero", tensor(d, [8u64])));
                g.output("y", g.dequantize_linear(q, scale, zero, DequantizeLinear::default()));
            })
            .fill("q", Fill::Any)
            .fill("zero", Fill::Any)
        })
        .collect();
    all.push(Sample::graph("codes that a step makes", |g| {
        let q = g.cast(g.input("x", f32([4, 6])), DType::I8);
        let scale = g.abs(g.input("scale", f32([4, 3])));
        let op = DequantizeLinear { block_size: 2, ..DequantizeLinear::default() };
        g.output("y", g.dequantize_linear(q, scale, None, op));
    }));
    all.extend([1, 5].map(|n| {
        Sample::graph(&format!("symbolic rows, {n}"), |g| {
            let q = g.input("q", tensor(DType::I8, [sym("n", 1..=9), 8.into()]));
            let (scale, zero) = (g.param("scale", f32([8])), g.param("zero", tensor(DType::I8, [8u64])));
            let op = DequantizeLinear { axis: -1, ..DequantizeLinear::default() };
            g.output("y", g.dequantize_linear(q, scale, Some(zero), op));
        })
        .fill("q", Fill::Any)
        .fill("zero", Fill::Any)
        .bind("n", n)
    }));
    all
}

/// Whoever reads the values: rows by index, sums, views, several products, scales that are codes.
fn readers() -> Vec<Sample> {
    let mut all = Vec::new();
    for codes in [Encoding::Plain(DType::I8), Encoding::Codes(Code::I4), Encoding::Codes(Code::F8E4M3Fn)] {
        let w = Weight::new(codes, &[7, 64], 1, 32).with_zero();
        all.extend(gathers(&w));
        all.push(w.sample(", in a sum", |g, v| g.output("y", g.add(v, g.input("x", f32([7, 64]))))));
        all.push(w.sample(", transposed", |g, v| g.output("y", g.transpose(v, &[1, 0]))));
        all.push(w.sample(", cut", |g, v| g.output("y", g.narrow(v, 1, 3u64, 37u64))));
        all.push(w.sample(", a left operand", |g, v| {
            g.output("y", g.matmul(v, g.input("x", f32([64, 3]))));
        }));
        all.push(w.sample(", some of its rows in a product", |g, v| {
            let some = g.narrow(v, 0, 2u64, 4u64);
            g.output("y", g.linear(g.input("x", f32([3, 64])), some, None));
        }));
        all.push(w.sample(", two products and a sum", |g, v| {
            let (x, z) = (g.input("x", f32([1, 64])), g.input("z", f32([20, 64])));
            g.output("a", g.linear(x, v, None));
            g.output("b", g.linear(z, v, Some(g.param("bias", f32([7])))));
            g.output("c", g.reduce_sum(v, &[1], false));
        }));
        all.push(w.sample(", beside another product of the same rows", |g, v| {
            let x = g.input("x", f32([3, 64]));
            g.output("a", g.linear(x, v, None));
            g.output("b", g.linear(x, g.param("w", f32([5, 64])), None));
        }));
        all.push(w.sample(", in batches", |g, v| {
            g.output("y", g.matmul(g.input("x", f32([2, 3, 7])), v));
        }));
        all.push(Weight::new(codes, &[3, 8, 16], 2, 8).sample(", a matrix for each batch", |g, v| {
            g.output("y", g.matmul(g.input("x", f32([3, 5, 8])), v));
        }));
    }
    all.push(Sample::graph("codes under scales that are codes under one", |g| {
        let scale = g.param("scale", tensor(Code::F8E4M3Fn, [20u64, 4]));
        let one = g.param("one", tensor::<u64>(DType::F32, []));
        let scale = g.dequantize_linear(scale, one, None, DequantizeLinear::default());
        let q = g.param("q", tensor(Code::F4E2M1, [20u64, 64]));
        let op = DequantizeLinear { block_size: 16, ..DequantizeLinear::default() };
        let w = g.dequantize_linear(q, scale, None, op);
        g.output("y", g.linear(g.input("x", f32([3, 64])), w, None));
    }));
    all.push(Sample::graph("codes under two scales", |g| {
        let q = g.param("q", tensor(Code::U4, [8u64, 16]));
        let of = |name: &str| {
            let scale = g.param(name, f32([8, 2]));
            let op = DequantizeLinear { block_size: 8, ..DequantizeLinear::default() };
            g.dequantize_linear(q, scale, None, op)
        };
        let x = g.input("x", f32([2, 16]));
        g.output("y", g.linear(x, of("s"), None));
        g.output("z", g.linear(x, of("t"), None));
    }));
    all
}

/// Rows by indices that are inside, and by some that are not.
fn gathers(w: &Weight) -> [Sample; 2] {
    let rows = w.sample(", rows by index", |g, v| {
        g.output("y", g.embedding(v, g.input("ids", i32([2, 3]))));
    });
    let outside = w.sample(", rows by a bad index", |g, v| {
        g.output("y", g.embedding(v, g.input("ids", i32([3]))));
    });
    [rows.fill("ids", Fill::Range(-7, 7)), outside.fill("ids", Fill::Ints(vec![6, 7, -8])).expect_status()]
}
