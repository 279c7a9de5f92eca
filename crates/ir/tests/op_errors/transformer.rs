//! What is refused of attention's further operands, of rotation's factors, of norms with statistics, of what the
//! gradients of norms are made of.

use super::mistake;
use pumice_ir::ops::attention_grad::AttentionFactor;
use pumice_ir::ops::attention_operands::AttentionOperands;
use pumice_ir::ops::rotary_scaling::{RotaryScaling, Yarn};
use pumice_ir::ops::{Attention, AttentionGrad, AttentionMerge, LayerNorm, NormGrad, NormSums, Rotary};
use pumice_ir::{GraphBuilder, OpError, Value, f16, f32, i32, tensor};
use pumice_types::DType;

/// Two batch entries, four heads over two, three queries, five keys.
fn attend(g: &GraphBuilder, operands: AttentionOperands) -> Value {
    let q = g.input("q", f32([2, 4, 3, 8]));
    let [k, v] = ["k", "v"].map(|name| g.input(name, f32([2, 2, 5, 8])));
    g.attention_with([q, k, v], operands, Attention::default()).0
}

fn drop_of(g: &GraphBuilder, op: Attention) -> Value {
    let [q, k, v] = ["q", "k", "v"].map(|name| g.input(name, f32([2, 4, 3, 8])));
    g.attention(q, k, v, None, None, op)
}

/// The gradient by queries of two heads, three queries and keys of width 8.
fn back(g: &GraphBuilder, dtype: DType, width: u64, sums: &[u64]) -> Value {
    let [q, k, v] = ["q", "k", "v"].map(|name| Some(g.input(name, tensor(dtype, [1u64, 2, 3, 8]))));
    let dy = Some(g.input("dy", tensor(dtype, [1, 2, 3, width])));
    let [lse, delta] =
        ["lse", "delta"].map(|name| Some(g.input(name, tensor(DType::F32, sums.iter().copied()))));
    let op = AttentionGrad::of(&Attention::default(), AttentionFactor::Queries);
    g.attention_grad(op, &[q, k, v, dy, lse, delta])[0]
}

fn packed(g: &GraphBuilder, width: u64, heads: [u64; 2]) -> Value {
    let qkv = ["q", "k", "v"].map(|name| g.input(name, f32([2, 3, width])));
    g.attention_packed(qkv, heads, AttentionOperands::default(), Attention::default()).0
}

fn norm_back(g: &GraphBuilder, dy: Value, factor: Option<Value>) -> Value {
    g.norm_grad(g.input("x", f32([2, 3])), dy, factor, NormGrad::default())[0]
}

fn sums(g: &GraphBuilder, places: u64, op: NormSums) -> Value {
    let [x, dy] = ["x", "dy"].map(|name| g.input(name, f32([2, 3])));
    g.norm_sums(x, dy, g.input("inverse", f32([places])), None, op).0
}

fn turn(g: &GraphBuilder, factors: Value) -> Value {
    g.rotary_by_factors(
        g.input("x", f32([1, 2, 3, 8])),
        g.input("p", i32::<u64>([])),
        factors,
        Rotary::default(),
    )
}

fn scale(g: &GraphBuilder, scaling: RotaryScaling, op: Rotary) -> Value {
    g.rotary_scaled(g.input("x", f32([1, 2, 3, 8])), g.input("p", i32::<u64>([])), None, scaling, op)
}

fn yarn(yarn: Yarn) -> RotaryScaling {
    RotaryScaling { yarn: Some(yarn), ..RotaryScaling::default() }
}

refuses! {
    sinks_of_key_heads: |g| attend(g, AttentionOperands { sinks: Some(g.input("s", f32([2]))), ..Default::default() })
        => OpError::ExtentMismatch { .. },
    sinks_of_integers: |g| attend(g, AttentionOperands { sinks: Some(g.input("s", i32([4]))), ..Default::default() })
        => OpError::DType { .. },
    a_source_without_dropout: |g| attend(g, AttentionOperands { source: Some(g.random_source()), ..Default::default() })
        => OpError::Invalid(_),
    more_than_all_dropped: |g| drop_of(g, Attention { dropout: 1.5, ..Attention::default() })
        => OpError::Attr(_),
    dropout_without_a_source: |g| {
        let qkv = ["q", "k", "v"].map(|name| g.input(name, f32([2, 4, 3, 8])));
        g.apply(Attention { dropout: 0.5, ..Attention::default() }, &qkv)
    } => OpError::MissingOperand(_),
    slopes_of_two_axes: |g| attend(g, AttentionOperands { alibi: Some(g.input("a", f32([4, 1]))), ..Default::default() })
        => OpError::Rank { .. },
    slopes_of_other_heads: |g| attend(g, AttentionOperands { alibi: Some(g.input("a", f32([3]))), ..Default::default() })
        => OpError::ExtentMismatch { .. },
    a_place_that_is_a_float: |g| attend(g, AttentionOperands { offset: Some(g.input("o", f32([2]))), ..Default::default() })
        => OpError::DType { .. },
    places_of_another_batch: |g| attend(g, AttentionOperands { offset: Some(g.input("o", i32([3]))), ..Default::default() })
        => OpError::ExtentMismatch { .. },
    places_of_two_axes: |g| attend(g, AttentionOperands { offset: Some(g.input("o", i32([2, 3]))), ..Default::default() })
        => OpError::Rank { .. },
    packed_heads_that_do_not_fill_a_row: |g| packed(g, 10, [4, 4]) => OpError::Invalid(_),
    packed_rows_without_heads: |g| packed(g, 8, [4, 0]) => OpError::Invalid(_),
    packed_heads_of_four_axes: |g| {
        let x = g.input("x", f32([1, 2, 3, 4]));
        g.attention_packed([x, x, x], [2, 2], AttentionOperands::default(), Attention::default()).0
    } => OpError::Rank { .. },
    sums_of_parts_without_values: |g| {
        g.apply_all(AttentionMerge { lse: true, ..AttentionMerge::default() }, &[Some(g.input("x", f32([1, 2, 1, 3, 4])))])[0]
    } => OpError::Invalid(_),
    sinks_of_other_parts: |g| {
        let (x, sinks) = (g.input("x", f32([1, 2, 1, 3, 8])), g.input("s", f32([3])));
        g.apply(AttentionMerge::default(), &[x, sinks])
    } => OpError::ExtentMismatch { .. },
    a_gradient_of_another_width: |g| back(g, DType::F32, 9, &[1, 2, 3]) => OpError::ExtentMismatch { .. },
    sums_of_other_queries: |g| back(g, DType::F32, 8, &[1, 2, 4]) => OpError::ExtentMismatch { .. },
    sums_without_batches: |g| back(g, DType::F32, 8, &[2, 3]) => OpError::Rank { .. },
    a_gradient_in_f16: |g| back(g, DType::F16, 8, &[1, 2, 3]) => OpError::DType { .. },
    factors_of_other_pairs: |g| turn(g, g.param("f", f32([8]))) => OpError::ExtentMismatch { .. },
    factors_of_integers: |g| turn(g, g.param("f", i32([4]))) => OpError::DType { .. },
    factors_of_tables: |g| {
        let (x, t) = (g.input("x", f32([1, 2, 3, 8])), g.param("t", f32([3, 4])));
        g.apply_all(Rotary::default(), &[Some(x), None, Some(t), Some(t), Some(g.param("f", f32([4])))])[0]
    } => OpError::Invalid(_),
    a_magnitude_that_is_no_number: |g| g.rotary(g.input("x", f32([1, 2, 3, 8])), g.input("p", i32::<u64>([])), Rotary { magnitude: f32::NAN, ..Rotary::default() })
        => OpError::Attr(_),
    sections: |g| scale(g, RotaryScaling { sections: vec![2, 1, 1], ..RotaryScaling::default() }, Rotary::default())
        => OpError::Attr(_),
    a_ramp_without_end: |g| scale(g, yarn(Yarn { beta_slow: 0.0, ..Yarn::default() }), Rotary::default())
        => OpError::Attr(_),
    no_original_context: |g| scale(g, yarn(Yarn { original_context: 0, ..Yarn::default() }), Rotary::default())
        => OpError::Attr(_),
    an_extent_that_is_no_number: |g| scale(g, yarn(Yarn { ext: f32::NAN, ..Yarn::default() }), Rotary::default())
        => OpError::Attr(_),
    frequencies_scaled_by_nothing: |g| scale(g, yarn(Yarn::default()), Rotary { freq_scale: 0.0, ..Rotary::default() })
        => OpError::Attr(_),
    statistics_from_beyond_the_axes: |g| g.layer_norm_with_statistics(g.input("x", f32([2, 3])), None, None, LayerNorm { axis: 2, ..LayerNorm::default() }).1
        => OpError::AxisOutOfRange { .. },
    an_upstream_gradient_of_another_shape: |g| norm_back(g, g.input("dy", f32([2, 4])), None) => OpError::ExtentMismatch { .. },
    an_upstream_gradient_of_another_rank: |g| norm_back(g, g.input("dy", f32([3])), None) => OpError::Rank { .. },
    an_upstream_gradient_of_16_bits: |g| norm_back(g, g.input("dy", f16([2, 3])), None) => OpError::DType { .. },
    a_factor_of_other_axes: |g| norm_back(g, g.input("dy", f32([2, 3])), Some(g.param("f", f32([2]))))
        => OpError::ExtentMismatch { .. },
    a_factor_that_broadcasts: |g| norm_back(g, g.input("dy", f32([2, 3])), Some(g.param("f", f32([1, 3])))) => OpError::Rank { .. },
    statistics_of_another_axis: |g| sums(g, 3, NormSums::default()) => OpError::ExtentMismatch { .. },
    runs_that_are_too_long: |g| sums(g, 2, NormSums { run: 513, ..NormSums::default() }) => OpError::Attr(_),
    runs_of_nothing: |g| sums(g, 2, NormSums { run: 0, ..NormSums::default() }) => OpError::Attr(_),
    sums_along_no_axis: |g| sums(g, 2, NormSums { axis: 2, ..NormSums::default() }) => OpError::AxisOutOfRange { .. },
}
