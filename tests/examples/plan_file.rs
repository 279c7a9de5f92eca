//! The plan of a Llama of eight billion weights as a file: `plan_file [--out FILE] [--json]`. Prints bytes of both
//! forms and the seconds of compiling, saving, loading and checking, each the best of five.

use pumice_plan::{CheckedPlan, Plan, PlanForm};
use pumice_tests::graphs::eight_billion;
use serde_json::json;
use std::time::Instant;

/// The result and the seconds of the fastest of five.
fn best<T>(mut once: impl FnMut() -> T) -> (T, f64) {
    let mut one = || {
        let begin = Instant::now();
        let result = once();
        (result, begin.elapsed().as_secs_f64())
    };
    let mut best = one();
    for _ in 1..5 {
        let next = one();
        if next.1 < best.1 {
            best = next;
        }
    }
    best
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let graph = eight_billion::graph();
    let (plan, compile) = best(|| eight_billion::plan(&graph));
    let explained = plan.to_bytes(PlanForm::Explain).expect("its kernels are known");
    let plan = plan.into_run_form();
    let (file, save) = best(|| plan.to_bytes(PlanForm::Run).expect("its kernels are known"));
    let (_, load) = best(|| Plan::load(&file).expect("as it was saved"));
    let (_, both) = best(|| CheckedPlan::new(Plan::load(&file).expect("as it was saved")).expect("sound"));
    if let Some(path) = args.iter().position(|a| a == "--out").and_then(|i| args.get(i + 1)) {
        std::fs::write(path, &file).expect("written");
    }
    let steps: usize = plan.runs.iter().map(|r| r.program.steps.len()).sum();
    let (run, explain) = (file.len(), explained.len());
    if args.iter().any(|a| a == "--json") {
        println!(
            "{}",
            json!({"runs": plan.runs.len(), "steps": steps, "run_bytes": run, "explain_bytes": explain,
                   "compile_s": compile, "save_s": save, "load_s": load, "load_and_check_s": both})
        );
        return;
    }
    println!("{} runs, {steps} steps; run form {run} bytes, explain form {explain} bytes", plan.runs.len());
    println!(
        "compile {:.1} ms, save {:.1} ms, load {:.1} ms, load and check {:.1} ms",
        1e3 * compile,
        1e3 * save,
        1e3 * load,
        1e3 * both
    );
}
