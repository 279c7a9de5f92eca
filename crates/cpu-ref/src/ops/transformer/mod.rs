//! Evaluation: softmax, attention, position (OPS 3.7).

pub mod attention;
pub mod attention_grad;
pub mod attention_merge;
pub mod attention_parts;
pub mod log_softmax;
pub mod rotary;
pub mod softmax;
