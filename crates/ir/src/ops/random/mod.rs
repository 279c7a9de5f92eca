//! Random numbers and choice (OPS 3.10).

pub mod penalties;
pub mod random_normal;
pub mod random_numbers;
pub mod random_uniform;
pub mod sample;
pub mod sample_sorted;
pub mod source;
pub mod top_k_moe_router;
