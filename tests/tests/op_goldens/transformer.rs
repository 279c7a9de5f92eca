//! Cases of `goldens_transformer.py`: attention, rotation and norms with their further results.

use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::rotary_scaling::{RotaryScaling, Yarn};
use pumice_ir::ops::{Attention, LayerNorm, RmsNorm, Rotary};
use pumice_ir::{GraphBuilder, Value};
use pumice_tests::goldens::{Golden, pair};
use serde_json::Value as Json;

/// The results, of operands that are data. None of ops that are not here.
pub(super) fn build(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    norm(case, g, x).or_else(|| attention(case, g, x)).or_else(|| rotation(case, g, x))
}

/// What a value counts as at least: results are sums of values of about 1.
pub(super) fn floor(op: &str) -> Option<f64> {
    let sums =
        ["attention_with", "attention_packed", "rotary_by_factors", "rotary_scaled", "LayerNormalization"];
    sums.contains(&op).then_some(3.0)
}

fn number(case: &Golden, name: &str) -> f32 {
    case.attributes.get(name).and_then(Json::as_f64).expect("a number") as f32
}

fn norm(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    let axis = case.int("axis");
    Some(match case.op.as_str() {
        "LayerNormalization" => {
            let op = LayerNorm { axis, epsilon: number(case, "epsilon"), ..LayerNorm::default() };
            let (y, mean, inverse) = g.layer_norm_with_statistics(x[0], Some(x[1]), x.get(2).copied(), op);
            vec![y, mean, inverse]
        }
        "rms_norm_with_statistics" => {
            let op = RmsNorm { axis, epsilon: number(case, "epsilon"), ..RmsNorm::default() };
            pair(g.rms_norm_with_statistics(x[0], x[1], None, op))
        }
        _ => return None,
    })
}

fn attention(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    match case.op.as_str() {
        "attention_with" => {
            let op = Attention {
                scale: Some(number(case, "scale")),
                causal: case.flag("causal"),
                left: case.int("left"),
                right: case.int("right"),
                softcap: number(case, "softcap"),
                ..Attention::default()
            };
            let names: Vec<&str> = case.word("with").split(' ').collect();
            let of = |name: &str| names.iter().position(|n| *n == name).map(|i| x[3 + i]);
            let operands = AttentionOperands {
                mask: of("mask"),
                kv_len: of("kv_len"),
                offset: of("offset"),
                sinks: of("sinks"),
                alibi: of("alibi"),
                source: None,
            };
            Some(pair(g.attention_with([x[0], x[1], x[2]], operands, op)))
        }
        "attention_packed" => {
            let heads = ["q_num_heads", "kv_num_heads"].map(|name| case.int(name) as u64);
            let op = Attention { causal: case.flag("is_causal"), ..Attention::default() };
            let operands = AttentionOperands::default();
            Some(pair(g.attention_packed([x[0], x[1], x[2]], heads, operands, op)))
        }
        _ => None,
    }
}

fn rotation(case: &Golden, g: &GraphBuilder, x: &[Value]) -> Option<Vec<Value>> {
    let op = || Rotary {
        theta: number(case, "theta"),
        freq_scale: number(case, "freq_scale"),
        ..Rotary::default()
    };
    Some(match case.op.as_str() {
        "rotary_by_factors" => {
            let (interleaved, n_rot) = (case.flag("interleaved"), Some(case.int("n_rot")));
            let op = Rotary { interleaved, n_rot, magnitude: number(case, "magnitude"), ..op() };
            vec![g.rotary_by_factors(x[0], x[1], x[2], op)]
        }
        "rotary_scaled" => {
            let yarn = Yarn {
                ext: number(case, "ext"),
                attn: number(case, "attn"),
                beta_fast: number(case, "beta_fast"),
                beta_slow: number(case, "beta_slow"),
                original_context: case.int("context") as u64,
            };
            let scaling = RotaryScaling { yarn: Some(yarn), ..RotaryScaling::default() };
            vec![g.rotary_scaled(x[0], x[1], None, scaling, op())]
        }
        _ => return None,
    })
}
