//! Movement of elements: values as NumPy gives them, written out, and formulas over places.

mod known;

use known::{floats, results, run};
use pumice_ir::ops::pad::{Pad, PadMode};
use pumice_ir::{GraphBuilder, Value, f32, sym};
use pumice_types::{DType, DimExpr, Tensor};

/// 0, 1, 2, … under a shape.
fn counted(g: &GraphBuilder, shape: &[u64]) -> Value {
    let values: Vec<f64> = (0..shape.iter().product::<u64>()).map(|i| i as f64).collect();
    floats(g, &values, shape)
}

fn ints(g: &GraphBuilder, values: &[i32]) -> Value {
    g.constant(Tensor::new(values, &[values.len() as u64]).expect("lengths agree"))
}

fn padded(shape: &[u64], mode: PadMode, pads: &[i64]) -> (Vec<u64>, Vec<f64>) {
    run(|g| g.pad(counted(g, shape), None, Pad { mode, pads: pads.to_vec(), axes: vec![] }))
}

/// numpy.pad of arange(4), and of a matrix, in each mode.
#[test]
fn pads_as_numpy_does() {
    let row = |mode, pads: &[i64]| padded(&[4], mode, pads).1;
    assert_eq!(row(PadMode::Constant, &[2, 1]), [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0]);
    assert_eq!(row(PadMode::Constant, &[-1, 2]), [1.0, 2.0, 3.0, 0.0, 0.0]);
    assert_eq!(row(PadMode::Edge, &[2, 1]), [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0]);
    assert_eq!(row(PadMode::Reflect, &[3, 2]), [3.0, 2.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
    assert_eq!(row(PadMode::Wrap, &[2, 1]), [2.0, 3.0, 0.0, 1.0, 2.0, 3.0, 0.0]);
    let ring = row(PadMode::Wrap, &[9, 10]);
    assert!(ring.iter().enumerate().all(|(i, &v)| v == ((i + 3) % 4) as f64), "{ring:?}");
    let (shape, matrix) = padded(&[2, 2], PadMode::Reflect, &[1, 0, 0, 1]);
    assert_eq!((shape, matrix), (vec![3, 3], vec![2.0, 3.0, 2.0, 0.0, 1.0, 0.0, 2.0, 3.0, 2.0]));
    let seven = run(|g| {
        let op = Pad { pads: vec![1, 0], axes: vec![-1], ..Pad::default() };
        g.pad(counted(g, &[2, 1]), Some(g.constant_scalar(DType::F32, 7.0)), op)
    });
    assert_eq!(seven, (vec![2, 2], vec![7.0, 0.0, 7.0, 1.0]));
}

#[test]
fn stacks_tiles_and_repeats_by_place() {
    let (shape, y) = run(|g| g.stack(&[counted(g, &[2, 3]), g.neg(counted(g, &[2, 3]))], 1));
    assert_eq!(shape, [2, 2, 3]);
    assert_eq!(y, [0.0, 1.0, 2.0, -0.0, -1.0, -2.0, 3.0, 4.0, 5.0, -3.0, -4.0, -5.0]);
    for repeats in [[1, 1, 1], [2, 1, 3], [3, 2, 1], [2, 2, 2], [1, 0, 1]] {
        let from = [2, 3, 4];
        let (shape, y) = run(|g| g.tile(counted(g, &from), &repeats));
        let want: Vec<u64> = from.iter().zip(repeats).map(|(n, r)| n * r).collect();
        assert_eq!(shape, want);
        for (i, v) in y.into_iter().enumerate() {
            let i = i as u64;
            let [a, b, c] = [i / (want[1] * want[2]) % 2, i / want[2] % want[1] % 3, i % want[2] % 4];
            assert_eq!(v, (12 * a + 4 * b + c) as f64, "{repeats:?}, element {i}");
        }
    }
    let (shape, y) = run(|g| g.repeat_interleave(counted(g, &[2, 2]), 3, 0));
    assert_eq!(
        (shape, y),
        (vec![6, 2], [[0.0, 1.0]; 3].into_iter().chain([[2.0, 3.0]; 3]).flatten().collect())
    );
    assert_eq!(run(|g| g.reverse(counted(g, &[2, 3]), &[0, -1])).1, [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
}

/// numpy.arange.
#[test]
fn ranges_are_counted() {
    let number = |v: i64| DimExpr::constant(v);
    let range = |a: i64, b: i64, d: i64, t: DType| run(|g| g.range(number(a), number(b), d, t)).1;
    assert_eq!(range(3, -4, -2, DType::I32), [3.0, 1.0, -1.0, -3.0]);
    assert_eq!(range(0, 7, 3, DType::F16), [0.0, 3.0, 6.0]);
    assert_eq!(range(5, 5, 1, DType::I64), [0.0; 0]);
    assert_eq!(range(250, 259, 3, DType::U8), [250.0, 253.0, 0.0]);
    assert_eq!(range(i64::MAX - 1, i64::MAX, 1, DType::I64).len(), 1);
    assert_eq!(range(1 << 32, (1 << 32) + 3, 1, DType::U64), [4294967296.0, 4294967297.0, 4294967298.0]);
    assert_eq!(range(3_000_000_000, 3_000_000_512, 256, DType::F32), [3_000_000_000.0, 3_000_000_256.0]);
    let floats = run(|g| g.range_of_floats(0.1, 1.0, 0.3, DType::F32)).1;
    assert_eq!(floats.len(), 3);
    assert!(floats.iter().zip([0.1, 0.4, 0.7]).all(|(a, b)| (a - b).abs() < 1e-7), "{floats:?}");
}

#[test]
fn extents_rows_and_triangles() {
    let shape = results(|g| {
        let x = counted(g, &[2, 3, 4]);
        vec![g.shape(x, 0, None), g.shape(x, -2, Some(-1)), g.shape(x, 2, Some(1)), g.size(x)]
    });
    let values: Vec<Vec<f64>> = shape.iter().map(|a| a.to_f64()).collect();
    assert_eq!(values, [vec![2.0, 3.0, 4.0], vec![3.0], vec![], vec![24.0]]);
    assert!(shape.iter().all(|a| a.dtype == DType::I64));
    let (shape, rows) = run(|g| g.one_hot(ints(g, &[1, -1, 3, -4]), 3, None, 0));
    assert_eq!(shape, [3, 4]);
    assert_eq!(rows, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    let values = run(|g| g.one_hot(ints(g, &[2, 0]), 3, Some(floats(g, &[5.0, 7.0], &[2])), -1)).1;
    assert_eq!(values, [5.0, 5.0, 7.0, 7.0, 5.0, 5.0]);
    for (k, upper) in [(0, true), (1, true), (-2, false), (0, false), (9, false), (9, true)] {
        let y = run(|g| g.trilu(floats(g, &[1.0; 12], &[3, 4]), k, upper)).1;
        for (at, v) in y.into_iter().enumerate() {
            let distance = (at % 4) as i64 - (at / 4) as i64;
            let stays = if upper { distance >= k } else { distance <= k };
            assert_eq!(v, f64::from(u8::from(stays)), "k {k}, upper {upper}, element {at}");
        }
    }
    assert_eq!(run(|g| g.fill(g.constant_scalar(DType::F32, 2.5), vec![2.into(), 1.into()])).1, [2.5, 2.5]);
}

/// What is refused, all at once.
#[test]
fn mistakes_are_told_by_the_method() {
    let g = GraphBuilder::new("wrong");
    let x = g.input("x", f32([2, 3]));
    let n = g.input("n", f32([sym("n", 1..=4)]));
    let pad = |mode, pads: &[i64], axes: &[i64]| Pad { mode, pads: pads.to_vec(), axes: axes.to_vec() };
    g.pad(x, None, pad(PadMode::Constant, &[1, 2, 3], &[]));
    g.pad(x, None, pad(PadMode::Constant, &[-2, 0, -1, 0], &[]));
    g.pad(x, None, pad(PadMode::Constant, &[1, 1, 1, 1], &[0, -2]));
    g.pad(x, None, pad(PadMode::Reflect, &[2, 0], &[0]));
    g.pad(x, None, pad(PadMode::Edge, &[-1, 0], &[0]));
    g.pad(n, None, pad(PadMode::Wrap, &[5, 0], &[0]));
    g.pad(x, Some(x), Pad { pads: vec![0; 4], ..Pad::default() });
    g.pad(x, None, pad(PadMode::Constant, &[i64::MAX, 0], &[0]));
    g.tile(x, &[1]);
    g.tile(x, &[1, 1 << 40]);
    g.repeat_interleave(x, 2, 2);
    g.reverse(x, &[0, -2]);
    g.stack(&[x, n], 0);
    g.stack(&[], 0);
    g.stack(&[x, x], 3);
    g.range(0, 5, 0, DType::I32);
    g.range(0, 1 << 40, 1, DType::I32);
    g.range(0, 5, 1, DType::Bool);
    g.range_of_floats(0.0, 1.0, 0.0, DType::F32);
    g.range_of_floats(0.0, f64::NAN, 1.0, DType::F32);
    g.fill(x, vec![3.into()]);
    g.one_hot(x, 3, None, 0);
    g.one_hot(g.range(0, 3, 1, DType::I32), 3, Some(n), 0);
    g.one_hot(g.range(0, 3, 1, DType::I32), DimExpr::constant(-3), None, 0);
    g.trilu(n, 0, true);
    let mistakes = g.mistakes();
    let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(mistakes.len(), 25, "{}", told.join("\n"));
    let methods =
        ["pad"; 8].into_iter().chain(["tile", "tile", "repeat_interleave", "reverse"]).chain(["stack"; 3]);
    let methods = methods.chain(["range"; 5]).chain(["fill", "one_hot", "one_hot", "one_hot", "trilu"]);
    for (text, method) in told.iter().zip(methods) {
        assert!(text.starts_with(method), "{method}: {text}");
    }
}
