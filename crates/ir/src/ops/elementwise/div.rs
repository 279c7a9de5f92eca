//! `Div`: the quotient.

use crate::ops::ScalarCx;
use crate::ops::elementwise::binary;
use crate::ops::elementwise::samples::{Fills, binary_case};
use crate::ops::{NodeCx, Simpler};
use crate::sample::{Fill, Sample};
use pumice_types::DType;
use pumice_types::scalar::Reg;

binary! {
    /// y = a/b with NumPy broadcasting (ONNX Div): two tensors of one dtype → that dtype. Integers truncate toward zero,
    /// x/0 is 0 with the status INT_DIV_ZERO, INT_MIN/−1 is INT_MIN.
    Div div, NUMERIC, |b, x, y| b.div(x, y), division_fills(), also || division_samples(|g, x, y| g.div(x, y)),
    duties {
        fn zero_divisor(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
            zero_divisor(cx)
        }

        /// x / 1 == x.
        fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
            cx.before_neutral(|v| cx.is_all(v, 1.0))
        }
    }
}

/// Whether the second operand is the integer 0.
pub(crate) fn zero_divisor(cx: &ScalarCx<'_>) -> Option<Reg> {
    let divisor = cx.arg(1).filter(|_| cx.out.is_int())?;
    Some(cx.b.eq(divisor, cx.b.number(divisor.ty(), 0)))
}

/// Integer divisors without zeros; float ones with everything.
pub(crate) fn division_fills() -> Fills {
    Fills {
        a: Fill::Special,
        b: Fill::Special,
        b_int: Fill::Ints(vec![1, -1, 3, 7, -2, 100, 5, -13, 127, 2]),
    }
}

/// Samples of integer division: all pairs of signs, INT_MIN/−1, and zeros, which must be reported.
pub(crate) fn division_samples(
    apply: impl Fn(&crate::GraphBuilder, crate::Value, crate::Value) -> crate::Value,
) -> Vec<Sample> {
    let case = |label: String, d: DType, a: &[i64], b: &[i64]| {
        let fill = |v: &[i64]| Fill::Ints(v.to_vec());
        let fills = Fills { a: fill(a), b: fill(b), b_int: fill(b) };
        binary_case(&label, (d, &[a.len() as u64]), (d, &[b.len() as u64]), &fills, &apply)
    };
    let min = |d: DType| if d.is_signed() { i64::MIN >> (64 - d.bits()) } else { 0 };
    let mut samples = Vec::new();
    for d in crate::ops::elementwise::INTS.iter().copied() {
        let m = min(d);
        samples.push(case(
            format!("signs {d}"),
            d,
            &[7, -7, 7, -7, m, m, 0, 6],
            &[2, 2, -2, -2, -1, 1, 5, -3],
        ));
        samples
            .push(case(format!("zero divisors {d}"), d, &[7, 0, -7, m, 9], &[0, 0, 3, 0, 2]).expect_status());
    }
    samples.push(case(
        "float signs".into(),
        DType::F32,
        &[7, -7, 7, -7, 0, 6, -6],
        &[2, 2, -2, -2, 5, -3, 3],
    ));
    samples
}
