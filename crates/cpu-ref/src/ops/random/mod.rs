//! Random numbers and choice (OPS 3.10).

pub(crate) mod philox;
pub mod random_numbers;
pub mod sample_sorted;
pub mod top_k_moe_router;
