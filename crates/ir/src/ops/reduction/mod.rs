//! Reductions over axes (OPS 3.3).

mod arg;
pub mod arg_max;
pub mod arg_min;
pub mod arg_sort_runs;
pub mod arg_top_k;
mod composed;
pub mod cum_prod;
pub mod cum_sum;
mod cumulative;
pub mod distances;
mod logarithms;
mod norms;
pub mod reduce;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
pub mod scan_runs;
pub mod search_sorted;
mod sort;
mod truth;
mod variance;
