//! Factors that products round more than once are rounded before, by a step of their own, and stored in half the bytes.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::{GraphBuilder, Value, f32, tensor};
use pumice_plan::check::check;
use pumice_plan::{Access, Plan};
use pumice_types::{DType, Precision, Target};

/// Rows, columns and terms of a product that is large enough.
const LARGE: u64 = 1024;

/// A plan for each profile, checked.
fn plans(precision: Precision, build: impl Fn(&GraphBuilder)) -> Vec<Plan> {
    let plan = |target: Target| {
        let g = GraphBuilder::new("g");
        build(&g);
        let graph = g.build().expect("the graph is sound");
        let options = Options::default().precision(precision);
        let plan = compile(&graph, &target, &options, &RefEval).expect("it compiles");
        check(&plan).unwrap_or_else(|faults| panic!("{faults:?}"));
        plan
    };
    [Target::h200(), Target::lavapipe()].map(plan).into()
}

/// The bytes of each rounded factor, in the order of the steps that make them.
fn rounded(plan: &Plan) -> Vec<u64> {
    let steps = plan.runs[0].program.steps.iter();
    let rounding = steps.filter(|step| step.reason.starts_with("products read it rounded"));
    let written = rounding.flat_map(|step| &step.uses).filter(|u| u.access == Access::ShaderWrite);
    written.map(|u| u.span.len.0).collect()
}

/// −x, which no product takes into itself.
fn factor(g: &GraphBuilder, name: &str, rows: u64, columns: u64) -> Value {
    g.neg(g.input(name, f32([rows, columns])))
}

#[test]
fn each_is_rounded_once_for_all_its_readers() {
    for precision in [Precision::F16, Precision::Bf16] {
        let plans = plans(precision, |g| {
            let x = factor(g, "x", LARGE, LARGE);
            for name in ["v", "w"] {
                // A transposed factor is a view of what is rounded.
                let factor = g.transpose(factor(g, name, LARGE, LARGE), &[1, 0]);
                g.output(&format!("x{name}"), g.matmul(x, factor));
            }
        });
        for plan in plans {
            assert_eq!(rounded(&plan), [2 * LARGE * LARGE; 3], "{precision}, {}", plan.target.name);
        }
    }
}

#[test]
fn none_is_where_that_is_not_worth_a_step() {
    let of = |precision, rows: u64, columns: u64| {
        let product = |g: &GraphBuilder| {
            g.output("y", g.matmul(factor(g, "x", rows, LARGE), factor(g, "w", LARGE, columns)));
        };
        plans(precision, product).iter().flat_map(rounded).collect::<Vec<u64>>()
    };
    assert_eq!(of(Precision::Exact, LARGE, LARGE), [0; 0]);
    assert_eq!(of(Precision::Bf16, 64, LARGE), [0; 0]);
    assert_eq!(of(Precision::Bf16, 16, 64 * LARGE), [0; 0]);
    assert_eq!(of(Precision::Bf16, LARGE, LARGE).len(), 4);
}

/// Weights would be kept twice.
#[test]
fn weights_are_rounded_where_they_are_read() {
    let plans = plans(Precision::F16, |g| {
        let w = g.param("w", f32([LARGE, LARGE]));
        g.output("y", g.linear(factor(g, "x", LARGE, LARGE), w, None));
    });
    for plan in plans {
        assert_eq!(rounded(&plan).len(), 1, "{}", plan.target.name);
    }
}

/// What a branch rounds first is there for others, too, whether the branch is taken or not: the checker says so.
#[test]
fn what_a_branch_rounds_serves_others() {
    let plans = plans(Precision::Bf16, |g| {
        let (x, w) = (factor(g, "x", LARGE, LARGE), factor(g, "w", LARGE, LARGE));
        let taken = g.input("taken", tensor::<u64>(DType::Bool, []));
        let y = g.if_(taken, |g| [g.matmul(x, w)], |_| [x]);
        g.output("y", y[0]);
        g.output("z", g.matmul(x, g.abs(w)));
    });
    for plan in plans {
        assert_eq!(rounded(&plan).len(), 3, "{}", plan.target.name);
    }
}
