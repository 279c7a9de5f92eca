//! What ops of orders refuse.

use super::mistake;
use pumice_ir::ops::search_sorted::SearchSorted;
use pumice_ir::{GraphBuilder, OpError, Value, bool_, f16, f32, i32, sym};
use pumice_types::DType;

fn search(g: &GraphBuilder, sorted: Value, values: Value) -> Value {
    g.search_sorted(sorted, values, SearchSorted::default())
}

refuses! {
    searched_rows: |g| search(g, g.input("sorted", f32([2, 3])), g.input("values", f32([4])))
        => OpError::Rank { operand: "sorted", rank: 2, .. },
    searched_values_of_another_type: |g| search(g, g.input("sorted", f32([3])), g.input("values", f16([4])))
        => OpError::DTypeMismatch { .. },
    searched_booleans: |g| search(g, g.input("sorted", bool_([3])), g.input("values", bool_([4])))
        => OpError::DType { operand: "sorted", .. },
    searched_by_floats: |g| {
        let op = SearchSorted { index_dtype: DType::F32, ..SearchSorted::default() };
        g.search_sorted(g.input("sorted", i32([3])), g.input("values", i32([4])), op)
    } => OpError::Attr(_),
    searched_beyond_what_an_i32_counts: |g| {
        search(g, g.input("sorted", f32([sym("n", 0..=1 << 31)])), g.input("values", f32([4])))
    } => OpError::Invalid(_),
}
