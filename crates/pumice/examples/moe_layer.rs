//! A layer of experts, as transformers of mixtures of experts have it: a router takes two experts for each token,
//! each of these is a feed-forward block (gate, up, down), and what they give is added by the router's weights. Ids
//! stay on the device. One token and many take other kernels; both are held against plain loops.

use pumice::ops::{GroupedMatMul, TopKMoeRouter, glu::GluAct};
use pumice::{Device, Graph, GraphBuilder, Options, TensorView, f32, sym};
use std::collections::BTreeMap;
use std::error::Error;

const WIDTH: usize = 32;
const HIDDEN: usize = 48;
const EXPERTS: usize = 8;
/// Experts of a token.
const TAKEN: usize = 2;
const TOKENS: usize = 64;

fn layer() -> Result<Graph, Box<dyn Error>> {
    let [width, hidden, experts, taken] = [WIDTH, HIDDEN, EXPERTS, TAKEN].map(|n| n as u64);
    let g = GraphBuilder::new("moe_layer");
    let x = g.input("x", f32([sym("tokens", 1..=TOKENS as u64), width.into()]));
    let logits = g.linear(x, g.param("router", f32([experts, width])), None);
    let op = TopKMoeRouter { k: taken, norm: true, ..TopKMoeRouter::default() };
    let (weights, ids) = g.top_k_moe_router(logits, None, op);

    let by_rows = || GroupedMatMul { trans: true, ..GroupedMatMul::default() };
    let gate = g.grouped_matmul(x, g.param("gate", f32([experts, hidden, width])), ids, by_rows());
    let up = g.grouped_matmul(x, g.param("up", f32([experts, hidden, width])), ids, by_rows());
    // silu(gate) · up, a row for each token and expert.
    let inner = g.reshape(g.glu(gate, up, GluAct::Swish), &[-1, hidden as i64]);
    let down = g.param("down", f32([experts, width, hidden]));
    let each = g.grouped_matmul(inner, down, g.reshape(ids, &[-1]), by_rows());
    let each = g.reshape(each, &[-1, taken as i64, width as i64]);
    g.output("y", g.reduce_sum(g.mul(each, g.unsqueeze(weights, &[2])), &[1], false));
    g.output("experts", ids);
    Ok(g.build()?)
}

/// Numbers between -1 and 1 that look like none in particular.
fn numbers(count: u64, step: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * step).sin()).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, w)| x * w).sum()
}

/// The product of a row with a matrix whose rows lie side by side.
fn times(matrix: &[f32], x: &[f32]) -> Vec<f32> {
    matrix.chunks(x.len()).map(|row| dot(row, x)).collect()
}

/// What the layer gives of one token, by loops, and the experts that it takes.
fn expected(params: &BTreeMap<String, Vec<f32>>, x: &[f32]) -> (Vec<f32>, Vec<i32>) {
    let shares: Vec<f32> = times(&params["router"], x).into_iter().map(f32::exp).collect();
    let mut order: Vec<usize> = (0..EXPERTS).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    order.truncate(TAKEN);
    let sum: f32 = order.iter().map(|&e| shares[e]).sum();
    let mut y = vec![0.0; WIDTH];
    let size = WIDTH * HIDDEN;
    for &e in &order {
        let of = |name: &str, x: &[f32]| times(&params[name][e * size..][..size], x);
        let (gate, up) = (of("gate", x), of("up", x));
        let inner: Vec<f32> = gate.iter().zip(&up).map(|(v, u)| v / (1.0 + (-v).exp()) * u).collect();
        y.iter_mut().zip(of("down", &inner)).for_each(|(y, v)| *y += shares[e] / sum * v);
    }
    (y, order.into_iter().map(|e| e as i32).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    println!("device: {}", device.name());
    let options = Options::default().specializations(vec![("tokens".to_owned(), vec![1])]);
    let exe = pumice::compile(&layer()?, &device, &options)?;
    let mut params = BTreeMap::new();
    for (i, param) in exe.params().iter().enumerate() {
        let values = numbers(param.shape.iter().map(|extent| extent.max).product(), 0.71 + i as f32);
        exe.set_param(&param.name, &values)?;
        params.insert(param.name.clone(), values);
    }

    let mut session = exe.session()?;
    for tokens in [1, TOKENS] {
        let x = numbers((tokens * WIDTH) as u64, 0.37);
        session.run(&[("x", TensorView::f32(&x, [tokens as u64, WIDTH as u64]))])?;
        let y: Vec<f32> = session.output("y")?.to_vec()?;
        let ids: Vec<i32> = session.output("experts")?.to_vec()?;
        let mut apart = 0f32;
        for (t, x) in x.chunks(WIDTH).enumerate() {
            let (want, experts) = expected(&params, x);
            assert_eq!(ids[t * TAKEN..][..TAKEN], experts);
            let rows = y[t * WIDTH..][..WIDTH].iter().zip(&want);
            apart = rows.map(|(a, b)| (a - b).abs()).fold(apart, f32::max);
        }
        println!(
            "{tokens} tokens: the first takes experts {:?}; at most {apart:.1e} from loops",
            &ids[..TAKEN]
        );
        assert!(apart < 1e-3, "{apart}");
    }
    Ok(())
}
