//! Weights take on the device what they take as they are stored: merged ones lie side by side, widened ones are read as
//! they are, and only what no kernel reads is written a second time.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{GraphBuilder, Value, f32, sym, tensor};
use pumice_plan::check::check;
use pumice_plan::{CheckedPlan, ContentOrigin, Plan, RegionKind};
use pumice_types::{DType, Encoding, Scheme, Target};

const K: u64 = 256;

/// A plan for each profile, checked.
fn plans(build: impl Fn(&GraphBuilder)) -> Vec<Plan> {
    let plan = |target: Target| {
        let g = GraphBuilder::new("g");
        build(&g);
        let graph = g.build().expect("the graph is sound");
        let plan = compile(&graph, &target, &Options::default(), &RefEval).expect("it compiles");
        check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
        plan
    };
    [Target::h200(), Target::lavapipe()].map(plan).into()
}

fn input(g: &GraphBuilder) -> Value {
    g.input("x", f32([sym("n", 1..=64), K.into()]))
}

/// A weight [rows, K] as f32.
fn weight(g: &GraphBuilder, name: &str, encoding: impl Into<Encoding>, rows: u64) -> Value {
    let encoding = encoding.into();
    let stored = g.param(name, tensor(encoding, [rows, K]));
    match encoding {
        Encoding::Plain(DType::F32) => stored,
        Encoding::Plain(_) => g.cast(stored, DType::F32),
        Encoding::Blocks(_) => g.dequantize(stored),
    }
}

/// Products of x with so many weights of so many rows each; a sum keeps them apart.
fn products(g: &GraphBuilder, encoding: Encoding, rows: &[u64]) {
    let x = input(g);
    for (i, &rows) in rows.iter().enumerate() {
        let y = g.linear(x, weight(g, &format!("w{i}"), encoding, rows), None);
        g.output(&format!("y{i}"), g.add(y, g.input(&format!("b{i}"), f32([rows]))));
    }
}

/// Bytes of the params, each alone.
fn stored(plan: &Plan) -> u64 {
    plan.params.iter().map(|p| p.span.len.0).sum()
}

#[test]
fn merged_weights_of_every_encoding_cost_no_byte_and_no_step() {
    let plain = [DType::F32, DType::F16, DType::BF16].map(Encoding::Plain);
    for encoding in plain.into_iter().chain(Scheme::ALL.map(Encoding::Blocks)) {
        for plan in plans(|g| products(g, encoding, &[64, 32, 32])) {
            let what = format!("{encoding} for {}", plan.target.name);
            assert_eq!(plan.joined.len(), 1, "{what}");
            assert_eq!(plan.joined[0].params, [0, 1, 2], "{what}");
            assert_eq!(plan.joined[0].span.len.0, stored(&plan), "{what}");
            assert!(plan.load.steps.is_empty(), "{what}: {:?}", plan.load.steps);
            let weights = plan.region_size(RegionKind::Weights).0;
            assert_eq!(weights, stored(&plan).next_multiple_of(256), "{what}");
            let products = plan.runs[0].program.steps.iter().filter(|s| s.label().starts_with("matmul"));
            assert_eq!(products.count(), 1, "{what}");
        }
    }
}

#[test]
fn weights_of_two_encodings_stay_two_products() {
    let build = |g: &GraphBuilder| {
        let x = input(g);
        let (a, b) = (weight(g, "a", Scheme::Q4_K, 64), weight(g, "b", Scheme::Q6_K, 64));
        g.output("p", g.relu(g.linear(x, a, None)));
        g.output("q", g.relu(g.linear(x, b, None)));
    };
    for plan in plans(build) {
        assert!(plan.joined.is_empty() && plan.load.steps.is_empty());
        assert_eq!(plan.region_size(RegionKind::Weights).0, stored(&plan).next_multiple_of(256));
    }
}

/// The first concatenation lies side by side; the second, in another order, copies.
#[test]
fn a_second_order_copies() {
    let build = |g: &GraphBuilder| {
        let w: Vec<Value> = (0..3).map(|i| weight(g, &format!("w{i}"), DType::F32, 16)).collect();
        let x = input(g);
        g.output("forth", g.linear(x, g.concat(&w, 0), None));
        g.output("back", g.linear(x, g.concat(&[w[2], w[0]], 0), None));
    };
    for plan in plans(build) {
        assert_eq!(plan.joined.len(), 1);
        assert_eq!(plan.joined[0].params, [0, 1, 2]);
        assert!(!plan.load.steps.is_empty(), "the other one is written when loading");
    }
}

/// What is not the outermost axis, or begins where no kernel can, is copied.
#[test]
fn what_cannot_lie_side_by_side_is_copied() {
    let columns = |g: &GraphBuilder| {
        let (a, b) = (g.param("a", f32([K, 16])), g.param("b", f32([K, 16])));
        g.output("y", g.matmul(input(g), g.concat(&[a, b], 1)));
    };
    let odd = |g: &GraphBuilder| {
        let (a, b) = (g.param("a", f32([3u64])), g.param("b", f32([5u64])));
        g.output("y", g.add(g.concat(&[a, b], 0), g.input("x", f32([8u64]))));
    };
    let twice = |g: &GraphBuilder| {
        let a = g.param("a", f32([16u64]));
        g.output("y", g.add(g.concat(&[a, a], 0), g.input("x", f32([32u64]))));
    };
    for plan in plans(columns).into_iter().chain(plans(odd)).chain(plans(twice)) {
        assert!(plan.joined.is_empty());
    }
}

#[test]
fn weights_of_16_bits_are_read_as_they_are() {
    for dtype in [DType::F16, DType::BF16] {
        let build = |g: &GraphBuilder| {
            let table = weight(g, "table", dtype, 96);
            let ids = g.input("ids", tensor(DType::I32, [sym("n", 1..=64)]));
            let x = g.gather(table, ids, 0);
            g.output("y", g.linear(x, table, None));
        };
        for plan in plans(build) {
            let what = format!("{dtype} for {}", plan.target.name);
            assert!(plan.load.steps.is_empty(), "{what}: {:?}", plan.load.steps);
            assert_eq!(plan.region_size(RegionKind::Weights).0, 96 * K * 2, "{what}");
        }
    }
}

/// What a run computes in 16 bits is widened by a step, and seen only there.
#[test]
fn what_is_no_weight_is_widened_by_a_step() {
    let build = |g: &GraphBuilder| {
        let x = g.cast(g.input("x", tensor(DType::F16, [64u64, K])), DType::F32);
        g.output("y", g.linear(weight(g, "w", DType::F32, 8), x, None));
    };
    for plan in plans(build) {
        let steps = &plan.runs[0].program.steps;
        assert!(steps.iter().any(|s| s.label().starts_with("elementwise")), "{}", plan.target.name);
    }
}

/// Every kind of fault in the list of joined params is found.
#[test]
fn wrong_sets_are_refused() {
    let plan = plans(|g| products(g, DType::F32.into(), &[64, 32, 32])).remove(0);
    let refused = |change: fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        assert!(CheckedPlan::new(plan).is_err());
    };
    refused(|p| p.joined[0].params.swap(0, 1));
    refused(|p| p.joined[0].params.truncate(2));
    refused(|p| p.joined[0].params.truncate(1));
    refused(|p| p.joined[0].params[1] = 7);
    refused(|p| p.joined[0].params[1] = 0);
    refused(|p| p.joined[0].span.len.0 -= 16);
    refused(|p| p.joined[0].span.offset.0 += 256);
    refused(|p| p.joined.push(p.joined[0].clone()));
    refused(|p| p.joined.clear());
    refused(|p| p.params[1].encoding = DType::I32.into());
    refused(|p| p.params[1].span.offset.0 += 16);
    refused(|p| {
        let value = p.runs[0].program.values.iter_mut().find(|v| v.origin == ContentOrigin::Joined(0));
        value.expect("a run reads the set").origin = ContentOrigin::Joined(1);
    });
}
