//! What is refused of random numbers, draws and routers.

use super::mistake;
use pumice_ir::ops::random_normal::RandomNormal;
use pumice_ir::ops::random_uniform::RandomUniform;
use pumice_ir::ops::sample::SampleOptions;
use pumice_ir::ops::top_k_moe_router::RouterGate;
use pumice_ir::ops::{Dropout, TopKMoeRouter};
use pumice_ir::{OpError, f32, i32};
use pumice_types::DType;

refuses! {
    dropout_without_a_source: |g| g.apply(Dropout { ratio: 0.5, training: true, stream: 0 }, &[g.input("x", f32([2]))])
        => OpError::MissingOperand(_),
    numbers_from_high_to_low: |g| g.random_uniform([2u64], None, RandomUniform { low: 1.0, high: 1.0, ..RandomUniform::default() })
        => OpError::Attr(_),
    numbers_that_no_dtype_has: |g| g.random_uniform([2u64], None, RandomUniform { low: 0.99999, dtype: DType::F16, ..RandomUniform::default() })
        => OpError::Attr(_),
    numbers_of_no_distance: |g| g.random_uniform([2u64], None, RandomUniform { low: -3e38, high: 3e38, ..RandomUniform::default() })
        => OpError::Attr(_),
    random_integers: |g| g.random_normal([2u64], None, RandomNormal { dtype: DType::I32, ..RandomNormal::default() })
        => OpError::Attr(_),
    a_deviation_below_0: |g| g.random_normal([2u64], None, RandomNormal { scale: -1.0, ..RandomNormal::default() })
        => OpError::Attr(_),
    experts_in_unequal_groups: |g| g.top_k_moe_router(g.input("x", f32([2, 10])), None, TopKMoeRouter { groups: 3, ..TopKMoeRouter::default() }).0
        => OpError::Attr(_),
    more_experts_than_compete: |g| g.top_k_moe_router(g.input("x", f32([2, 10])), None, TopKMoeRouter { groups: 10, groups_kept: 1, ..TopKMoeRouter::default() }).0
        => OpError::Attr(_),
    too_many_experts: |g| g.top_k_moe_router(g.input("x", f32([2, 1025])), None, TopKMoeRouter::default()).0
        => OpError::Invalid(_),
    a_sigmoid_after_choosing: |g| g.top_k_moe_router(g.input("x", f32([2, 10])), None, TopKMoeRouter { gate: RouterGate::Sigmoid, after: true, ..TopKMoeRouter::default() }).0
        => OpError::Attr(_),
    logits_of_no_rows: |g| g.sample(g.input("x", f32([10])), SampleOptions::default()).0 => OpError::Rank { .. },
    empty_logits: |g| g.sample(g.input("x", f32([2, 0])), SampleOptions::default()).0 => OpError::Invalid(_),
    a_temperature_of_integers: |g| g.sample(g.input("x", f32([2, 3])), SampleOptions { temperature: Some(g.input("t", i32([2]))), ..SampleOptions::default() }).0
        => OpError::DType { .. },
}
