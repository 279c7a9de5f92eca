//! Products that share an input are computed as one; each of their weights and biases can still be set again alone.

use crate::common::*;
use pumice_compile::{OptOptions, Options};
use pumice_ir::{Graph, GraphBuilder, Value, f32, sym};
use pumice_runtime::Executable;
use pumice_tests::{Fixture, on_every_device};
use pumice_types::Tensor;

on_every_device!(merged_weights_follow_what_is_set_again, in_every_specialization);

const K: usize = 8;
/// Name, columns, whether there is a bias.
const PARTS: [(&str, usize, bool); 3] = [("q", 5, true), ("k", 3, false), ("v", 4, true)];

/// q, k, v = linears of one x\[n, 8\]; v rectified.
fn graph() -> Graph {
    let g = GraphBuilder::new("merged");
    let x = g.input("x", f32([sym("n", 1..=6), (K as u64).into()]));
    let part = |(name, columns, bias): (&str, usize, bool)| -> Value {
        let w = g.param(&format!("{name}.weight"), f32([columns as u64, K as u64]));
        let b = bias.then(|| g.param(&format!("{name}.bias"), f32([columns as u64])));
        g.linear(x, w, b)
    };
    let [q, k, v] = PARTS.map(part);
    g.output("q", q);
    g.output("k", k);
    g.output("v", g.relu(v));
    g.build().expect("sound")
}

/// Weight and bias of every part.
type Weights = [(Vec<f32>, Vec<f32>); 3];

fn weights() -> Weights {
    let mut seed = 0;
    PARTS.map(|(_, columns, _)| {
        seed += 2;
        (wave(columns * K, seed), wave(columns, seed + 1))
    })
}

fn set_all(exe: &Executable, weights: &Weights) {
    for ((name, _, bias), (w, b)) in PARTS.iter().zip(weights) {
        exe.set_param(&format!("{name}.weight"), w).expect("a weight");
        if *bias {
            exe.set_param(&format!("{name}.bias"), b).expect("a bias");
        }
    }
}

fn check(s: &mut pumice_runtime::Session, x: &Tensor, weights: &Weights, what: &str) -> Vec<Tensor> {
    let y = run(s, x).expect("runs");
    for ((name, _, bias), (w, b)) in PARTS.iter().zip(weights) {
        let mut want = linear(&floats(x), w, bias.then_some(b.as_slice()), K);
        if *name == "v" {
            want = map(&want, |v| v.max(0.0));
        }
        assert_eq!(out(&y, name), want, "{name}: {what}");
    }
    y.into_tensors()
}

/// Matrix products in each run of a plan.
fn products(exe: &Executable) -> Vec<usize> {
    let is_product = |s: &&pumice_plan::Step| s.label().starts_with("matmul");
    exe.plan().runs.iter().map(|r| r.program.steps.iter().filter(is_product).count()).collect()
}

fn merged_weights_follow_what_is_set_again(fixture: &Fixture) {
    let exe = load(fixture, &graph());
    let oracle = fixture.executable(&graph(), &Options::default().opt(OptOptions::none()));
    assert_eq!((products(&exe), products(&oracle)), (vec![1], vec![3]));
    let mut all = weights();
    set_all(&exe, &all);
    set_all(&oracle, &all);
    let (mut s, mut o) = (exe.session().expect("a session"), oracle.session().expect("a session"));
    let x = tensor(&wave(5 * K, 40), &[5, K as u64]);
    check(&mut s, &x, &all, "first");
    for (i, (name, columns, bias)) in PARTS.into_iter().enumerate() {
        all[i].0 = wave(columns * K, 50 + i as u32);
        let weight = format!("{name}.weight");
        exe.set_param(&weight, &all[i].0).expect("a weight");
        oracle.set_param(&weight, &all[i].0).expect("a weight");
        let merged = check(&mut s, &x, &all, &weight);
        assert_eq!(merged, check(&mut o, &x, &all, "unmerged"), "to the bit");
        assert_eq!(floats(&exe.param(&weight).expect("set")), all[i].0, "stored, not derived");
        if bias {
            all[i].1 = wave(columns, 60 + i as u32);
            let bias = format!("{name}.bias");
            exe.set_param(&bias, &all[i].1).expect("a bias");
            oracle.set_param(&bias, &all[i].1).expect("a bias");
            check(&mut s, &x, &all, &bias);
        }
    }
    // All again at once, between two runs and then not at all.
    all = weights();
    set_all(&exe, &all);
    check(&mut s, &x, &all, "all again");
    check(&mut s, &x, &all, "nothing set");
}

pub fn in_every_specialization(fixture: &Fixture) {
    let options = Options::default().specializations(vec![("n".to_owned(), vec![1, 3])]);
    let exe = fixture.executable(&graph(), &options);
    assert_eq!(products(&exe), [1, 1, 1]);
    // Merged weights are made once, however many ranges of the symbol want them.
    let whole = fixture.plan(&graph(), &Options::default());
    assert!(!whole.load.steps.is_empty());
    assert_eq!(exe.plan().load.steps.len(), whole.load.steps.len(), "{}", exe.plan());
    let mut all = weights();
    set_all(&exe, &all);
    let mut s = exe.session().expect("a session");
    for turn in 0..9u32 {
        let n = [1, 6, 2][turn as usize % 3];
        let part = turn as usize / 3;
        all[part].0 = wave(PARTS[part].1 * K, 70 + turn);
        exe.set_param(&format!("{}.weight", PARTS[part].0), &all[part].0).expect("a weight");
        check(
            &mut s,
            &tensor(&wave(n * K, turn), &[n as u64, K as u64]),
            &all,
            &format!("turn {turn}, n {n}"),
        );
    }
}
