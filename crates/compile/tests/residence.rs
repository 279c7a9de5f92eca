//! Weights take on the device what they take as they are stored: merged ones lie side by side, widened ones are read as
//! they are, and only what no kernel reads is written a second time.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::text::read;
use pumice_ir::{GraphBuilder, Value, f32, sym, tensor};
use pumice_plan::check::check;
use pumice_plan::{CheckedPlan, Plan, RegionKind, Residence, VersionOrigin};
use pumice_types::{DType, Encoding, Scheme, Target};

const K: u64 = 256;

/// A plan for each profile, checked.
fn plans(build: impl Fn(&GraphBuilder)) -> Vec<Plan> {
    plans_with(&Options::default(), build)
}

fn plans_with(options: &Options, build: impl Fn(&GraphBuilder)) -> Vec<Plan> {
    let plan = |target: Target| {
        let g = GraphBuilder::new("g");
        build(&g);
        let graph = g.build().expect("the graph is sound");
        let plan = compile(&graph, &target, options, &RefEval).expect("it compiles");
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
        Encoding::Blocks(_) | Encoding::Codes(_) => g.dequantize(stored),
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
        let text = plan.to_string();
        assert!(text.contains("joined w0 w1 w2  weights+0x0:49152"), "{text}");
        assert!(text.contains("because `w2` lies beside `w0`, `w1` already"), "{text}");
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
        let value = p.runs[0].program.values.iter_mut().find(|v| v.origin == VersionOrigin::Joined(0));
        value.expect("a run reads the set").origin = VersionOrigin::Joined(1);
    });
}

/// Params of which runs read what is computed from them: `only` and `small` pass through, and why each other one does
/// not. Every product has an input of its own, so that none are merged.
fn every_residence(g: &GraphBuilder) {
    let n = sym("n", 1..=64);
    let product = |name: &str, w: Value| {
        let x = g.input(&format!("x_{name}"), f32([n.clone(), K.into()]));
        g.output(&format!("y_{name}"), g.linear(x, w, None));
    };
    let w = |name: &str| weight(g, name, DType::F32, 64);
    let (only, read, out, begin, a, b) = (w("only"), w("read"), w("out"), w("begin"), w("a"), w("b"));
    product("only", g.relu(only));
    product("relu_read", g.relu(read));
    product("read", read);
    product("out", g.relu(out));
    g.output("out", out);
    let state = g.state_from("s", begin);
    product("begin", g.relu(begin));
    product("state", g.state_read(state));
    product("ab", g.mul(a, b));
    let small = g.param("small", f32([K]));
    g.output("y_small", g.mul(input(g), g.relu(small)));
    w("unread");
}

fn streamed(plan: &Plan) -> Vec<&str> {
    let params = plan.params.iter().filter(|p| p.residence() == Residence::Streamed);
    params.map(|p| p.name.as_str()).collect()
}

#[test]
fn what_only_load_steps_read_alone_passes_through() {
    for plan in plans(every_residence) {
        let what = &plan.target.name;
        assert_eq!(streamed(&plan), ["only"], "{what}");
        assert_eq!(plan.streams.len(), 1, "{what}");
        let stream = &plan.streams[0];
        assert_eq!(plan.params[stream.param as usize].name, "only");
        assert_eq!(stream.room.size().0, 64 * K * 4, "the param alone: what is made of it stays");
        let text = plan.to_string();
        assert!(text.contains("param only  f32[64, 256]  scratch+0x0:65536  streamed"), "{text}");
        assert!(text.contains("stream of only  room 64.0 KiB"), "{text}");
        let bytes = plan.to_bytes(pumice_plan::PlanForm::Explain).expect("saved");
        assert_eq!(Plan::load(&bytes).expect("loaded"), plan);
    }
}

#[test]
fn streamed_bytes_are_not_paid_for() {
    let all = plans(every_residence);
    for (plan, kept) in all.iter().zip(plans_with(&Options::default().stream_from(u64::MAX), every_residence))
    {
        assert_eq!(streamed(&kept), Vec::<&str>::new());
        let size = |plan: &Plan| plan.region_size(RegionKind::Weights).0;
        assert_eq!(size(&kept) - size(plan), 64 * K * 4, "{}", plan.target.name);
        assert!(plan.region_size(RegionKind::Scratch) <= kept.region_size(RegionKind::Scratch));
    }
}

/// The caller may keep any of them by name, and let small ones through.
#[test]
fn residence_can_be_pinned() {
    for plan in plans_with(&Options::default().keep(["only"]), every_residence) {
        assert_eq!(streamed(&plan), Vec::<&str>::new());
    }
    for plan in plans_with(&Options::default().stream_from(0), every_residence) {
        assert_eq!(streamed(&plan), ["only", "small"]);
    }
    let g = GraphBuilder::new("g");
    every_residence(&g);
    let graph = g.build().expect("sound");
    let options = Options::default().keep(["only", "onyl"]);
    let error = compile(&graph, &Target::lavapipe(), &options, &RefEval).expect_err("no such param");
    let text = error.to_string();
    assert!(matches!(error, pumice_compile::CompileError::Options(_)), "{text}");
    assert!(text.contains("`onyl`") && text.contains("`only`"), "{text}");
}

/// One decision for all ranges of the symbols: what one of them reads as it is stored stays.
#[test]
fn residence_is_decided_for_all_runs() {
    let options = Options::default().specialize("n", [1]);
    for plan in plans_with(&options, every_residence) {
        assert_eq!(plan.runs.len(), 2);
        assert_eq!(streamed(&plan), ["only"], "{}", plan.target.name);
        let derived = |run: &pumice_plan::Run| {
            let values = run.program.values.iter().filter(|v| v.origin == VersionOrigin::Derived);
            values.filter(|v| v.span.region == RegionKind::Weights).map(|v| v.span).collect::<Vec<_>>()
        };
        let of_stream = plan.streams[0].program.values.iter().find(|v| v.origin == VersionOrigin::Derived);
        let span = of_stream.expect("what it leaves").span;
        assert!(plan.runs.iter().all(|run| derived(run).contains(&span)), "both read what it leaves");
    }
}

/// Plans said why params that could lie side by side are copied, and of no other copy.
#[test]
fn every_copy_says_why() {
    let build = |g: &GraphBuilder| {
        let x = g.input("x", f32([3u64, 8]));
        let turned = g.transpose(x, &[1, 0]);
        g.output("softmax of a view", g.softmax(turned, -1));
        g.output("itself", x);
        g.output("joined", g.concat(&[x, g.neg(x)], 0));
        let s = g.state("s", f32([8u64, 3]));
        let before = g.state_read(s);
        g.state_write(s, turned);
        g.output("before", g.exp(before));
        let rows = g.param("rows", tensor(Scheme::Q8_0, [8u64, K]));
        g.output("decoded", g.softmax(g.transpose(g.dequantize(rows), &[1, 0]), -1));
    };
    for plan in plans(build) {
        let steps =
            plan.load_programs().chain(plan.runs.iter().map(|run| &run.program)).flat_map(|p| &p.steps);
        let copies: Vec<_> = steps
            .filter(|step| !step.meaning.graph.text.is_empty())
            .filter(|step| {
                let meaning = read(&step.meaning.graph.text).expect("a meaning");
                meaning.nodes().all(|(_, node)| node.op.is_leaf_interface())
            })
            .collect();
        assert!(copies.len() >= 4, "{plan}");
        for copy in copies {
            assert!(!copy.reason.is_empty(), "{}: {plan}", copy.origin);
            assert!(plan.to_string().contains(&format!("because {}", copy.reason)), "{plan}");
        }
    }
}
