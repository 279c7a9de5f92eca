//! Softmax, attention, position (OPS 3.7).

pub mod attention;
mod attention_composed;
mod attention_dropout_samples;
mod attention_extended_samples;
mod attention_formula;
pub mod attention_grad;
mod attention_grad_samples;
pub mod attention_merge;
pub mod attention_operands;
pub mod attention_parts;
mod attention_rule;
pub(crate) mod attention_samples;
mod attention_scores;
pub mod log_softmax;
pub mod rotary;
mod rotary_grad;
pub(crate) mod rotary_samples;
pub mod rotary_scaling;
mod rotary_scaling_samples;
pub mod softmax;
