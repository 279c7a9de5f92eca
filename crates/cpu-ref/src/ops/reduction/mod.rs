//! Evaluation: reductions over axes (OPS 3.3).

pub mod arg;
pub mod arg_max;
pub mod arg_min;
pub mod arg_sort_runs;
pub mod arg_top_k;
pub mod cum_prod;
pub mod cum_sum;
pub mod reduce;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
pub mod scan_runs;
pub mod search_sorted;
