//! Tokens that llama.cpp takes for control tokens by their text, whatever kind a file gives them: those that end a text
//! or an answer, and those around a gap to be filled. A text of a user has none of them, so what looks as if it ended a
//! turn does not.
//!
//! The names are those that the library in xllamacpp 2026.10 found as control tokens in files that had them as tokens
//! of a user. One of them is no control token in a model in use: Gemma 3's `</s>` is a tag of HTML.

/// Those that end something.
const ENDS: [&str; 25] = [
    "</s>",
    "<EOT>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|call|>",
    "<|calls|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|file_sep|>",
    "<|flush|>",
    "<|ifm|im_end|>",
    "<|im_end|>",
    "<|plamo:file_separator|>",
    "<|return|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[EOS]",
    "[EOT]",
    "[e~[",
    "_<EOT>",
];

/// Those around a gap.
const GAPS: [&str; 37] = [
    "<MID>",
    "<PAD>",
    "<PRE>",
    "<REPO>",
    "<SUF>",
    "<fim-middle>",
    "<fim-pad>",
    "<fim-prefix>",
    "<fim-repo>",
    "<fim-suffix>",
    "<fim_middle>",
    "<fim_pad>",
    "<fim_prefix>",
    "<fim_suffix>",
    "<reponame>",
    "<|code_middle|>",
    "<|code_prefix|>",
    "<|code_suffix|>",
    "<|fim_middle|>",
    "<|fim_pad|>",
    "<|fim_prefix|>",
    "<|fim_repo|>",
    "<|fim_suffix|>",
    "<|middle|>",
    "<|plamo:fim_middle|>",
    "<|plamo:fim_prefix|>",
    "<|plamo:fim_suffix|>",
    "<|prefix|>",
    "<|repo_name|>",
    "<|suffix|>",
    "<｜fim▁begin｜>",
    "<｜fim▁end｜>",
    "<｜fim▁hole｜>",
    "[PAD]",
    "▁<MID>",
    "▁<PRE>",
    "▁<SUF>",
];

/// Whether a token is one of them.
pub(super) fn looks_like_control(token: &str) -> bool {
    ENDS.contains(&token) || GAPS.contains(&token)
}
