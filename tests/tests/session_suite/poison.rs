//! What lies beyond a state's valid part has no effect: not NaN, not infinity, in any stored dtype.

use crate::common::*;
use half::{bf16, f16};
use pumice_compile::Options;
use pumice_ir::ops::attention::{Attention, AttentionLayout};
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{Graph, GraphBuilder, sym, tensor as of};
use pumice_models::decoder::{DecoderConfig, decoder_graph, seeded};
use pumice_models::specialize;
use pumice_runtime::Session;
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{DType, Tensor, TensorView};

on_every_device!(attention_over_caches, the_decoder);

const HEADS: u64 = 2;
const WIDTH: u64 = 4;
const CAPACITY: u64 = 12;

/// Causal attention of new rows over caches that hold them and those before: q, k, v\[1, t, heads, width\].
fn attention(dtype: DType) -> Graph {
    let g = GraphBuilder::new("attention");
    let t = sym("t", 1..=6);
    let shape = [1.into(), t, HEADS.into(), WIDTH.into()];
    let [q, k, v] = ["q", "k", "v"].map(|n| g.input(n, of(DType::F32, shape.clone())));
    let rows = g.dim_of(q, 1);
    let at = g.scalar_advancing("at", 0, CAPACITY as i32, 0, rows);
    let end = g.add(at, g.extent(q, 1));
    let append = |name: &str, x| {
        let cache = g.cache(name, of(dtype, [1, CAPACITY, HEADS, WIDTH]), 1);
        g.kv_append(cache, x, at, 1, AppendMode::Linear)
    };
    let (k, v) = (append("keys", k), append("values", v));
    let op = Attention { layout: AttentionLayout::Bshd, causal: true, ..Attention::default() };
    g.output("y", g.attention(q, k, v, None, Some(end), op));
    g.build().expect("sound")
}

/// Rows of axis `axis` from `from` on become these bytes.
fn poison(s: &mut Session, name: &str, (axis, from): (usize, u64), pattern: f32) {
    let mut state = s.state(name).expect("there");
    let (dtype, mut shape) = (state.dtype(), state.shape().to_vec());
    shape[axis] -= from;
    let n = shape.iter().product::<u64>() as usize;
    let bytes: Vec<u8> = match dtype {
        DType::F16 => f16::from_f32(pattern).to_le_bytes().repeat(n),
        DType::BF16 => bf16::from_f32(pattern).to_le_bytes().repeat(n),
        DType::I32 => i32::MIN.to_le_bytes().repeat(n),
        _ => pattern.to_le_bytes().repeat(n),
    };
    let view = TensorView::new(dtype, &shape, &bytes).expect("as long as its shape");
    state.write_range(axis, from, view).expect("rows");
}

/// Attention in f64 over all rows so far: q\[t, heads, width\] ends where k, v\[end, heads, width\] end.
fn plain(q: &[f32], k: &[f32], v: &[f32]) -> Vec<f32> {
    let (heads, width) = (HEADS as usize, WIDTH as usize);
    let stride = heads * width;
    let (t, end) = (q.len() / stride, k.len() / stride);
    let vector = |x: &[f32], i: usize, h: usize| -> Vec<f64> {
        x[i * stride + h * width..][..width].iter().map(|v| f64::from(*v)).collect()
    };
    let mut y = Vec::new();
    for (i, h) in (0..t).flat_map(|i| (0..heads).map(move |h| (i, h))) {
        let q = vector(q, i, h);
        let score = |j: usize| {
            let dot: f64 = q.iter().zip(vector(k, j, h)).map(|(a, b)| a * b).sum();
            (dot / (width as f64).sqrt()).exp()
        };
        let weights: Vec<f64> = (0..=end - t + i).map(score).collect();
        let total: f64 = weights.iter().sum();
        let each =
            |d: usize| weights.iter().enumerate().map(|(j, w)| w * vector(v, j, h)[d]).sum::<f64>() / total;
        y.extend((0..width).map(|d| each(d) as f32));
    }
    y
}

pub fn attention_over_caches(fixture: &Fixture) {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let options = Options::default().specializations(vec![("t".to_owned(), vec![1])]);
        let exe = fixture.executable(&attention(dtype), &options);
        let patterns = [0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let mut sessions = patterns.map(|_| exe.session().expect("a session"));
        let (mut keys, mut values, mut at) = (Vec::new(), Vec::new(), 0u64);
        for (turn, t) in [3u64, 1, 1, 5, 1, 1].into_iter().enumerate() {
            let rows = |seed: u32| wave((t * HEADS * WIDTH) as usize, seed + 10 * turn as u32);
            let (q, k, v) = (rows(1), rows(2), rows(3));
            keys.extend_from_slice(&k);
            values.extend_from_slice(&v);
            let shape = [1, t, HEADS, WIDTH];
            let [q, k, v] = [q, k, v].map(|x| tensor(&x, &shape));
            let given = [("q", q.view()), ("k", k.view()), ("v", v.view())];
            let y: Vec<Tensor> = sessions
                .iter_mut()
                .zip(patterns)
                .map(|(s, pattern)| {
                    poison(s, "keys", (1, at), pattern);
                    poison(s, "values", (1, at), pattern);
                    s.run(&given).expect("runs").into_tensors().remove(0)
                })
                .collect();
            at += t;
            for (y_i, pattern) in y.iter().zip(patterns) {
                assert_eq!(y_i, &y[0], "{dtype}, turn {turn}, {pattern} beyond {at}: to the bit");
            }
            // The rows are multiples of 1/8 and exact in every dtype.
            assert_close(&floats(&y[0]), &plain(&floats(&q), &keys, &values), 1e-5, "attention");
        }
        let kept = sessions[1].state("keys").expect("there").read_rows(0..at).expect("valid rows");
        let floats_of = |t: &Tensor| pumice_runtime::values::to_f32(t.dtype(), t.bytes());
        assert_eq!(floats_of(&kept), keys, "{dtype}");
    }
}

/// All states of the tiny decoder, poisoned beyond their length before every run, against one that is not.
fn the_decoder(fixture: &Fixture) {
    let model = seeded(decoder_graph("decoder", &DecoderConfig::tiny()).expect("sound"), 3).expect("fits");
    let options = Options::default().specializations(specialize::decoder());
    let exe = fixture.model(&model, &options);
    let names: Vec<String> = exe.plan().states.iter().map(|s| s.name.clone()).collect();
    let (mut clean, mut poisoned) = (exe.session().expect("a session"), exe.session().expect("a session"));
    let mut at = 0;
    for ids in [vec![5, 9, 200], vec![-1], vec![17], vec![1, 2, 3, 4, 5], vec![-1]] {
        for name in names.iter().filter(|n| *n != "last") {
            poison(&mut poisoned, name, (1, at + u64::from(name == "history")), f32::NAN);
        }
        let given = [("ids", TensorView::i32(&ids, [1, ids.len() as u64]))];
        let y = clean.run(&given).expect("runs").into_tensors();
        assert!(floats(&y[0]).iter().all(|v| v.is_finite()));
        assert_eq!(y, poisoned.run(&given).expect("runs").into_tensors(), "at {at}, to the bit");
        at += ids.len() as u64;
    }
    let history =
        |s: &mut Session| s.state("history").expect("there").read_range(1, at..at + 1).expect("valid");
    assert_eq!(history(&mut clean), history(&mut poisoned));
}
