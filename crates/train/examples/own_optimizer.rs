//! An optimizer of one's own: Adafactor (Shazeer, Stern 2018), as PyTorch has it. Of a matrix it keeps two vectors.
//!
//! `cargo run -p pumice-train --example own_optimizer` trains a line with it on the evaluator.

use pumice_cpu_ref::{Array, EvalOptions, eval_graph};
use pumice_ir::{GraphBuilder, Value, f32};
use pumice_train::{Optimizer, Recipe, Schedule, Slot, TABLE_ROWS, UpdateCx, Updated, names, step_graphs};
use pumice_types::{Bindings, DType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adafactor without momentum, of vectors and matrices.
pub struct Adafactor {
    /// Decoupled weight decay.
    pub weight_decay: f64,
}

impl Optimizer for Adafactor {
    fn name(&self) -> &'static str {
        "Adafactor"
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn slots(&self, param: &[u64]) -> Vec<Slot> {
        match *param {
            [rows, columns] => vec![Slot::new("rows", &[rows, 1]), Slot::new("columns", &[1, columns])],
            _ => vec![Slot::new("v", param)],
        }
    }

    fn numbers(&self, t: u64) -> Vec<(&'static str, f64)> {
        vec![("new", (t as f64).powf(-0.8)), ("most", 1.0 / (t as f64).sqrt())]
    }

    fn update(&self, cx: &UpdateCx<'_>) -> Updated {
        let (g, squares) = (cx.g, cx.g.square(cx.gradient));
        let moved = |old: Value, new: Value| g.add(old, g.mul(g.sub(new, old), cx.number("new")));
        let (slots, v) = if cx.shape.len() == 2 {
            let rows = moved(cx.slot(0), g.reduce_mean(squares, &[1], true));
            let columns = moved(cx.slot(1), g.reduce_mean(squares, &[0], true));
            let v = g.div(g.mul(rows, columns), g.reduce_mean(rows, &[0], true));
            (vec![rows, columns], v)
        } else {
            let v = moved(cx.slot(0), squares);
            (vec![v], v)
        };
        let size = |x: Value| g.sqrt(g.reduce_mean(g.square(x), &[], false));
        let least = |x: Value, bound: f64| g.max(&[x, g.constant_scalar(DType::F32, bound)]);
        let way = g.mul(g.rsqrt(least(v, 1e-30)), cx.gradient);
        let rate = g.mul(least(size(cx.param), 1e-3), g.min(&[cx.rate, cx.number("most")]));
        let step = g.mul(way, g.div(rate, least(size(way), 1.0)));
        Updated { param: g.sub(cx.decayed_param(), step), slots }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let g = GraphBuilder::new("line");
    let (x, y) = (g.input("x", f32([4, 2])), g.input("y", f32([4, 1])));
    let guess = g.linear(x, g.param("weight", f32([1, 2])), Some(g.param("bias", f32([1]))));
    g.output("loss", g.mse(guess, y, Default::default()).0);
    let recipe = Recipe::new(Adafactor { weight_decay: 0.0 }).schedule(Schedule::constant(0.1));
    let made = step_graphs(&g.build()?, &recipe)?;

    let float = |shape: &[u64], values: &[f64]| Arc::new(Array::floats(DType::F32, shape, values.to_vec()));
    let mut kept = BTreeMap::from([
        ("weight".to_owned(), float(&[1, 2], &[0.5, -0.5])),
        ("bias".to_owned(), float(&[1], &[0.1])),
        ("x".to_owned(), float(&[4, 2], &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0])),
        ("y".to_owned(), float(&[4, 1], &[1.0, 3.0, 0.0, 2.0])),
        (names::BASE.to_owned(), Arc::new(Array::ints(DType::I32, &[], vec![0]))),
    ]);
    let table: Vec<f64> = made.numbers.table(0).into_iter().map(f64::from).collect();
    kept.insert(names::NUMBERS.to_owned(), float(&[TABLE_ROWS, made.numbers.columns() as u64], &table));
    for step in 0..50 {
        let graph = &made.step;
        let leaf = |v: pumice_ir::ValueId| {
            let zeros = || {
                let shape = graph.ty(v).static_shape()?;
                let count = shape.iter().product::<u64>() as usize;
                Some(Arc::new(match graph.ty(v).dtype() {
                    d if d.is_float() => Array::floats(d, &shape, vec![0.0; count]),
                    d => Array::ints(d, &shape, vec![0; count]),
                }))
            };
            kept.get(&*graph.value(v).name).cloned().or_else(zeros)
        };
        let run = eval_graph(graph, &leaf, &Bindings::new(), EvalOptions::default())?;
        for (v, state) in graph.states().into_iter().zip(run.states) {
            kept.insert(graph.value(v).name.to_string(), state);
        }
        if step % 10 == 0 {
            println!("step {step}: loss {:.5}", run.outputs[0].as_floats()[0]);
        }
    }
    Ok(())
}
