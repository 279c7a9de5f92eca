//! Values known without the evaluator: from the formula by hand, from tables, or from a property.

mod known;

use known::{floats as f, run};
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::bit_shift::ShiftDirection;
use pumice_ir::ops::fft::FftNorm;
use pumice_ir::ops::glu::{GluAct, GluPacking};
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::source::RandomSource;
use pumice_ir::ops::{ArgMax, Attention, Dropout, Fft, Glu, Mod, RmsNorm, Rotary};
use pumice_ir::{GraphBuilder, Value};
use pumice_types::{DType, Tensor};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn ints(g: &GraphBuilder, values: &[i32], shape: &[u64]) -> Value {
    g.constant(Tensor::new(values, shape).expect("lengths agree"))
}

#[track_caller]
fn close(got: &[f64], want: &[f64]) {
    let near =
        |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-6 * b.abs().max(1e-3);
    let same = got.len() == want.len() && got.iter().zip(want).all(|(&a, &b)| near(a, b));
    assert!(same, "got {got:?}, want {want:?}");
}

fn unary(x: &[f64], op: impl FnOnce(&GraphBuilder, Value) -> Value) -> Vec<f64> {
    run(|g| op(g, f(g, x, &[x.len() as u64]))).1
}

#[test]
fn transcendental_functions() {
    close(&unary(&[0.0, 1.0, -INF, 100.0], |g, x| g.exp(x)), &[1.0, std::f64::consts::E, 0.0, INF]);
    close(&unary(&[1.0, 0.0, -1.0], |g, x| g.log(x)), &[0.0, -INF, NAN]);
    close(&unary(&[8.0, 0.125], |g, x| g.log2(x)), &[3.0, -3.0]);
    close(&unary(&[1e-4], |g, x| g.expm1(x)), &[1.000_050_001_7e-4]);
    close(&unary(&[0.0, 1.0, -1.0, INF], |g, x| g.erf(x)), &[0.0, 0.842_700_79, -0.842_700_79, 1.0]);
    close(&unary(&[0.5, 2.0], |g, x| g.asin(x)), &[std::f64::consts::FRAC_PI_6, NAN]);
    close(&unary(&[1.0, -1.0, 0.5], |g, x| g.atanh(x)), &[INF, -INF, 0.549_306_14]);
    close(&unary(&[INF, -INF, 0.0], |g, x| g.tanh(x)), &[1.0, -1.0, 0.0]);
    close(&unary(&[4.0, 0.0, -1.0], |g, x| g.rsqrt(x)), &[0.5, INF, NAN]);
    close(&unary(&[INF], |g, x| g.sin(x)), &[NAN]);
}

#[test]
fn rounding_and_signs() {
    let x = [0.5, 1.5, 2.5, -0.5, -1.5, 8_388_609.0];
    close(&unary(&x, |g, x| g.round(x)), &[0.0, 2.0, 2.0, 0.0, -2.0, 8_388_609.0]);
    let zeros = unary(&[-0.0, -0.4], |g, x| g.ceil(x));
    assert!(zeros.iter().all(|v| *v == 0.0 && v.is_sign_negative()), "{zeros:?}");
    close(&unary(&[NAN, -0.0, -3.0], |g, x| g.sign(x)), &[NAN, 0.0, -1.0]);
    let min = run(|g| g.abs(ints(g, &[i32::MIN, -5], &[2]))).1;
    close(&min, &[f64::from(i32::MIN), 5.0]);
}

#[test]
fn activations() {
    let x = [-1.0, 0.0, 2.0];
    close(&unary(&x, |g, x| g.sigmoid(x)), &[0.268_941_42, 0.5, 0.880_797_08]);
    close(&unary(&x, |g, x| g.gelu(x)), &[-0.158_655_25, 0.0, 1.954_499_7]);
    close(&unary(&x, |g, x| g.gelu_tanh(x)), &[-0.158_808_01, 0.0, 1.954_597_7]);
    close(&unary(&x, |g, x| g.silu(x)), &[-0.268_941_42, 0.0, 1.761_594_2]);
    close(&unary(&x, |g, x| g.elu(x, 0.5)), &[-0.316_060_28, 0.0, 2.0]);
    close(&unary(&[-1.0], |g, x| g.celu(x, 0.5)), &[0.5 * (-2f64).exp_m1()]);
    close(&unary(&x, |g, x| g.softplus(x)), &[0.313_261_69, 2f64.ln(), 2.126_928]);
    close(&unary(&[1.0], |g, x| g.mish(x)), &[0.865_098_39]);
    close(&unary(&[-INF, NAN], |g, x| g.gelu(x)), &[NAN, NAN]);
    close(&unary(&[NAN, -2.0], |g, x| g.relu(x)), &[NAN, 0.0]);
    close(&unary(&[-1.0, 0.2, 0.7], |g, x| g.shrink(x, 0.5, 0.1)), &[-0.9, 0.0, 0.6]);
    // The two formulas differ by 4.7e-4 near 2.7.
    let (exact, tanh) = (unary(&[2.7], |g, x| g.gelu(x))[0], unary(&[2.7], |g, x| g.gelu_tanh(x))[0]);
    assert!((1e-5..5e-4).contains(&(exact - tanh).abs()), "{exact} {tanh}");
}

#[test]
fn arithmetic_with_two_operands() {
    let pair = |a: &[i32], b: &[i32], op: &dyn Fn(&GraphBuilder, Value, Value) -> Value| {
        run(|g| op(g, ints(g, a, &[a.len() as u64]), ints(g, b, &[b.len() as u64]))).1
    };
    let (a, b) = (&[7, -7, 7, -7, i32::MIN], &[2, 2, -2, -2, -1]);
    close(&pair(a, b, &|g, x, y| g.div(x, y)), &[3.0, -3.0, -3.0, 3.0, f64::from(i32::MIN)]);
    close(&pair(a, b, &|g, x, y| g.modulo(x, y, false)), &[1.0, 1.0, -1.0, -1.0, 0.0]);
    close(&pair(a, b, &|g, x, y| g.modulo(x, y, true)), &[1.0, -1.0, 1.0, -1.0, 0.0]);
    close(&pair(&[2, -3, 1, 0], &[10, 3, -5, -1], &|g, x, y| g.pow(x, y)), &[1024.0, -27.0, 1.0, 0.0]);
    let shift = |d| pair(&[-8, -8, 5, 5, 5], &[1, 40, 31, 32, -1], &move |g, x, y| g.bit_shift(x, y, d));
    close(&shift(ShiftDirection::Right), &[-4.0, -1.0, 0.0, 0.0, 0.0]);
    close(&shift(ShiftDirection::Left), &[-16.0, 0.0, f64::from(i32::MIN), 0.0, 0.0]);
    let floats = |a: &[f64], b: &[f64], op: &dyn Fn(&GraphBuilder, Value, Value) -> Value| {
        run(|g| op(g, f(g, a, &[a.len() as u64]), f(g, b, &[b.len() as u64]))).1
    };
    close(
        &floats(&[-8.0, -8.0, 0.0, 1.0, NAN], &[3.0, 0.5, -1.0, NAN, 0.0], &|g, x, y| g.pow(x, y)),
        &[-512.0, NAN, INF, 1.0, 1.0],
    );
    close(
        &floats(&[5.0, -5.0, INF, 3.0, -3.0], &[3.0, 3.0, 2.0, INF, INF], &|g, x, y| {
            g.apply(Mod { fmod: false }, &[x, y])
        }),
        &[2.0, 1.0, NAN, 3.0, INF],
    );
    close(&floats(&[1.0, NAN], &[NAN, 2.0], &|g, x, y| g.max(&[x, y])), &[NAN, NAN]);
    close(&floats(&[1.0, NAN, 0.0], &[NAN, NAN, -0.0], &|g, x, y| g.not_equal(x, y)), &[1.0, 1.0, 0.0]);
}

#[test]
fn casts_convert_and_saturate() {
    let x = [2.7, -2.7, 1e20, -1e20, NAN, INF];
    close(
        &unary(&x, |g, x| g.cast(x, DType::I32)),
        &[2.0, -2.0, 2_147_483_647.0, -2_147_483_648.0, 0.0, 2_147_483_647.0],
    );
    close(&unary(&x, |g, x| g.cast(x, DType::U8)), &[2.0, 0.0, 255.0, 0.0, 0.0, 255.0]);
    close(&unary(&[65519.0, 65520.0, 1e-8], |g, x| g.cast(x, DType::F16)), &[65504.0, INF, 0.0]);
    close(&unary(&[NAN, 0.0, -0.5], |g, x| g.cast(x, DType::Bool)), &[1.0, 0.0, 1.0]);
    close(&run(|g| g.cast(ints(g, &[300, -1, (1 << 24) + 1], &[3]), DType::I8)).1, &[44.0, -1.0, 1.0]);
    close(&run(|g| g.cast(ints(g, &[(1 << 24) + 1], &[1]), DType::F32)).1, &[16_777_216.0]);
    close(
        &unary(&[1.0, -2.0], |g, x| g.bit_cast(x, DType::I32)),
        &[f64::from(0x3f80_0000), -1_073_741_824.0],
    );
}

#[test]
fn selection_and_gates() {
    let y = run(|g| {
        let c = g.constant(Tensor::bools(&[true, false], &[2]).expect("two"));
        g.select(c, f(g, &[1.0, NAN], &[2]), f(g, &[NAN, 2.0], &[2]))
    });
    close(&y.1, &[1.0, 2.0]);
    close(&unary(&[-5.0, 0.5, 9.0, NAN], |g, x| g.clip(x, Some(2.0), Some(1.0))), &[1.0, 1.0, 1.0, NAN]);
    let packed = |p| run(|g| g.glu_packed(f(g, &[1.0, 2.0, 3.0, 4.0], &[1, 4]), GluAct::Relu, p, -1)).1;
    close(&packed(GluPacking::Concat), &[3.0, 8.0]);
    close(&packed(GluPacking::Interleaved), &[2.0, 12.0]);
    let oai = Glu { oai: true, alpha: 1.0, limit: Some(1.0), ..Glu::default() };
    let y = run(|g| g.apply(oai, &[f(g, &[5.0], &[1]), f(g, &[-7.0], &[1])])).1;
    close(&y, &[0.0]);
}

#[test]
fn movement() {
    let six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let on = |op: &dyn Fn(&GraphBuilder, Value) -> Value| run(|g| op(g, f(g, &six, &[2, 3])));
    assert_eq!(on(&|g, x| g.transpose(x, &[])), (vec![3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(
        on(&|g, x| g.slice(x, &[-1], &[i64::MIN], &[1], &[-2])),
        (vec![2, 2], vec![3.0, 1.0, 6.0, 4.0])
    );
    assert_eq!(
        on(&|g, x| g.concat(&[x, x], 1)).1,
        [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0]
    );
    assert_eq!(on(&|g, x| g.split_equal(x, 1, 2)[1]), (vec![2, 1], vec![3.0, 6.0]));
    assert_eq!(on(&|g, x| g.gather(x, ints(g, &[-1, 0], &[2]), 1)).1, [3.0, 1.0, 6.0, 4.0]);
    assert_eq!(on(&|g, x| g.gather(x, ints(g, &[1], &[]), 0)), (vec![3], vec![4.0, 5.0, 6.0]));
    assert_eq!(on(&|g, x| g.gather_elements(x, ints(g, &[2, -3], &[2, 1]), 1)), (vec![2, 1], vec![3.0, 4.0]));
    assert_eq!(on(&|g, x| g.gather_nd(x, ints(g, &[1, 2, 0, -2], &[2, 2]), 0)), (vec![2], vec![6.0, 2.0]));
    assert_eq!(on(&|g, x| g.gather_nd(x, ints(g, &[2, -3], &[2, 1]), 1)), (vec![2], vec![3.0, 4.0]));
    let updates = |g: &GraphBuilder| f(g, &[7.0, 8.0, 9.0], &[1, 3]);
    let scattered = |r| on(&|g, x| g.scatter_elements(x, ints(g, &[1, -1, -1], &[1, 3]), updates(g), 1, r)).1;
    assert_eq!(scattered(ScatterReduction::Set), [1.0, 7.0, 9.0, 4.0, 5.0, 6.0]);
    assert_eq!(scattered(ScatterReduction::Add), [1.0, 9.0, 20.0, 4.0, 5.0, 6.0]);
    assert_eq!(scattered(ScatterReduction::Mul), [1.0, 14.0, 216.0, 4.0, 5.0, 6.0]);
    let rows = |r| on(&|g, x| g.scatter_nd(x, ints(g, &[1], &[1, 1]), updates(g), r)).1;
    assert_eq!(rows(ScatterReduction::Max), [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
    assert_eq!(rows(ScatterReduction::Min), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(on(&|g, x| g.expand(g.slice(x, &[0], &[1], &[1], &[]), &[2, 2])).1, [1.0, 1.0, 4.0, 4.0]);
    assert_eq!(on(&|g, x| g.flatten(x, 0)).0, [1, 6]);
    assert_eq!(on(&|g, x| g.squeeze(g.unsqueeze(x, &[0, -1]), &[])).0, [2, 3]);
}

#[test]
fn reductions() {
    let six = [1.0, -2.0, 3.0, 4.0, NAN, 6.0];
    let on = |op: &dyn Fn(&GraphBuilder, Value) -> Value| run(|g| op(g, f(g, &six, &[2, 3]))).1;
    close(&on(&|g, x| g.reduce_sum(x, &[1], false)), &[2.0, NAN]);
    close(&on(&|g, x| g.reduce_max(x, &[0], false)), &[4.0, NAN, 6.0]);
    close(&on(&|g, x| g.arg_max(x, 1, false)), &[2.0, 1.0]);
    close(&on(&|g, x| g.arg_max(x, 0, false)), &[1.0, 1.0, 1.0]);
    let least = |values: &[i32]| run(|g| g.arg_min(ints(g, values, &[values.len() as u64]), 0, false)).1;
    close(&least(&[5, i32::MIN, i32::MAX, i32::MIN]), &[1.0]);
    close(&unary(&[2.0, -0.0, 0.0], |g, x| g.arg_min(x, 0, false)), &[1.0]);
    close(&unary(&[-INF, 1.0, NAN, NAN], |g, x| g.arg_min(x, 0, true)), &[2.0]);
    let last = ArgMax { axis: 0, keepdims: false, select_last_index: true, index_dtype: DType::I32 };
    close(&run(|g| g.apply(last, &[f(g, &[1.0, 7.0, 7.0], &[3])])).1, &[2.0]);
    let empty = |op: &dyn Fn(&GraphBuilder, Value) -> Value| run(|g| op(g, f(g, &[], &[1, 0]))).1;
    close(&empty(&|g, x| g.reduce_sum(x, &[1], false)), &[0.0]);
    close(&empty(&|g, x| g.reduce_mean(x, &[1], false)), &[NAN]);
    close(&empty(&|g, x| g.reduce_max(x, &[1], false)), &[-INF]);
    close(&empty(&|g, x| g.reduce_min(x, &[1], false)), &[INF]);
    close(&empty(&|g, x| g.reduce_prod(x, &[1], false)), &[1.0]);
    close(&run(|g| g.reduce_mean(ints(g, &[-7, 0], &[2]), &[], false)).1, &[-3.0]);
}

#[test]
fn products_and_norms() {
    let y = run(|g| g.matmul(f(g, &[1.0, 2.0, 3.0, 4.0], &[2, 2]), f(g, &[1.0, -1.0], &[2]))).1;
    close(&y, &[-1.0, -1.0]);
    assert_eq!(run(|g| g.matmul(f(g, &[], &[2, 0]), f(g, &[], &[0, 1]))), (vec![2, 1], vec![0.0, 0.0]));
    let w = [1.0, 0.0, 2.0, -1.0];
    close(
        &run(|g| g.linear(f(g, &[3.0, 4.0], &[1, 2]), f(g, &w, &[2, 2]), Some(f(g, &[10.0, 20.0], &[2])))).1,
        &[13.0, 22.0],
    );
    let norm =
        run(|g| g.layer_norm(f(g, &[1.0, 3.0], &[2]), f(g, &[2.0], &[1]), Some(f(g, &[0.5], &[1])), 0.0)).1;
    close(&norm, &[-1.5, 2.5]);
    let rms = RmsNorm { epsilon: 0.0, weight_offset: 1.0, ..RmsNorm::default() };
    close(&run(|g| g.apply(rms, &[f(g, &[3.0, -3.0], &[2]), f(g, &[0.0, 1.0], &[2])])).1, &[1.0, -2.0]);
    close(&unary(&[0.0, 3f64.ln()], |g, x| g.softmax(x, 0)), &[0.25, 0.75]);
    close(&unary(&[0.0, 3f64.ln()], |g, x| g.log_softmax(x, 0)), &[0.25f64.ln(), 0.75f64.ln()]);
    close(&unary(&[-INF, -INF], |g, x| g.softmax(x, 0)), &[NAN, NAN]);
}

/// With q = 0 all allowed keys weigh the same, so the result is the mean of their values.
#[test]
fn attention_averages_the_allowed_keys() {
    let values = [1.0, 2.0, 4.0, 8.0];
    let mean = |op: Attention, rows: u64, mask: Option<&[bool]>, len: Option<i32>| {
        run(|g| {
            let q = f(g, &vec![0.0; rows as usize], &[1, 1, rows, 1]);
            let k = f(g, &[1.0; 4], &[1, 1, 4, 1]);
            let v = f(g, &values, &[1, 1, 4, 1]);
            let mask = mask.map(|m| g.constant(Tensor::bools(m, &[rows, 4]).expect("lengths agree")));
            g.attention(q, k, v, mask, len.map(|l| ints(g, &[l], &[])), op)
        })
        .1
    };
    let op = Attention::default();
    let causal = Attention { causal: true, ..op.clone() };
    close(&mean(op.clone(), 1, None, None), &[3.75]);
    close(&mean(causal.clone(), 4, None, None), &[1.0, 1.5, 7.0 / 3.0, 3.75]);
    close(&mean(causal.clone(), 2, None, Some(3)), &[1.5, 7.0 / 3.0]);
    close(&mean(Attention { left: 1, ..causal }, 4, None, None), &[1.0, 1.5, 3.0, 6.0]);
    close(&mean(op.clone(), 1, Some(&[false, true, true, false]), None), &[3.0]);
    close(&mean(op.clone(), 1, Some(&[false; 4]), None), &[0.0]);
    close(&mean(op, 1, None, Some(0)), &[0.0]);
}

#[test]
fn attention_groups_heads_and_scales() {
    // Query heads 0 and 1 use key head 0, heads 2 and 3 key head 1; scores are ln 3 and 0.
    let y = run(|g| {
        let q = f(g, &[1.0; 4], &[1, 1, 4, 1]);
        let k = f(g, &[3f64.ln(), 3f64.ln(), 0.0, 0.0], &[1, 2, 2, 1]);
        let v = f(g, &[4.0, 40.0, 0.0, 0.0], &[1, 2, 2, 1]);
        let op = Attention { layout: AttentionLayout::Bshd, ..Attention::default() };
        g.attention(q, k, v, None, None, op)
    });
    assert_eq!(y.0, [1, 1, 4, 1]);
    close(&y.1, &[3.0, 3.0, 30.0, 30.0]);
}

#[test]
fn rotary_turns_pairs() {
    let quarter = std::f64::consts::FRAC_PI_2;
    let turn = |interleaved: bool, n_rot: Option<i64>| {
        run(|g| {
            let x = f(g, &[1.0, 2.0, 3.0, 4.0], &[1, 1, 1, 4]);
            let op =
                Rotary { interleaved, n_rot, theta: 1.0, freq_scale: quarter as f32, ..Rotary::default() };
            g.rotary(x, ints(g, &[1], &[]), op)
        })
        .1
    };
    let near = |got: Vec<f64>, want: [f64; 4]| {
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?} {want:?}");
    };
    near(turn(false, None), [-3.0, -4.0, 1.0, 2.0]);
    near(turn(true, None), [-2.0, 1.0, -4.0, 3.0]);
    near(turn(false, Some(2)), [-2.0, 1.0, 3.0, 4.0]);
    let picked = run(|g| {
        let x = f(g, &[1.0, 2.0, 1.0, 2.0], &[1, 1, 2, 2]);
        let (cos, sin) = (f(g, &[1.0, 0.0], &[2, 1]), f(g, &[0.0, 1.0], &[2, 1]));
        g.rotary_tables(x, cos, sin, Some(ints(g, &[1, 0], &[1, 2])), Rotary::default())
    });
    close(&picked.1, &[-2.0, 1.0, 1.0, 2.0]);
}

#[test]
fn fourier_transforms() {
    let four = run(|g| g.fft(f(g, &[1.0, 2.0, 3.0, 4.0], &[4, 1]), Fft { axis: 0, ..Fft::default() }));
    assert_eq!(four.0, [4, 2]);
    close(&four.1, &[10.0, 0.0, -2.0, 2.0, -2.0, 0.0, -2.0, -2.0]);
    let half = Fft { axis: 0, onesided: true, ..Fft::default() };
    close(
        &run(|g| g.fft(f(g, &[1.0, 2.0, 3.0, 4.0], &[4, 1]), half.clone())).1,
        &[10.0, 0.0, -2.0, 2.0, -2.0, 0.0],
    );
    // There and back, for every kind of length and every norm.
    for n in [1u64, 2, 3, 5, 6, 7, 12, 30, 49, 97, 128] {
        for norm in [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward] {
            let x: Vec<f64> = (0..n).map(|i| f64::from((i as f32 * 0.7).sin())).collect();
            let back = run(|g| {
                let spectrum = g.fft(f(g, &x, &[n, 1]), Fft { norm, ..half.clone() });
                let length = Some(n as i64);
                g.fft(spectrum, Fft { inverse: true, dft_length: length, norm, ..half.clone() })
            });
            assert_eq!(back.0, [n, 1]);
            assert!(back.1.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-5), "{n} {norm:?}");
        }
    }
}

/// Of keys that score alike, those are left whose elements `dropout` keeps: values are the unit matrix, so that the
/// result is what is left of probabilities.
#[test]
fn attention_drops_as_dropout_does() {
    let shape = [2, 3, 4, 5];
    let dropped = run(|g| {
        let zeros = f(g, &[0.0; 2 * 3 * 4 * 2], &[2, 3, 4, 2]);
        let keys = f(g, &[0.0; 2 * 3 * 5 * 2], &[2, 3, 5, 2]);
        let unit: Vec<f64> = (0..25).map(|i| f64::from(u8::from(i / 5 == i % 5))).collect();
        let unit = g.expand(f(g, &unit, &[1, 1, 5, 5]), &[2, 3, 5, 5]);
        let op = Attention { dropout: 0.25, stream: 7, ..Attention::default() };
        let source = Some(source(g));
        let operands = AttentionOperands { source, ..AttentionOperands::default() };
        g.attention_with([zeros, keys, unit], operands, op).0
    });
    let whole = run(|g| {
        let RandomSource { seed_low, seed_high, step } = source(g);
        let op = Dropout { ratio: 0.25, training: true, stream: 7 };
        g.apply(op, &[f(g, &[0.2; 2 * 3 * 4 * 5], &shape), seed_low, seed_high, step])
    });
    assert_eq!((&dropped.0[..], &whole.0[..]), (&shape[..], &shape[..]));
    close(&dropped.1, &whole.1);
    let left = whole.1.iter().filter(|p| **p > 0.0).count();
    assert!((75..=105).contains(&left), "{left} of 120, expected 90");
}

/// Three words.
fn source(g: &GraphBuilder) -> RandomSource {
    let word = |n: u32| g.constant(Tensor::new(&[n], &[]).expect("one element"));
    RandomSource { seed_low: word(11), seed_high: word(12), step: word(13) }
}
