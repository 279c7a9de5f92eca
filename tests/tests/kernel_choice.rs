//! Kernels that only some shapes and some devices get: which plans take them, and that they compute what the others do.
//!
//! A plan for a GPU runs on a CPU driver as well, so that its kernels are tested wherever the suites run.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::shape::DimSpec;
use pumice_ir::{Graph, GraphBuilder, Op, Value, f32, sym, tensor};
use pumice_plan::{KernelCall, Plan, StepKind};
use pumice_tests::op_suite::checked;
use pumice_types::{DType, DimExpr, Encoding, Scheme, Target};

fn plan(graph: &Graph, target: &Target) -> Plan {
    let plan = compile(graph, target, &Options::default(), &RefEval);
    let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
    checked(&plan).unwrap_or_else(|e| panic!("{}: {e}", graph.name()));
    plan
}

/// `kernel.variant` of the dispatches of the runs, in order.
fn kernels(plan: &Plan) -> Vec<String> {
    let steps = plan.runs.iter().flat_map(|r| &r.program.steps);
    let calls = steps.filter_map(|s| match &s.kind {
        StepKind::Dispatch { call, .. } => Some(format!("{}.{}", call.kernel, call.variant)),
        _ => None,
    });
    calls.collect()
}

/// The kernels of a graph of one input of that dtype and shape.
fn kernels_of<D: Into<DimSpec>>(
    target: &Target,
    dtype: DType,
    shape: impl IntoIterator<Item = D>,
    build: impl FnOnce(&GraphBuilder, Value) -> Value,
) -> Vec<String> {
    let g = GraphBuilder::new("choice");
    let x = g.input("x", tensor(dtype, shape));
    g.output("y", build(&g, x));
    kernels(&plan(&g.build().expect("sound"), target))
}

const TILES: &str = "transpose.plain";

#[test]
fn copies_that_exchange_the_innermost_axis_go_through_tiles() {
    let gpu = Target::h200();
    let transposed = |dtype, shape: &[u64], perm: &'static [i64]| {
        kernels_of(&gpu, dtype, shape.iter().copied(), |g, x| g.transpose(x, perm))
    };
    for dtype in [DType::F32, DType::I32, DType::U32] {
        assert_eq!(transposed(dtype, &[2048, 2048], &[1, 0]), [TILES], "{dtype}");
    }
    assert_eq!(transposed(DType::F32, &[64, 128, 384], &[0, 2, 1]), [TILES]);
    assert_eq!(transposed(DType::F32, &[8, 14, 14, 64], &[0, 3, 1, 2]), [TILES], "two axes are one");
    assert_eq!(transposed(DType::F32, &[64, 5, 96], &[2, 1, 0]), [TILES], "the batch lies in the middle");
    assert_eq!(transposed(DType::F32, &[32, 32], &[1, 0]), [TILES]);
    // Too narrow, the same innermost axis, two axes of batch, 64-bit elements.
    let strided = "elementwise_strided.plain";
    assert_eq!(transposed(DType::F32, &[31, 2048], &[1, 0]), [strided]);
    assert_eq!(transposed(DType::F32, &[2048, 31], &[1, 0]), [strided]);
    assert_eq!(transposed(DType::F32, &[64, 128, 384], &[1, 0, 2]), ["elementwise_strided4.plain"]);
    assert_eq!(transposed(DType::F32, &[40, 3, 50, 4], &[2, 1, 3, 0]), [strided]);
    assert_eq!(transposed(DType::I64, &[64, 64], &[1, 0]), [strided]);
    // 16-bit elements are widened as they lie, and narrowed once they lie in order.
    assert!(!transposed(DType::F16, &[64, 64], &[1, 0]).contains(&TILES.to_owned()));
    for target in [gpu, Target::lavapipe()] {
        let rows = [sym("n", 1..=512), 384.into()];
        let steps = kernels_of(&target, DType::F32, rows, |g, x| g.transpose(x, &[1, 0]));
        assert_eq!(steps, [TILES], "symbolic, {}", target.name);
    }
}

#[test]
fn operands_that_must_lie_in_order_go_through_tiles() {
    let gpu = Target::h200();
    let softmax = |g: &GraphBuilder, x| g.softmax(g.transpose(x, &[1, 0]), 0);
    let joined = |g: &GraphBuilder, x| g.relu(g.reshape(g.transpose(x, &[1, 0]), &[-1]));
    let part = |g: &GraphBuilder, x| g.transpose(g.narrow(x, 1, 5u64, DimExpr::constant(64)), &[1, 0]);
    for (what, steps) in [
        ("softmax", kernels_of(&gpu, DType::F32, [96u64, 160], softmax)),
        ("one axis of two", kernels_of(&gpu, DType::F32, [96u64, 160], joined)),
        ("columns 5 to 69", kernels_of(&gpu, DType::F32, [96u64, 160], part)),
    ] {
        assert_eq!(steps.iter().filter(|k| *k == TILES).count(), 1, "{what}: {steps:?}");
    }
    // An elementwise step has tiles of its own.
    let relu = kernels_of(&gpu, DType::F32, [96u64, 160], |g, x| g.relu(g.transpose(x, &[1, 0])));
    assert_eq!(relu, ["elementwise_tiles.plain"]);
}

#[test]
fn elementwise_steps_read_transposed_operands_through_tiles() {
    let (gpu, cpu) = (Target::h200(), Target::lavapipe());
    let sum = |target: &Target, shape: &[u64], perm: &'static [i64]| {
        kernels_of(target, DType::F32, shape.iter().copied(), |g, x| {
            let y = g.transpose(x, perm);
            g.mul(g.exp(y), y)
        })
    };
    let tiles = ["elementwise_tiles.plain"];
    assert_eq!(sum(&gpu, &[512, 300], &[1, 0]), tiles);
    assert_eq!(sum(&gpu, &[8, 40, 50, 64], &[0, 3, 1, 2]), tiles, "a batch before, two axes are one");
    assert_eq!(sum(&gpu, &[64, 50, 40], &[2, 1, 0]), tiles, "the batch lies between");
    // Too narrow, and contiguous along the last axis all the same.
    assert_eq!(sum(&gpu, &[31, 512], &[1, 0]), ["elementwise_strided.plain"]);
    assert_eq!(sum(&gpu, &[8, 512, 12, 64], &[0, 2, 1, 3]), ["elementwise_strided4.plain"]);
    assert_eq!(sum(&cpu, &[512, 300], &[1, 0]), ["elementwise_runs.plain"]);
}

/// Where no four elements lie together, many are read four at a time that lie apart, but for 64-bit ones.
#[test]
fn many_elements_that_begin_anywhere_are_spread() {
    let (gpu, cpu) = (Target::h200(), Target::lavapipe());
    let last = |target: &Target, dtype, n: u64| {
        kernels_of(target, dtype, [n], |g, x| {
            g.add(g.slice(x, &[1], &[n as i64], &[0], &[1]), g.constant_scalar(dtype, 1.0))
        })
    };
    assert_eq!(last(&gpu, DType::F32, 270_337), ["elementwise_spread.plain"]);
    assert_eq!(last(&gpu, DType::F32, 270_336), ["elementwise_strided.plain"], "few");
    assert_eq!(last(&gpu, DType::I64, 270_337), ["elementwise_strided.plain"], "64 bits");
    assert_eq!(last(&cpu, DType::F32, 270_337), ["elementwise_runs.plain"]);
}

#[test]
fn softmaxes_of_few_long_rows_get_large_groups() {
    let (gpu, cpu) = (Target::h200(), Target::lavapipe());
    let softmax = |target: &Target, shape: &[u64], axis: i64| {
        kernels_of(target, DType::F32, shape.iter().copied(), |g, x| g.softmax(x, axis))
    };
    assert_eq!(
        softmax(&gpu, &[34, 131_072], 1),
        ["softmax_rows.wide"],
        "fewer than four compute units for a row"
    );
    assert_eq!(softmax(&gpu, &[33, 131_072], 1)[0], "reduce_rows.plain", "a row is cut for four");
    assert_eq!(softmax(&gpu, &[8, 32_768], 1), ["softmax_rows.wide8"]);
    assert_eq!(softmax(&gpu, &[8, 8192], 1), ["softmax_rows.wide4"]);
    assert_eq!(softmax(&gpu, &[8192, 8192], 1), ["softmax_rows.fast8"], "every compute unit has a row");
    assert_eq!(softmax(&cpu, &[1, 131_072], 1), ["softmax_rows.plain"]);
    // Threads share columns where these are few: eight or more neighbours a group, or fewer of very long ones.
    for (shape, groups) in [([64u64, 512, 64], 512), ([8, 4, 9000], 282), ([1, 65_536, 8], 8)] {
        let g = GraphBuilder::new("columns");
        g.output("y", g.softmax(g.input("x", f32(shape)), 1));
        let plan = plan(&g.build().expect("sound"), &gpu);
        match &plan.runs[0].program.steps[0].kind {
            StepKind::Dispatch { grid, .. } => {
                assert_eq!(*grid, pumice_plan::Grid::Static([groups, 1, 1]), "{shape:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn reductions_over_separated_axes_are_several() {
    let (gpu, cpu) = (Target::h200(), Target::lavapipe());
    let sum = |target: &Target, shape: &[u64], axes: &'static [i64]| {
        kernels_of(target, DType::F32, shape.iter().copied(), |g, x| g.reduce_sum(x, axes, false))
    };
    assert_eq!(sum(&gpu, &[64, 256, 56, 56], &[0, 2, 3]), ["reduce_rows.plain", "reduce_columns.plain"]);
    // The longest run first, whichever it is.
    let both = sum(&gpu, &[512, 256, 40], &[0, 2]);
    assert_eq!(both.last().map(String::as_str), Some("reduce_rows.plain"), "{both:?}");
    assert!(!both.contains(&"reduce_strided.plain".to_owned()));
    assert_eq!(sum(&gpu, &[4, 16, 4], &[0, 2]), ["reduce_strided.plain"], "a level more is dearer");
    assert_eq!(sum(&cpu, &[64, 256, 28, 28], &[0, 2, 3]), ["reduce_strided.plain"]);
}

/// The kernel of a language model's products on a CPU driver: weights of \[n, k\], dense or in blocks.
#[test]
fn weights_along_k_are_read_as_they_lie_on_a_cpu_driver() {
    let product = |target: &Target, weight: Encoding, [m, n, k]: [u64; 3]| {
        kernels_of(target, DType::F32, [m, k], |g, x| {
            let w = g.param("w", tensor(weight, [n, k]));
            g.linear(x, if weight.plain().is_some() { w } else { g.dequantize(w) }, None)
        })
    };
    let (cpu, blocks, dense) = (Target::lavapipe(), Encoding::from(Scheme::Q4_1), DType::F32.into());
    for weight in [blocks, dense] {
        assert_eq!(product(&cpu, weight, [1, 576, 1536]), ["matmul_f32_dot_lanes.shuffle"], "{weight}");
        assert_eq!(product(&cpu, weight, [8, 576, 1536]), ["matmul_f32_lanes.shuffle_small"], "{weight}");
    }
    assert_eq!(product(&cpu, blocks, [128, 576, 1536]), ["matmul_f32_lanes.shuffle_blocks"]);
    assert_eq!(product(&cpu, blocks, [128, 32, 1536]), ["matmul_f32_lanes.shuffle_small"], "few columns");
    assert_eq!(product(&cpu, dense, [128, 576, 1536]), ["matmul_f32_lanes.shuffle"]);
    assert_eq!(product(&cpu, dense, [1, 64, 1 << 20]), ["matmul_f32_dot.plain"], "too many terms");
    let mut narrow = cpu;
    narrow.features.int64 = false;
    assert_eq!(product(&narrow, blocks, [1, 576, 1536]), ["matmul_f32_lanes.plain_row"]);
}

#[test]
fn one_query_over_many_keys_is_made_in_parts() {
    let (gpu, cpu) = (Target::h200(), Target::lavapipe());
    let attention = |target: &Target, heads: u64, keys: u64, width: u64| {
        let g = GraphBuilder::new("attention");
        let q = g.input("q", f32([1u64, 32, 1, width]));
        let [k, v] = ["k", "v"].map(|n| g.input(n, f32([1u64, heads, keys, width])));
        let op = pumice_ir::ops::Attention::default();
        g.output("y", g.attention(q, k, v, None, None, op));
        kernels(&plan(&g.build().expect("sound"), target))
    };
    assert_eq!(attention(&gpu, 8, 8192, 128), ["attention_parts.w128_r4", "attention_merge.plain"]);
    assert_eq!(attention(&gpu, 32, 2048, 128), ["attention_parts.w128", "attention_merge.plain"]);
    assert_eq!(attention(&gpu, 8, 1024, 64), ["attention_parts.w64_r4", "attention_merge.plain"]);
    assert_eq!(attention(&gpu, 8, 128, 64), ["attention_split.w64"], "few keys");
    assert_eq!(attention(&gpu, 8, 8192, 256), ["attention_parts.w256_r4", "attention_merge.plain"]);
    assert_eq!(attention(&gpu, 32, 2048, 256), ["attention_parts.w256", "attention_merge.plain"]);
    assert_eq!(attention(&cpu, 8, 8192, 128), ["attention_lanes.shuffle_w128_row"]);
}

/// The parts of a long k are added by a reduction; what no number divides leaves a product more.
#[test]
fn long_products_of_few_results_are_cut_often() {
    let product = |k: u64| {
        let g = GraphBuilder::new("product");
        let (a, b) = (g.input("a", f32([128, k])), g.input("b", f32([k, 128])));
        g.output("y", g.matmul(a, b));
        kernels(&plan(&g.build().expect("sound"), &Target::h200()))
    };
    let even = product(65_536);
    assert_eq!(even.len(), 2, "{even:?}");
    assert_eq!(even[1], "reduce_columns.plain");
    let odd = product(50_257);
    assert_eq!(odd.len(), 3, "parts, their sum, what remains with the sum added: {odd:?}");
    assert_eq!(odd.iter().filter(|k| k.starts_with("matmul_f32.")).count(), 2, "{odd:?}");
}

#[test]
fn few_long_rows_get_large_groups() {
    let (gpu, cpu) = (Target::h200(), Target::lavapipe());
    let arg_max = |target: &Target, shape: [u64; 2]| {
        kernels_of(target, DType::F32, shape, |g, x| g.arg_max(x, -1, false))
    };
    let (fast, plain) = (["arg_reduce.fast"], ["arg_reduce.plain"]);
    assert_eq!(arg_max(&gpu, [1, 32_000]), fast);
    assert_eq!(arg_max(&gpu, [132, 4096]), fast);
    assert_eq!(arg_max(&gpu, [133, 4096]), plain, "every compute unit has a group");
    assert_eq!(arg_max(&gpu, [1, 4095]), plain, "less than a load a thread");
    assert_eq!(arg_max(&cpu, [1, 32_000]), plain);
    let mut small = gpu.clone();
    small.limits.max_workgroup_invocations = 512;
    assert_eq!(arg_max(&small, [1, 32_000]), plain, "no groups of 1024");
    // The groups are as many as outputs.
    let g = GraphBuilder::new("groups");
    g.output("y", g.arg_max(g.input("x", f32([7u64, 5000])), 1, false));
    let plan = plan(&g.build().expect("sound"), &gpu);
    match &plan.runs[0].program.steps[0].kind {
        StepKind::Dispatch { grid, .. } => assert_eq!(*grid, pumice_plan::Grid::Static([7, 1, 1])),
        other => panic!("{other:?}"),
    }
}

mod on_device {
    use super::*;
    use pumice_tests::op_suite::{Case, Outcome, Runner};
    use pumice_tests::{Fixture, device};
    use pumice_types::TensorView;
    use pumice_vulkan::DeviceOptions;
    use std::collections::BTreeMap;

    /// Samples with larger values take minutes on a CPU driver.
    const LARGEST: u64 = 200_000;

    /// The device under test as if it were a GPU.
    fn gpu() -> Runner {
        let mut runner = Runner::new(device::open(&DeviceOptions::default()), LARGEST);
        runner.target = runner.target.selecting_as(&Target::h200());
        runner
    }

    /// Every sample of the ops that such kernels compute, planned as for a GPU, gives what the evaluator says.
    #[test]
    fn samples_planned_for_a_gpu_compute_the_same() {
        let runner = gpu();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for op in ["transpose", "arg_max", "add", "softmax"] {
            for sample in Op::samples(op) {
                let case = Case::new(op, sample);
                match runner.run(&case) {
                    Outcome::Failed(why) => panic!("{}: {why}", case.name()),
                    Outcome::Excluded(_) => continue,
                    Outcome::Passed => {}
                }
                let plan = runner.plan(case.sample.graph.as_ref().expect("it ran")).expect("it ran");
                kernels(&plan).into_iter().for_each(|k| *taken.entry(k).or_default() += 1);
            }
        }
        println!("{taken:?}");
        assert!(taken.get(TILES).is_some_and(|&n| n >= 12), "{taken:?}");
        assert!(taken.get("arg_reduce.fast").is_some_and(|&n| n >= 6), "{taken:?}");
        assert!(taken.contains_key("elementwise_tiles.plain"), "{taken:?}");
        for variant in ["wide", "wide4", "wide8"] {
            assert!(taken.contains_key(&format!("softmax_rows.{variant}")), "{taken:?}");
        }
    }

    /// The first (or last) of the smallest, the first NaN before all.
    fn arg_min(row: &[f32], last: bool) -> i64 {
        if let Some(nan) = row.iter().position(|v| v.is_nan()) {
            return nan as i64;
        }
        let least = row.iter().copied().fold(f32::INFINITY, f32::min);
        let found =
            if last { row.iter().rposition(|&v| v == least) } else { row.iter().position(|&v| v == least) };
        found.expect("a row has elements") as i64
    }

    #[test]
    fn large_groups_find_the_smallest() {
        const N: usize = 32_768;
        let (runner, fixture) = (gpu(), Fixture::vulkan());
        let ties: Vec<f32> = (0..N).map(|i| if i % 97 == 41 { -3.0 } else { (i % 29) as f32 }).collect();
        let mut with_nan = ties.clone();
        (with_nan[20_011], with_nan[31_000]) = (f32::NAN, f32::NAN);
        let zeros: Vec<f32> = (0..N).map(|i| if i % 2 == 0 { 0.0 } else { -0.0 }).collect();
        for last in [false, true] {
            let g = GraphBuilder::new("least");
            let op = pumice_ir::ops::ArgMin {
                axis: 1,
                keepdims: false,
                select_last_index: last,
                index_dtype: DType::I64,
            };
            g.output("y", g.apply(op, &[g.input("x", f32([1, N as u64]))]));
            let plan = runner.plan(&g.build().expect("sound")).expect("compiles").into_plan();
            assert_eq!(only_call(&plan).variant, "fast");
            let exe = fixture.load(plan);
            let mut session = exe.session().expect("a session");
            for row in [&ties, &with_nan, &zeros] {
                let outputs = session.run(&[("x", TensorView::f32(row, [1, N as u64]))]).expect("runs");
                let got = outputs.at(0).expect("one").to_vec::<i64>().expect("i64");
                assert_eq!(got, [arg_min(row, last)], "last: {last}");
            }
        }
    }

    fn only_call(plan: &Plan) -> &KernelCall {
        match &plan.runs[0].program.steps[..] {
            [step] => match &step.kind {
                StepKind::Dispatch { call, .. } => call,
                other => panic!("{other:?}"),
            },
            steps => panic!("{} steps", steps.len()),
        }
    }
}
