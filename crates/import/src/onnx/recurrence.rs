//! Recurrent networks and linear attention.

use super::call::Call;
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::Value;
use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet, UpdateRule};
use pumice_ir::ops::networks::{Activation, Direction, Gru, Lstm, NetworkOperands, Rnn, SequenceLayout};
use pumice_ir::ops::recurrent_layer::CellActivation;

pub(super) const RULES: &[Rule] = &[
    rule("RNN", 7, rnn),
    rule("GRU", 7, gru),
    rule("LSTM", 7, lstm),
    rule("LinearAttention", 27, linear_attention),
];

const ACTIVATIONS: [(&str, CellActivation); 11] = [
    ("Relu", CellActivation::Relu),
    ("Tanh", CellActivation::Tanh),
    ("Sigmoid", CellActivation::Sigmoid),
    ("Softsign", CellActivation::Softsign),
    ("Softplus", CellActivation::Softplus),
    ("Affine", CellActivation::Affine),
    ("LeakyRelu", CellActivation::LeakyRelu),
    ("ThresholdedRelu", CellActivation::ThresholdedRelu),
    ("ScaledTanh", CellActivation::ScaledTanh),
    ("HardSigmoid", CellActivation::HardSigmoid),
    ("Elu", CellActivation::Elu),
];

/// What all three have. Names of activations are compared without regard to case, as ONNX says; α and β are lists of
/// their own, of the first activations that have one.
fn base(c: &mut Call<'_>, [_, _, r]: [Value; 3]) -> Result<Rnn, OnnxError> {
    let directions = [
        ("forward", Direction::Forward),
        ("reverse", Direction::Reverse),
        ("bidirectional", Direction::Bidirectional),
    ];
    let layout = match c.flag("layout", false)? {
        true => SequenceLayout::BatchFirst,
        false => SequenceLayout::StepsFirst,
    };
    if let Some(&hidden) = c.extents(r)?.last() {
        c.expect_same("hidden_size", hidden)?;
    }
    let direction = c.choice("direction", "forward", &directions)?;
    Ok(Rnn { direction, activations: activations(c)?, clip: c.opt_float("clip")?, layout })
}

fn activations(c: &mut Call<'_>) -> Result<Vec<Activation>, OnnxError> {
    let words = c.words("activations")?;
    let (alphas, betas) = (c.floats("activation_alpha")?, c.floats("activation_beta")?);
    let (mut alphas, mut betas) = (alphas.into_iter(), betas.into_iter());
    let of = |word: &String| {
        let found = ACTIVATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let (_, kind) = found.ok_or_else(|| c.wrong("activations", format!("has no `{word}`")))?;
        let mut activation = Activation::from(*kind);
        if has_alpha(*kind) {
            activation.alpha = alphas.next().unwrap_or(activation.alpha);
        }
        if has_beta(*kind) {
            activation.beta = betas.next().unwrap_or(activation.beta);
        }
        Ok(activation)
    };
    words.iter().map(of).collect()
}

fn has_alpha(kind: CellActivation) -> bool {
    use CellActivation::{Affine, Elu, HardSigmoid, LeakyRelu, ScaledTanh, ThresholdedRelu};
    matches!(kind, Affine | Elu | HardSigmoid | LeakyRelu | ScaledTanh | ThresholdedRelu)
}

fn has_beta(kind: CellActivation) -> bool {
    matches!(kind, CellActivation::Affine | CellActivation::ScaledTanh | CellActivation::HardSigmoid)
}

fn main(c: &mut Call<'_>) -> Result<[Value; 3], OnnxError> {
    Ok([c.x(0)?, c.x(1)?, c.x(2)?])
}

fn operands(c: &mut Call<'_>) -> NetworkOperands {
    NetworkOperands { bias: c.opt(3), lens: c.opt(4), h0: c.opt(5), ..NetworkOperands::default() }
}

fn rnn(c: &mut Call<'_>) -> Results {
    let main = main(c)?;
    let op = base(c, main)?;
    let (y, h) = c.g.rnn(main, operands(c), op);
    Ok(vec![y, h])
}

fn gru(c: &mut Call<'_>) -> Results {
    let main = main(c)?;
    let op = Gru { base: base(c, main)?, linear_before_reset: c.flag("linear_before_reset", false)? };
    let (y, h) = c.g.gru(main, operands(c), op);
    Ok(vec![y, h])
}

fn lstm(c: &mut Call<'_>) -> Results {
    let main = main(c)?;
    let op = Lstm { base: base(c, main)?, input_forget: c.flag("input_forget", false)? };
    let operands = NetworkOperands { c0: c.opt(6), peepholes: c.opt(7), ..operands(c) };
    let (y, h, cell) = c.g.lstm(main, operands, op);
    Ok(vec![y, h, cell])
}

/// Heads are packed into the last axis of every operand but the state; `chunk_size` is a hint.
fn linear_attention(c: &mut Call<'_>) -> Results {
    let ([q, k, v], heads, kv_heads) = (main(c)?, c.int("q_num_heads", 0)?, c.int("kv_num_heads", 0)?);
    let (state, beta) = (c.opt(3), c.opt(5));
    let decay = decay(c, k, kv_heads)?;
    let op = rule_of_updates(c)?;
    let given = [c.heads_apart(q, heads)?, c.heads_apart(k, kv_heads)?, c.heads_apart(v, kv_heads)?];
    let (y, present) = c.g.gated_delta_net(given, DeltaOperands { decay, beta, state }, op);
    Ok(vec![c.heads_packed(y, q)?, present])
}

fn rule_of_updates(c: &mut Call<'_>) -> Result<GatedDeltaNet, OnnxError> {
    let rules = [
        ("linear", UpdateRule::Linear),
        ("gated", UpdateRule::Gated),
        ("delta", UpdateRule::Delta),
        ("gated_delta", UpdateRule::GatedDelta),
    ];
    c.int("chunk_size", 64)?;
    let (rule, scale) = (c.choice("update_rule", "gated_delta", &rules)?, c.float("scale", 0.0)?);
    Ok(GatedDeltaNet { rule, scale: (scale != 0.0).then_some(scale), ..GatedDeltaNet::default() })
}

/// Decays of each key where there are as many as keys, else of each head.
fn decay(c: &mut Call<'_>, k: Value, heads: i64) -> Result<Option<Value>, OnnxError> {
    let Some(decay) = c.opt(4) else { return Ok(None) };
    let last = |v: Value| Ok(c.extents(v)?.last().copied().unwrap_or(0));
    let (keys, decays): (u64, u64) = (last(k)?, last(decay)?);
    let of_keys = decays == keys && keys != heads as u64;
    Ok(Some(if of_keys { c.heads_apart(decay, heads)? } else { decay }))
}
