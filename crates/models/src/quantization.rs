//! How each tensor of a language model is encoded, in a file that is written and in a folder that is loaded: in, its
//! name in GGUF files, its extents and what was asked for; out, an encoding, and the reason where it is another one.
//! Never here: files, values.

use crate::error::ModelError;
use pumice_types::{DType, Encoding, Scheme};

/// What the matrices of a model can be encoded in.
pub const QUANTIZATIONS: [Encoding; 8] = [
    Encoding::Blocks(Scheme::Q8_0),
    Encoding::Blocks(Scheme::Q6_K),
    Encoding::Blocks(Scheme::Q5_K),
    Encoding::Blocks(Scheme::Q4_K),
    Encoding::Blocks(Scheme::Q4_0),
    Encoding::Plain(DType::F16),
    Encoding::Plain(DType::BF16),
    Encoding::Plain(DType::F32),
];

/// The encoding of a tensor, and why it is not the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub encoding: Encoding,
    /// Whether it is of those that are encoded as was asked for.
    pub is_matrix: bool,
    pub why: Option<&'static str>,
}

/// Refuses what matrices are not encoded in.
pub(crate) fn check(asked: Encoding) -> Result<(), ModelError> {
    if QUANTIZATIONS.contains(&asked) {
        return Ok(());
    }
    let known = QUANTIZATIONS.map(Encoding::name).join(", ");
    let problem = format!("{asked} is not written; known are {known}");
    Err(ModelError::Option { option: "quantize", problem })
}

/// Chooses. Norms, biases and tables of positions are f32: they are small, and everything depends on them. The token
/// table and the output matrix are at least q6_k: their errors fall on the logits.
pub(crate) fn choose(name: &str, shape: &[u64], asked: Encoding) -> Choice {
    let stays = name.contains("norm") || name == "position_embd.weight";
    let is_matrix = shape.len() > 1 && name.ends_with(".weight") && !stays;
    if !is_matrix {
        return Choice { encoding: DType::F32.into(), is_matrix, why: None };
    }
    let of_tokens = matches!(name, "token_embd.weight" | "output.weight");
    let wanted = if of_tokens { finer(asked) } else { asked };
    let row = shape.last().copied().unwrap_or(1);
    let encoding = fitting(wanted, row);
    let why = match encoding == wanted {
        false => Some("a row is no whole number of blocks"),
        true if wanted != asked => Some("tokens and logits are at least q6_k"),
        true => None,
    };
    Choice { encoding, is_matrix, why }
}

/// What is asked for, or q6_k where that is coarser.
fn finer(asked: Encoding) -> Encoding {
    match asked {
        Encoding::Blocks(Scheme::Q4_0 | Scheme::Q4_K | Scheme::Q5_K) => Scheme::Q6_K.into(),
        other => other,
    }
}

/// What is wanted, or blocks of 32 where a row has no whole ones of it, and f16 where it has none of those.
fn fitting(wanted: Encoding, row: u64) -> Encoding {
    let fits = |encoding: Encoding| row.is_multiple_of(encoding.block().0);
    let short = match wanted {
        Encoding::Blocks(Scheme::Q4_K | Scheme::Q4_0) => Scheme::Q5_0,
        _ => Scheme::Q8_0,
    };
    let all = [wanted, short.into(), DType::F16.into()];
    all.into_iter().find(|&encoding| fits(encoding)).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, shape: &[u64], asked: &str) -> String {
        let choice = choose(name, shape, asked.parse().expect("known"));
        format!("{}{}", choice.encoding, if choice.why.is_some() { " instead" } else { "" })
    }

    #[test]
    fn each_tensor_by_its_place() {
        let of = |name: &str, asked: &str| chosen(name, &[512, 512], asked);
        assert_eq!(of("blk.3.ffn_up.weight", "q4_k"), "q4_k");
        assert_eq!(chosen("blk.3.attn_norm.weight", &[512], "q4_k"), "f32");
        assert_eq!(chosen("blk.3.attn_q.bias", &[512], "f16"), "f32");
        // Norms of heads are rows, and no matrix.
        assert_eq!(of("blk.3.attn_q_norm.weight", "q4_k"), "f32");
        assert_eq!(of("position_embd.weight", "q8_0"), "f32");
        for name in ["token_embd.weight", "output.weight"] {
            let all = ["q4_0", "q4_k", "q5_k", "q6_k", "q8_0", "bf16"].map(|asked| of(name, asked));
            assert_eq!(all, ["q6_k instead", "q6_k instead", "q6_k instead", "q6_k", "q8_0", "bf16"]);
        }
    }

    #[test]
    fn rows_that_are_no_whole_blocks() {
        let of = |row: u64, asked: &str| chosen("blk.0.attn_q.weight", &[8, row], asked);
        assert_eq!(
            ["q4_k", "q5_k", "q6_k"].map(|q| of(576, q)),
            ["q5_0 instead", "q8_0 instead", "q8_0 instead"]
        );
        assert_eq!(["q4_0", "q8_0", "f16"].map(|q| of(576, q)), ["q4_0", "q8_0", "f16"]);
        assert_eq!(["q4_0", "q6_k", "f32"].map(|q| of(40, q)), ["f16 instead", "f16 instead", "f32"]);
        assert_eq!(chosen("token_embd.weight", &[8, 576], "q4_k"), "q8_0 instead");
    }
}
