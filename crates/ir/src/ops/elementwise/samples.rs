//! Samples of elementwise ops (OPS E0): every size, dtype and bit pattern, ranks 0 to 8, broadcasting on every side,
//! transposed and sliced operands, symbolic extents at every fill.

use crate::builder::{GraphBuilder, Value};
use crate::ops::Op;
use crate::sample::{Fill, Sample};
use crate::shape::{sym, tensor};
use pumice_types::DType;

/// The working-axis sizes of OPS E0.
pub const E0_SIZES: &[u64] = &[0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025];

/// Rank 8 without an axis to merge away.
const RANK_8: &[u64] = &[1, 2, 1, 3, 2, 1, 2, 2];

type Unary<'a> = &'a dyn Fn(&GraphBuilder, Value) -> Value;

/// One sample of a unary op on an input of that type.
pub fn unary_case(label: &str, dtype: DType, shape: &[u64], fill: &Fill, apply: Unary<'_>) -> Sample {
    Sample::graph(label, |g| {
        let x = g.input("x", tensor(dtype, shape.iter().copied()));
        g.output("y", apply(g, x));
    })
    .fill("x", fill.clone())
}

/// Samples of a unary op.
pub fn unary_samples(
    dtypes: &[DType],
    fill: Fill,
    apply: impl Fn(&GraphBuilder, Value) -> Value,
) -> Vec<Sample> {
    let first = dtypes[0];
    let case = |label: String, dtype, shape: &[u64]| unary_case(&label, dtype, shape, &fill, &apply);
    let mut samples: Vec<Sample> =
        E0_SIZES.iter().map(|&n| case(format!("{first} [{n}]"), first, &[n])).collect();
    samples.extend(dtypes.iter().map(|&d| case(format!("{d} [7, 37]"), d, &[7, 37])));
    samples.push(case("rank 0".into(), first, &[]));
    samples.push(case("rank 8".into(), first, RANK_8));
    let transposed = |g: &GraphBuilder, x: Value| apply(g, g.transpose(x, &[1, 0]));
    samples.push(unary_case("transposed", first, &[13, 17], &fill, &transposed));
    let sliced = |g: &GraphBuilder, x: Value| apply(g, g.slice(x, &[2, 1], &[11, 18], &[], &[2, 1]));
    samples.push(unary_case("sliced", first, &[12, 19], &fill, &sliced));
    for &d in dtypes.iter().filter(|d| d.is_float() || d.natural_bytes() <= 2) {
        let n = if d.natural_bytes() == 1 { 256 } else { 65_536 };
        samples.push(unary_case(&format!("{d} bit patterns"), d, &[n], &Fill::Patterns, &apply));
    }
    samples.extend(symbolic(first, &fill, &apply));
    samples
}

/// An op over n rows, n bound to none, one, some and all.
fn symbolic(dtype: DType, fill: &Fill, apply: Unary<'_>) -> impl Iterator<Item = Sample> {
    let build = move |n: u64| {
        Sample::graph(&format!("symbolic rows, {n} of 70"), |g| {
            let x = g.input("x", tensor(dtype, [sym("n", 0..=70), 5.into()]));
            g.output("y", apply(g, x));
        })
        .fill("x", fill.clone())
        .bind("n", n)
    };
    [0, 1, 33, 70].map(build).into_iter()
}

/// Samples of a unary op with attributes: everything for the first setting, one float and one 16-bit sample for the
/// others.
pub fn setting_samples(dtypes: &[DType], fill: Fill, settings: &[Op]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (i, op) in settings.iter().enumerate() {
        let apply = |g: &GraphBuilder, x: Value| g.apply(op.clone(), &[x]);
        if i == 0 {
            samples.extend(unary_samples(dtypes, fill.clone(), apply));
        }
        let some: Vec<DType> = dtypes.iter().copied().take(2).collect();
        samples
            .extend(some.into_iter().map(|d| unary_case(&format!("{op:?} {d}"), d, &[1031], &fill, &apply)));
    }
    samples
}

/// How the operands of a binary op are filled.
#[derive(Clone, Debug)]
pub struct Fills {
    /// The first operand.
    pub a: Fill,
    /// The second operand where it is a float.
    pub b: Fill,
    /// The second operand where it is an integer or Bool.
    pub b_int: Fill,
}

impl From<Fill> for Fills {
    fn from(fill: Fill) -> Fills {
        Fills { a: fill.clone(), b: fill.clone(), b_int: fill }
    }
}

impl Fills {
    /// The second operand's fill for a dtype.
    pub fn second(&self, dtype: DType) -> Fill {
        if dtype.is_float() { self.b.clone() } else { self.b_int.clone() }
    }
}

/// Pairs of shapes that broadcast, on every side and in the middle.
pub const BROADCASTS: &[(&[u64], &[u64])] = &[
    (&[], &[]),
    (&[5], &[]),
    (&[], &[5]),
    (&[3, 5], &[5]),
    (&[5], &[3, 5]),
    (&[3, 5], &[3, 1]),
    (&[3, 1], &[1, 5]),
    (&[2, 3, 4, 5], &[3, 1, 5]),
    (&[2, 1, 4, 1], &[1, 3, 1, 5]),
    (&[4, 1, 3], &[4, 0, 3]),
    (&[64, 33], &[64, 1]),
    (&[2, 3, 64], &[64]),
    (RANK_8, &[2, 1, 2, 1]),
    (RANK_8, RANK_8),
];

type Binary<'a> = &'a dyn Fn(&GraphBuilder, Value, Value) -> Value;

/// One sample of a binary op on inputs of those types.
pub fn binary_case(
    label: &str,
    (da, a): (DType, &[u64]),
    (db, b): (DType, &[u64]),
    fills: &Fills,
    apply: Binary<'_>,
) -> Sample {
    Sample::graph(label, |g| {
        let x = g.input("a", tensor(da, a.iter().copied()));
        let y = g.input("b", tensor(db, b.iter().copied()));
        g.output("y", apply(g, x, y));
    })
    .fill("a", fills.a.clone())
    .fill("b", fills.second(db))
}

/// Samples of a binary op whose operands have one dtype.
pub fn binary_samples(
    dtypes: &[DType],
    fills: Fills,
    apply: impl Fn(&GraphBuilder, Value, Value) -> Value,
) -> Vec<Sample> {
    let case =
        |label: String, d: DType, a: &[u64], b: &[u64]| binary_case(&label, (d, a), (d, b), &fills, &apply);
    let first = dtypes[0];
    let mut samples: Vec<Sample> =
        E0_SIZES.iter().map(|&n| case(format!("{first} [{n}]"), first, &[n], &[n])).collect();
    samples.extend(dtypes.iter().map(|&d| case(format!("{d} [7, 37]"), d, &[7, 37], &[7, 37])));
    samples.extend(dtypes.iter().map(|&d| case(format!("{d} [7, 37] with [37]"), d, &[7, 37], &[37])));
    samples.extend(BROADCASTS.iter().map(|(a, b)| case(format!("{first} {a:?} with {b:?}"), first, a, b)));
    let transposed = |g: &GraphBuilder, x: Value, y: Value| apply(g, g.transpose(x, &[1, 0]), y);
    samples.push(binary_case("transposed", (first, &[13, 17]), (first, &[17, 13]), &fills, &transposed));
    samples.push(binary_case(
        "transposed tiles",
        (first, &[67, 33]),
        (first, &[33, 67]),
        &fills,
        &transposed,
    ));
    let sliced = |g: &GraphBuilder, x: Value, y: Value| apply(g, x, g.slice(y, &[1, 2], &[8, 15], &[], &[]));
    samples.push(binary_case("sliced", (first, &[7, 13]), (first, &[9, 16]), &fills, &sliced));
    samples.push(unary_case("both operands the same", first, &[259], &fills.a, &|g, x| apply(g, x, x)));
    for &d in dtypes.iter().filter(|d| d.is_float() && d.natural_bytes() == 2) {
        let patterns = Fills { a: Fill::Patterns, ..fills.clone() };
        samples.push(binary_case(
            &format!("{d} bit patterns"),
            (d, &[65_536]),
            (d, &[65_536]),
            &patterns,
            &apply,
        ));
    }
    samples.extend([0, 1, 33, 70].map(|n| {
        Sample::graph(&format!("symbolic rows and a broadcast one, {n} of 70"), |g| {
            let x = g.input("a", tensor(first, [sym("n", 0..=70), 5.into()]));
            let y = g.input("b", tensor(first, [5u64]));
            g.output("y", apply(g, x, y));
        })
        .fill("a", fills.a.clone())
        .fill("b", fills.second(first))
        .bind("n", n)
    }));
    samples
}

/// Samples of an op over any number of operands.
pub fn variadic_samples(
    dtypes: &[DType],
    fill: Fill,
    apply: impl Fn(&GraphBuilder, &[Value]) -> Value,
) -> Vec<Sample> {
    let many = |label: String, dtype: DType, shapes: &[&[u64]]| {
        let names: Vec<String> = (0..shapes.len()).map(|i| format!("x{i}")).collect();
        let sample = Sample::graph(&label, |g| {
            let xs: Vec<Value> =
                names.iter().zip(shapes).map(|(n, s)| g.input(n, tensor(dtype, s.iter().copied()))).collect();
            g.output("y", apply(g, &xs));
        });
        names.iter().fold(sample, |s, n| s.fill(n, fill.clone()))
    };
    let first = dtypes[0];
    let mut samples = unary_samples(&dtypes[..1], fill.clone(), |g, x| apply(g, &[x]));
    let two = binary_samples(dtypes, fill.clone().into(), |g, x, y| apply(g, &[x, y]));
    samples.extend(two.into_iter().map(|s| Sample { label: format!("two: {}", s.label), ..s }));
    samples.push(many("three, broadcast".into(), first, &[&[2, 1, 5], &[3, 1], &[]]));
    samples.push(many("three, growing".into(), first, &[&[], &[33], &[7, 1]]));
    samples.push(many("nine".into(), first, &[&[65][..]; 9]));
    samples.extend(dtypes.iter().map(|&d| many(format!("four {d}"), d, &[&[67], &[67], &[1], &[67]])));
    samples
}

/// Further samples of comparisons: ties, and 64-bit integers that differ only above 2²⁴ and 2³².
pub fn compare_more(apply: impl Fn(&GraphBuilder, Value, Value) -> Value) -> Vec<Sample> {
    let ints = |label: &str, dtype, a: &[i64], b: &[i64]| {
        let fills =
            Fills { a: Fill::Ints(a.to_vec()), b: Fill::Ints(b.to_vec()), b_int: Fill::Ints(b.to_vec()) };
        binary_case(label, (dtype, &[a.len() as u64]), (dtype, &[b.len() as u64]), &fills, &apply)
    };
    let (m, n) = (1i64 << 24, 1i64 << 32);
    let a = [m, m + 1, n, n + 1, n, i64::MIN, i64::MAX, -1, 7 * n, 0];
    let b = [m + 1, m, n + 1, n, n, i64::MAX, i64::MIN, 1, 8 * n, n];
    let floats = |label: &str, a: &[f64], b: &[f64]| {
        let fills = Fills { a: Fill::Floats(a.to_vec()), b: Fill::Floats(b.to_vec()), b_int: Fill::Any };
        binary_case(label, (DType::F32, &[a.len() as u64]), (DType::F32, &[b.len() as u64]), &fills, &apply)
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let ties = Fills::from(Fill::Range(-2, 3));
    let tie = |d: DType| binary_case(&format!("ties {d}"), (d, &[129]), (d, &[129]), &ties, &apply);
    let mut samples = vec![
        ints("i64 beyond 2^24 and 2^32", DType::I64, &a, &b),
        ints("u64 beyond 2^63", DType::U64, &[-1, i64::MIN, 5], &[1, i64::MAX, 5]),
        ints("u32 beyond 2^31", DType::U32, &[-1, 1 << 31, 5], &[1, (1 << 31) - 1, 5]),
        floats(
            "NaN, zeros and infinities",
            &[nan, nan, 1.0, 0.0, -0.0, inf, -inf, inf],
            &[nan, 1.0, nan, -0.0, 0.0, inf, inf, nan],
        ),
    ];
    samples.extend([DType::F32, DType::BF16, DType::I32, DType::I64].map(tie));
    samples
}
