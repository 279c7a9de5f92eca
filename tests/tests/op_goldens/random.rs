//! Cases of `goldens_random.py`: random numbers, draws, penalties, routers.

use pumice_ir::ops::Dropout;
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::sample::SampleOptions;
use pumice_ir::ops::source::RandomSource;
use pumice_ir::ops::top_k_moe_router::{RouterGate, TopKMoeRouter};
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::{Golden, given, pair};
use pumice_types::{DType, DimExpr};

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Option<Value>]) -> Option<Vec<Value>> {
    Some(match case.op.as_str() {
        "random_uniform" => {
            let op = RandomUniform {
                low: number(case, "low"),
                high: number(case, "high"),
                dtype: dtype(case),
                stream: stream(case),
            };
            vec![g.random_uniform(shape(case), source(x, 0), op)]
        }
        "random_normal" => {
            let (mean, scale) = (number(case, "mean"), number(case, "scale"));
            let op = RandomNormal { mean, scale, dtype: dtype(case), stream: stream(case) };
            vec![g.random_normal(shape(case), source(x, 0), op)]
        }
        "dropout_training" => {
            let op =
                Dropout { ratio: number(case, "ratio"), training: true, stream: case.int("stream") as u64 };
            g.apply_all(op, x)
        }
        "sample" => {
            let options = SampleOptions {
                temperature: x[1],
                top_k: x[2],
                top_p: x[3],
                min_p: x[4],
                source: source(x, 5),
                stream: stream(case),
            };
            pair(g.sample(given(x, 0), options))
        }
        "token_counts" => vec![g.token_counts(given(x, 0), DimExpr::constant(case.int("vocabulary")))],
        "repetition_penalty" => vec![g.repetition_penalty(given(x, 0), given(x, 1), given(x, 2))],
        "logit_bias" => vec![g.logit_bias(given(x, 0), given(x, 1), given(x, 2))],
        "top_k_moe_router" => pair(g.top_k_moe_router(given(x, 0), x[1], router(case))),
        _ => return None,
    })
}

fn number(case: &Golden, name: &str) -> f32 {
    case.number(name).expect("it is given") as f32
}

fn stream(case: &Golden) -> Option<u32> {
    Some(case.int("stream") as u32)
}

fn dtype(case: &Golden) -> DType {
    if case.word("dtype") == "f16" { DType::F16 } else { DType::F32 }
}

fn shape(case: &Golden) -> Vec<DimExpr> {
    case.list("shape").into_iter().map(DimExpr::constant).collect()
}

/// Two words of a seed and a step, from an operand on.
fn source(x: &[Option<Value>], first: usize) -> Option<RandomSource> {
    let [seed_low, seed_high, step] = [0, 1, 2].map(|i| given(x, first + i));
    Some(RandomSource { seed_low, seed_high, step })
}

fn router(case: &Golden) -> TopKMoeRouter {
    let gates = ["identity", "softmax", "sigmoid", "sqrt_softplus"];
    let gate = gates.iter().position(|gate| *gate == case.word("gate")).expect("a gate");
    TopKMoeRouter {
        k: case.int("k") as u64,
        gate: RouterGate::ALL[gate],
        after: case.flag("after"),
        norm: case.flag("norm"),
        scale: number(case, "scale"),
        groups: case.int("groups") as u64,
        groups_kept: case.int("groups_kept") as u64,
    }
}
