//! A product reads codes and scales where they lie (issue's P6): no step and no copy makes their values, and they take
//! on the device what they take as given.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::ops::DequantizeLinear;
use pumice_ir::{Graph, GraphBuilder, Value, f32, i32, tensor};
use pumice_plan::file::PlanForm;
use pumice_plan::{Plan, RegionKind, StepKind, VersionOrigin};
use pumice_types::{Code, DType, Encoding, Target};

const N: u64 = 1024;
const K: u64 = 2048;
const BLOCK: u64 = 32;
/// Most bytes of the region for each byte given.
const MOST: f64 = 1.03;
const ROWS: [u64; 6] = [1, 2, 7, 16, 33, 257];

const CODES: [Encoding; 7] = [
    Encoding::Plain(DType::I8),
    Encoding::Plain(DType::U8),
    Encoding::Codes(Code::I4),
    Encoding::Codes(Code::U4),
    Encoding::Codes(Code::F8E4M3Fn),
    Encoding::Codes(Code::F8E5M2),
    Encoding::Codes(Code::F4E2M1),
];

/// What scales are; the last are codes under one f32.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scales {
    Of(Encoding),
    Scaled,
}

const SCALES: [Scales; 5] = [
    Scales::Of(Encoding::Plain(DType::F32)),
    Scales::Of(Encoding::Plain(DType::F16)),
    Scales::Of(Encoding::Plain(DType::BF16)),
    Scales::Of(Encoding::Codes(Code::F8E8M0)),
    Scales::Scaled,
];

/// A weight \[n, k\], or \[k, n\] with `first`: blocks along k.
fn weight(g: &GraphBuilder, codes: Encoding, scales: Scales, first: bool, zero: bool) -> Value {
    let (shape, scale_shape, axis) = match first {
        true => ([K, N], [K / BLOCK, N], 0),
        false => ([N, K], [N, K / BLOCK], 1),
    };
    let op = DequantizeLinear { axis, block_size: BLOCK, output_dtype: Some(DType::F32) };
    let scale = match scales {
        Scales::Of(encoding) => g.param("scale", tensor(encoding, scale_shape)),
        Scales::Scaled => {
            let one = g.param("one", tensor::<u64>(DType::F32, []));
            let scale = g.param("scale", tensor(Code::F8E4M3Fn, scale_shape));
            g.dequantize_linear(scale, one, None, DequantizeLinear::default())
        }
    };
    let zero = zero.then(|| g.param("zero", tensor(codes, scale_shape)));
    g.dequantize_linear(g.param("w", tensor(codes, shape)), scale, zero, op)
}

fn may_have_zero(codes: Encoding) -> bool {
    codes.codes().is_none_or(Code::is_int)
}

fn built(build: impl FnOnce(&GraphBuilder)) -> Graph {
    let g = GraphBuilder::new("codes");
    build(&g);
    g.build().unwrap_or_else(|e| panic!("{e}"))
}

/// No step writes the values, neither when loading nor in a run, and the bytes are about those given. Scales that are
/// codes are decoded once: they are 1/32 of the values.
fn check(what: &str, graph: &Graph, scaled: bool) {
    let given: u64 = graph
        .params()
        .iter()
        .map(|&p| {
            let ty = graph.ty(p);
            ty.encoding.bytes(&ty.static_shape().expect("params are static")).expect("small").0
        })
        .sum();
    for target in [Target::h200(), Target::lavapipe()] {
        let plan =
            compile(graph, &target, &Options::default(), &RefEval).unwrap_or_else(|e| panic!("{what}: {e}"));
        let derived = plan.load_programs().flat_map(|p| &p.values);
        let derived: u64 = derived.filter(|v| v.origin == VersionOrigin::Derived).map(|v| v.span.len.0).sum();
        let copies = if scaled { 4 * N * K / BLOCK } else { 0 };
        assert!(derived <= copies, "{what} for {}: {derived} bytes are copies\n{plan}", target.name);
        let region = plan.region_size(RegionKind::Weights).0 - derived;
        let ratio = region as f64 / given as f64;
        assert!(ratio <= MOST, "{what} for {}: {ratio} of the bytes given", target.name);
        let steps = plan.runs.iter().flat_map(|run| &run.program.steps);
        let decoding = steps.filter(|s| is_decoding(&s.kind)).count();
        assert_eq!(decoding, 0, "{what} for {}\n{plan}", target.name);
        let scratch = plan.region_size(RegionKind::Scratch).0;
        assert!(scratch < N * K, "{what} for {}: {scratch} bytes of scratch", target.name);
    }
}

fn is_decoding(kind: &StepKind) -> bool {
    matches!(kind, StepKind::Dispatch { call, .. } if call.kernel.0 == "dequantize_linear")
}

#[test]
fn products_read_codes_where_they_lie() {
    for codes in CODES {
        for scales in SCALES {
            for first in [false, true] {
                for m in ROWS {
                    let zero = m % 2 == 0 && may_have_zero(codes);
                    let graph = built(|g| {
                        let (x, w) = (g.input("x", f32([m, K])), weight(g, codes, scales, first, zero));
                        g.output("y", if first { g.matmul(x, w) } else { g.linear(x, w, None) });
                    });
                    let what = format!("{m} rows, {codes} under {scales:?}, k first: {first}");
                    check(&what, &graph, scales == Scales::Scaled);
                }
            }
        }
    }
}

/// What follows goes into the same step, and products of the same rows stay apart.
#[test]
fn epilogues_and_neighbours_cost_no_copy() {
    let graph = built(|g| {
        let x = g.input("x", f32([7, K]));
        let w = weight(g, CODES[2], SCALES[0], false, true);
        g.output("y", g.relu(g.linear(x, w, Some(g.param("bias", f32([N]))))));
        g.output("z", g.linear(x, g.param("other", f32([64, K])), None));
    });
    check("bias and ReLU", &graph, false);
}

#[test]
fn rows_by_index_read_codes_where_they_lie() {
    for codes in CODES {
        let graph = built(|g| {
            let w = weight(g, codes, SCALES[0], false, may_have_zero(codes));
            g.output("y", g.embedding(w, g.input("ids", i32([9]))));
        });
        check(&format!("rows of {codes}"), &graph, false);
    }
}

/// A plan says what its step means, so that the interpreter runs it; as a file it is the same.
#[test]
fn plans_of_codes_are_files() {
    let graph = built(|g| {
        let w = weight(g, CODES[2], SCALES[3], false, true);
        g.output("y", g.linear(g.input("x", f32([2, K])), w, None));
    });
    let plan = compile(&graph, &Target::h200(), &Options::default(), &RefEval).expect("a plan");
    let text = format!("{plan}");
    assert!(text.contains("i4[1024, 2048]") && text.contains("f8e8m0[1024, 64]"), "{text}");
    let bytes = plan.to_bytes(PlanForm::Explain).expect("a file");
    let loaded = Plan::load(&bytes).expect("what was saved");
    assert_eq!(format!("{loaded}"), text);
}
