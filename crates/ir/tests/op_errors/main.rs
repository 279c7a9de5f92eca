//! What each op refuses, and by which error.

use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::binary_cross_entropy_with_logits::BinaryCrossEntropyWithLogits;
use pumice_ir::ops::cross_entropy_dense::CrossEntropyDense;
use pumice_ir::ops::glu::{GluAct, GluPacking};
use pumice_ir::ops::in_batch_negatives::InBatchNegatives;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::ops::log_mel::{LogBase, LogMel, LogMelCompress};
use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
use pumice_ir::ops::nll_loss::NllLoss;
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::softmax_cross_entropy::SoftmaxCrossEntropy;
use pumice_ir::ops::stft::Stft;
use pumice_ir::ops::triplet_loss::TripletLoss;
use pumice_ir::ops::welch::{WelchPeaks, WelchPsd};
use pumice_ir::ops::{Attention, BitCast, Fft, Flatten, Rotary, Slice, Split};
use pumice_ir::ops::{huber::Huber, kl_div::KlDiv, mse::Mse};
use pumice_ir::{BuildError, GraphBuilder, OpError, Value, bool_, f16, f32, i32, sym};
use pumice_types::{DType, DimExpr, SymbolId, Tensor};

const SET: ScatterReduction = ScatterReduction::Set;

/// The one mistake of a graph.
fn mistake(build: impl FnOnce(&GraphBuilder) -> Value) -> OpError {
    let g = GraphBuilder::new("wrong");
    let y = build(&g);
    g.output("y", y);
    let mut errors = g.build().expect_err("the graph is wrong").0;
    assert_eq!(errors.len(), 1, "{errors:?}");
    match errors.remove(0).error {
        BuildError::Op { source, .. } => source,
        other => panic!("{other}"),
    }
}

macro_rules! refuses {
    ($($name:ident: |$g:ident| $build:expr => $pattern:pat,)*) => {$(
        #[test]
        fn $name() {
            let error = mistake(|$g| $build);
            assert!(matches!(error, $pattern), "{error}");
        }
    )*};
}

mod calls;
mod chance;
mod compositions;
mod extremes;
mod found;
mod images;
mod loops;
mod order;
mod pixels;
mod products;
mod transformer;

refuses! {
    element_count_is_not_compatibility: |g| g.add(g.input("a", f32([2, 3])), g.input("b", f32([3, 2])))
        => OpError::BroadcastMismatch { .. },
    no_promotion: |g| g.mul(g.input("a", f32([2])), g.input("b", f16([2]))) => OpError::DTypeMismatch { .. },
    sqrt_of_integers: |g| g.sqrt(g.input("x", i32([2]))) => OpError::DType { .. },
    and_of_floats: |g| g.and(g.input("x", f32([2])), g.input("y", f32([2]))) => OpError::DType { .. },
    max_of_nothing: |g| g.max(&[]) => OpError::MissingOperand(_),
    slope_may_not_grow_the_result: |g| g.p_relu(g.input("x", f32([3])), g.input("s", f32([2, 3])))
        => OpError::BroadcastMismatch { .. },
    condition_is_bool: |g| g.select(g.input("c", i32([2])), g.input("x", f32([2])), g.input("y", f32([2])))
        => OpError::DType { operand: "condition", .. },
    bound_is_rank_0: |g| g.clip_by(g.input("x", f32([2])), Some(g.input("lo", f32([2]))), None)
        => OpError::Rank { operand: "min", .. },
    bend_of_no_width: |g| g.celu(g.input("x", f32([2])), 0.0) => OpError::Attr(_),
    bend_of_no_width_below: |g| g.celu(g.input("x", f32([2])), -0.0) => OpError::Attr(_),
    state_of_no_rows: |g| g.kv_append(g.state("s", f32([2, 0, 3])), g.input("x", f32([2, 1, 3])), g.input("p", i32::<u64>([])), 1, AppendMode::Linear)
        => OpError::Invalid(_),
    bits_of_another_width: |g| g.apply(BitCast { to: DType::F16 }, &[g.input("x", f32([2]))]) => OpError::DType { .. },
    odd_width_has_no_halves: |g| g.glu_packed(g.input("x", f32([2, 5])), GluAct::Swish, GluPacking::Concat, -1)
        => OpError::Invalid(_),
    flatten_beyond_the_rank: |g| g.apply(Flatten { axis: 3 }, &[g.input("x", f32([2, 5]))])
        => OpError::AxisOutOfRange { axis: 3, rank: 2 },
    squeeze_of_more_than_one: |g| g.squeeze(g.input("x", f32([2, 5])), &[0]) => OpError::ExtentMismatch { .. },
    unsqueeze_twice: |g| g.unsqueeze(g.input("x", f32([2])), &[0, -3]) => OpError::DuplicateAxis(-3),
    symbol_of_another_graph: |g| g.expand_to(g.input("x", f32([1])), vec![DimExpr::symbol(SymbolId(0))])
        => OpError::UnknownSymbol(0),
    negative_extent: |g| g.input("x", f32([DimExpr::constant(2), DimExpr::constant(-1)]))
        => OpError::NegativeExtent { axis: 1, .. },
    rank_9: |g| g.unsqueeze(g.input("x", f32([1, 1, 1, 1, 1, 1, 1])), &[0, 1]) => OpError::RankTooHigh(9),
    expand_to_another_extent: |g| g.expand(g.input("x", f32([3])), &[4]) => OpError::BroadcastMismatch { .. },
    negative_shape: |g| g.expand(g.input("x", f32([1])), &[-1]) => OpError::Invalid(_),
    step_0: |g| g.slice(g.input("x", f32([4])), &[0], &[4], &[], &[0]) => OpError::Attr(_),
    slices_of_one_axis: |g| g.slice(g.input("x", f32([4, 4])), &[0, 1], &[4, 2], &[1, -1], &[])
        => OpError::DuplicateAxis(-1),
    unequal_lists: |g| g.slice(g.input("x", f32([4])), &[0], &[4, 4], &[], &[]) => OpError::Invalid(_),
    parts_do_not_sum: |g| g.split(g.input("x", f32([4])), 0, &[1, 2])[0] => OpError::ExtentMismatch { .. },
    no_parts: |g| g.apply(Split { axis: 0, sizes: vec![], num_outputs: Some(0) }, &[g.input("x", f32([4]))])
        => OpError::Attr(_),
    concat_off_the_axis: |g| g.concat(&[g.input("x", f32([2, 3])), g.input("y", f32([3, 3]))], 1)
        => OpError::ExtentMismatch { .. },
    concat_of_dtypes: |g| g.concat(&[g.input("x", f32([2])), g.input("y", i32([2]))], 0) => OpError::DTypeMismatch { .. },
    float_indices: |g| g.gather(g.input("x", f32([2])), g.input("i", f32([2])), 0) => OpError::IndexDType { dtype: DType::F32, .. },
    constant_index_outside: |g| {
        let i = g.constant(Tensor::new(&[0i32, -3], &[2]).expect("two"));
        g.gather(g.input("x", f32([2])), i, 0)
    } => OpError::IndexOutOfRange { position: 1, value: -3, size: 2 },
    float_indices_of_elements: |g| g.gather_elements(g.input("x", f32([2])), g.input("i", f32([2])), 0)
        => OpError::IndexDType { dtype: DType::F32, .. },
    indices_of_another_rank: |g| g.gather_elements(g.input("x", f32([2, 3])), g.input("i", i32([2])), 0)
        => OpError::Rank { operand: "indices", rank: 1, .. },
    more_indices_off_the_axis: |g| g.gather_elements(g.input("x", f32([2, 3])), g.input("i", i32([2, 4])), 0)
        => OpError::ExtentExceeds { .. },
    elements_of_no_axis: |g| g.gather_elements(g.input("x", f32([2, 3])), g.input("i", i32([2, 3])), 2)
        => OpError::AxisOutOfRange { axis: 2, rank: 2 },
    constant_index_of_elements_outside: |g| {
        let i = g.constant(Tensor::new(&[0i32, 2], &[2]).expect("two"));
        g.gather_elements(g.input("x", f32([2])), i, 0)
    } => OpError::IndexOutOfRange { position: 1, value: 2, size: 2 },
    tuples_of_too_many: |g| g.gather_nd(g.input("x", f32([2, 3])), g.input("i", i32([4, 3])), 0) => OpError::Invalid(_),
    tuples_of_none: |g| g.gather_nd(g.input("x", f32([2, 3])), g.input("i", i32([4, 0])), 0) => OpError::Invalid(_),
    tuples_of_every_axis_and_batches: |g| g.gather_nd(g.input("x", f32([2, 3])), g.input("i", i32([2, 2])), 1)
        => OpError::Invalid(_),
    tuples_without_an_axis: |g| g.gather_nd(g.input("x", f32([2])), g.input("i", i32::<u64>([])), 0)
        => OpError::Rank { operand: "indices", rank: 0, .. },
    more_batches_than_axes: |g| g.gather_nd(g.input("x", f32([2, 3])), g.input("i", i32([1])), 1)
        => OpError::Rank { operand: "indices", rank: 1, .. },
    more_batches_than_anyone_has: |g| g.gather_nd(g.input("x", f32([2, 3])), g.input("i", i32([1])), u64::MAX)
        => OpError::Attr(_),
    batches_of_two_extents: |g| g.gather_nd(g.input("x", f32([2, 3])), g.input("i", i32([4, 1])), 1)
        => OpError::ExtentMismatch { .. },
    constant_tuple_outside: |g| {
        let i = g.constant(Tensor::new(&[1i32, 2, 1, -4], &[2, 2]).expect("two tuples"));
        g.gather_nd(g.input("x", f32([2, 3])), i, 0)
    } => OpError::IndexOutOfRange { position: 3, value: -4, size: 3 },
    scattered_dtypes: |g| g.scatter_nd(g.input("x", f32([2])), g.input("i", i32([1, 1])), g.input("u", i32([1])), SET)
        => OpError::DTypeMismatch { .. },
    sum_of_scattered_booleans: |g| {
        let (x, u) = (g.input("x", bool_([2])), g.input("u", bool_([1])));
        g.scatter_elements(x, g.input("i", i32([1])), u, 0, ScatterReduction::Add)
    } => OpError::DType { operand: "data", .. },
    updates_of_another_shape: |g| {
        g.scatter_nd(g.input("x", f32([2, 3])), g.input("i", i32([4, 1])), g.input("u", f32([4, 2])), SET)
    } => OpError::ExtentMismatch { .. },
    updates_of_another_rank: |g| g.scatter_nd(g.input("x", f32([2])), g.input("i", i32([4, 1])), g.input("u", f32([4, 1])), SET)
        => OpError::Rank { operand: "updates", rank: 2, .. },
    scattered_tuples_of_too_many: |g| g.scatter_nd(g.input("x", f32([2])), g.input("i", i32([2])), g.input("u", f32([1])), SET)
        => OpError::Invalid(_),
    scattered_float_indices: |g| g.scatter_nd(g.input("x", f32([2])), g.input("i", f32([1])), g.input("u", f32([1])), SET)
        => OpError::IndexDType { dtype: DType::F32, .. },
    updates_and_indices_differ: |g| {
        g.scatter_elements(g.input("x", f32([2, 3])), g.input("i", i32([2, 1])), g.input("u", f32([2, 2])), 1, SET)
    } => OpError::ExtentMismatch { .. },
    more_updates_off_the_axis: |g| {
        g.scatter_elements(g.input("x", f32([2, 3])), g.input("i", i32([3, 1])), g.input("u", f32([3, 1])), 1, SET)
    } => OpError::ExtentExceeds { .. },
    constant_place_outside: |g| {
        let i = g.constant(Tensor::new(&[1i32, 2], &[2]).expect("two"));
        g.scatter_elements(g.input("x", f32([2])), i, g.input("u", f32([2])), 0, SET)
    } => OpError::IndexOutOfRange { position: 1, value: 2, size: 2 },
    reduced_twice: |g| g.reduce_sum(g.input("x", f32([2, 3])), &[1, -1], false) => OpError::DuplicateAxis(-1),
    sum_of_booleans: |g| g.reduce_sum(g.input("x", bool_([2])), &[], false) => OpError::DType { .. },
    l1_twice: |g| g.reduce_l1(g.input("x", f32([2, 3])), &[1, -1], false) => OpError::DuplicateAxis(-1),
    l2_of_integers: |g| g.reduce_l2(g.input("x", i32([2, 3])), &[], false) => OpError::DType { operand: "x", .. },
    any_of_floats: |g| g.reduce_any(g.input("x", f32([2, 3])), &[], false) => OpError::DType { operand: "x", .. },
    exponentials_beyond_the_rank: |g| g.reduce_log_sum_exp(g.input("x", f32([2])), &[1], false)
        => OpError::AxisOutOfRange { axis: 1, rank: 1 },
    correction_of_two: |g| g.variance(g.input("x", f32([2])), &[], 2, false) => OpError::Attr(_),
    losses_do_not_broadcast: |g| g.mse(g.input("y", f32([2, 3])), g.input("t", f32([2, 1])), Mse::default()).0
        => OpError::ExtentMismatch { .. },
    losses_of_other_ranks: |g| g.l1(g.input("y", f32([2, 3])), g.input("t", f32([3])), Default::default()).0
        => OpError::Rank { operand: "target", rank: 1, .. },
    loss_of_integers: |g| g.kl_div(g.input("y", i32([2])), g.input("t", i32([2])), KlDiv::default()).0
        => OpError::DType { operand: "prediction", .. },
    loss_of_two_dtypes: |g| g.mse(g.input("y", f32([2])), g.input("t", f16([2])), Mse::default()).1
        => OpError::DTypeMismatch { .. },
    delta_of_nothing: |g| {
        let op = Huber { delta: 0.0, ..Huber::default() };
        g.huber(g.input("y", f32([2])), g.input("t", f32([2])), op).0
    } => OpError::Attr(_),
    classes_without_rows: |g| {
        let op = CrossEntropyDense::default();
        g.cross_entropy_dense(g.input("y", f32([3])), g.input("t", f32([3])), op).0
    } => OpError::Rank { operand: "logits", rank: 1, .. },
    weights_that_do_not_fit: |g| {
        let (y, t, w) = (g.input("y", f32([2, 3])), g.input("t", f32([2, 3])), g.input("w", f32([2])));
        g.binary_cross_entropy_with_logits(y, t, Some(w), BinaryCrossEntropyWithLogits::default()).0
    } => OpError::BroadcastMismatch { .. },
    classes_of_floats: |g| {
        let (y, t) = (g.input("y", f32([2, 3])), g.input("t", f32([2])));
        g.nll_loss(y, t, None, NllLoss::default()).0
    } => OpError::DType { operand: "target", .. },
    classes_without_cases: |g| {
        let (y, t) = (g.input("y", f32([3])), g.input("t", i32::<u64>([])));
        g.softmax_cross_entropy(y, t, None, SoftmaxCrossEntropy::default()).1
    } => OpError::Rank { operand: "scores", rank: 1, .. },
    classes_of_other_cases: |g| {
        let (y, t) = (g.input("y", f32([2, 3, 4])), g.input("t", i32([2, 3])));
        g.softmax_cross_entropy(y, t, None, SoftmaxCrossEntropy::default()).0
    } => OpError::ExtentMismatch { .. },
    weights_of_other_classes: |g| {
        let (y, t, w) = (g.input("y", f32([2, 3])), g.input("t", i32([2])), g.input("w", f32([2])));
        g.nll_loss(y, t, Some(w), NllLoss::default()).0
    } => OpError::ExtentMismatch { .. },
    cosines_of_a_number: |g| {
        let (a, b) = (g.input("a", f32::<u64>([])), g.input("b", f32::<u64>([])));
        g.cosine_loss(a, b, None, Default::default()).0
    } => OpError::Rank { operand: "a", rank: 0, .. },
    cosines_of_other_rows: |g| {
        g.cosine_loss(g.input("a", f32([2, 3])), g.input("b", f32([2, 4])), None, Default::default()).0
    } => OpError::ExtentMismatch { .. },
    similarities_of_other_rows: |g| {
        let (a, b, y) = (g.input("a", f32([2, 3])), g.input("b", f32([2, 3])), g.input("y", f32([3])));
        g.cosine_loss(a, b, Some(y), Default::default()).1
    } => OpError::ExtentMismatch { .. },
    triplets_of_other_shapes: |g| {
        let [a, p] = ["a", "p"].map(|name| g.input(name, f32([2, 3])));
        g.triplet_loss(a, p, g.input("n", f32([1, 3])), Default::default()).0
    } => OpError::ExtentMismatch { .. },
    triplets_of_no_norm: |g| {
        let [a, p, n] = ["a", "p", "n"].map(|name| g.input(name, f32([2, 3])));
        g.triplet_loss(a, p, n, TripletLoss { p: 0.5, ..TripletLoss::default() }).0
    } => OpError::Attr(_),
    triplets_of_a_negative_margin: |g| {
        let [a, p, n] = ["a", "p", "n"].map(|name| g.input(name, f32([2, 3])));
        g.triplet_loss(a, p, n, TripletLoss { margin: -1.0, ..TripletLoss::default() }).0
    } => OpError::Attr(_),
    fewer_candidates_than_anchors: |g| {
        let (a, p) = (g.input("a", f32([4, 3])), g.input("p", f32([2, 3])));
        g.in_batch_negatives(a, p, Default::default()).0
    } => OpError::ExtentExceeds { .. },
    candidates_of_half_an_anchor: |g| {
        let (a, p) = (g.input("a", f32([4, 3])), g.input("p", f32([6, 3])));
        g.in_batch_negatives(a, p, Default::default()).0
    } => OpError::ExtentMismatch { .. },
    candidates_without_scale: |g| {
        let op = InBatchNegatives { scale: 0.0, ..InBatchNegatives::default() };
        g.in_batch_negatives(g.input("a", f32([4, 3])), g.input("p", f32([4, 3])), op).0
    } => OpError::Attr(_),
    arg_min_of_booleans: |g| g.arg_min(g.input("x", bool_([2])), 0, false) => OpError::DType { .. },
    arg_min_of_nothing: |g| g.arg_min(g.input("x", f32([2, 0])), 1, false) => OpError::Invalid(_),
    arg_max_of_nothing: |g| g.arg_max(g.input("x", f32([2, 0])), 1, false) => OpError::Invalid(_),
    arg_max_of_perhaps_nothing: |g| g.arg_max(g.input("x", f32([sym("n", 0..=4)])), 0, false) => OpError::Invalid(_),
    inner_extents: |g| g.linear(g.input("x", f32([2, 3])), g.input("w", f32([4, 5])), None)
        => OpError::ExtentMismatch { .. },
    scale_does_not_fit: |g| g.layer_norm(g.input("x", f32([2, 3])), g.input("g", f32([2])), None, 1e-5)
        => OpError::BroadcastMismatch { .. },
    heads_are_not_shared: |g| {
        let (q, k) = (g.input("q", f32([1, 6, 2, 8])), g.input("k", f32([1, 4, 2, 8])));
        g.attention(q, k, k, None, None, Attention::default())
    } => OpError::Invalid(_),
    heads_vary: |g| {
        let q = g.input("q", f32([1.into(), sym("h", 1..=4), 2.into(), 8.into()]));
        g.attention(q, q, q, None, None, Attention::default())
    } => OpError::ExtentUnsupported { .. },
    mask_is_longer: |g| {
        let q = g.input("q", f32([1, 2, 3, 8]));
        g.attention(q, q, q, Some(g.input("m", bool_([3, 4]))), None, Attention::default())
    } => OpError::ExtentExceeds { .. },
    mask_of_integers: |g| {
        let q = g.input("q", f32([1, 2, 3, 8]));
        g.attention(q, q, q, Some(g.input("m", i32([3, 3]))), None, Attention::default())
    } => OpError::DType { operand: "mask", .. },
    lengths_of_another_batch: |g| {
        let q = g.input("q", f32([2, 2, 3, 8]));
        g.attention(q, q, q, None, Some(g.input("n", i32([3]))), Attention::default())
    } => OpError::ExtentMismatch { .. },
    odd_rotation: |g| g.rotary(g.input("x", f32([1, 1, 1, 8])), g.input("p", i32::<u64>([])), Rotary { n_rot: Some(3), ..Rotary::default() })
        => OpError::Attr(_),
    rotation_wider_than_the_head: |g| g.rotary(g.input("x", f32([1, 1, 1, 8])), g.input("p", i32::<u64>([])), Rotary { n_rot: Some(10), ..Rotary::default() })
        => OpError::Attr(_),
    rotation_without_angles: |g| g.apply(Rotary { layout: AttentionLayout::Bshd, ..Rotary::default() }, &[g.input("x", f32([1, 1, 1, 8]))])
        => OpError::MissingOperand("pos"),
    tables_of_another_width: |g| {
        let (x, t) = (g.input("x", f32([1, 1, 5, 8])), g.input("t", f32([5, 8])));
        g.rotary_tables(x, t, t, None, Rotary::default())
    } => OpError::ExtentMismatch { .. },
    transform_of_the_parts: |g| g.fft(g.input("x", f32([4, 2])), Fft { axis: -1, ..Fft::default() }) => OpError::Invalid(_),
    one_side_of_complex_values: |g| g.fft(g.input("x", f32([4, 2])), Fft { onesided: true, ..Fft::default() })
        => OpError::Invalid(_),
    window_of_integers: |g| g.hann_window(8, true, DType::I32) => OpError::Attr(_),
    window_beyond_memory: |g| g.blackman_window(1 << 40, true, DType::F32) => OpError::Invalid(_),
    mels_of_no_rate: |g| g.mel_weight_matrix(MelWeightMatrix { sample_rate: 0, ..MelWeightMatrix::default() })
        => OpError::Attr(_),
    mels_above_half_the_rate: |g| g.mel_weight_matrix(MelWeightMatrix { upper_edge_hertz: 8001.0, ..MelWeightMatrix::default() })
        => OpError::Attr(_),
    mels_from_above: |g| g.mel_weight_matrix(MelWeightMatrix { lower_edge_hertz: 8000.0, upper_edge_hertz: 4000.0, ..MelWeightMatrix::default() })
        => OpError::Attr(_),
    mels_from_nowhere: |g| g.mel_weight_matrix(MelWeightMatrix { lower_edge_hertz: f64::NAN, ..MelWeightMatrix::default() })
        => OpError::Attr(_),
    mels_beyond_memory: |g| g.mel_weight_matrix(MelWeightMatrix { num_mel_bins: u64::MAX, ..MelWeightMatrix::default() })
        => OpError::Invalid(_),
    filters_of_more_frequencies: |g| g.log_mel(g.input("x", f32([4, 9, 2])), g.input("f", f32([3, 10])), LogMel::default())
        => OpError::ExtentExceeds { .. },
    filters_of_real_values: |g| g.log_mel(g.input("x", f32([4, 9, 1])), g.input("f", f32([3, 9])), LogMel::default())
        => OpError::Invalid(_),
    logarithm_of_nothing: |g| g.log_mel(g.input("x", f32([4, 9, 2])), g.input("f", f32([3, 9])), LogMel { eps: 0.0, ..LogMel::default() })
        => OpError::Attr(_),
    natural_whisper: |g| g.log_mel(g.input("x", f32([4, 9, 2])), g.input("f", f32([3, 9])), LogMel { compress: LogMelCompress::Whisper, ..LogMel::default() })
        => OpError::Attr(_),
    power_of_nothing: |g| g.log_mel(g.input("x", f32([4, 9, 2])), g.input("f", f32([3, 9])), LogMel { power: -1.0, log: LogBase::Log10, ..LogMel::default() })
        => OpError::Attr(_),
    average_of_no_frequency: |g| g.welch_psd(g.input("x", f32([4, 9, 0, 2])), WelchPsd::default())
        => OpError::ExtentExceeds { .. },
    average_of_real_values: |g| g.welch_psd(g.input("x", f32([4, 9, 8, 1])), WelchPsd::default()) => OpError::Invalid(_),
    peaks_of_a_symbol: |g| g.welch_peaks(g.input("x", f32([4.into(), 9.into(), sym("n", 1..=9), 2.into()])), WelchPeaks::default())
        => OpError::ExtentUnsupported { .. },
    peaks_of_other_segments: |g| g.welch_peaks(g.input("x", f32([4, 9, 8, 2])), WelchPeaks { n_segments: Some(3), ..WelchPeaks::default() })
        => OpError::Attr(_),
    more_peaks_than_memory: |g| g.welch_peaks(g.input("x", f32([4, 9, 8, 2])), WelchPeaks { k: 1 << 40, ..WelchPeaks::default() })
        => OpError::Attr(_),
    frames_beyond_the_signal: |g| g.stft(g.input("x", f32([1, 9, 1])), None, Stft { frame_length: Some(10), ..Stft::default() })
        => OpError::Attr(_),
    frames_that_may_be_beyond: |g| {
        let x = g.input("x", f32([1.into(), sym("n", 9..=99), 1.into()]));
        g.stft(x, None, Stft { frame_length: Some(10), ..Stft::default() })
    } => OpError::Attr(_),
    frames_on_the_spot: |g| g.stft(g.input("x", f32([1, 9, 1])), None, Stft { frame_step: 0, ..Stft::default() })
        => OpError::Attr(_),
    frames_of_nothing: |g| g.stft(g.input("x", f32([1, 9, 1])), None, Stft { frame_length: Some(0), ..Stft::default() })
        => OpError::Attr(_),
    one_side_of_complex_frames: |g| g.stft(g.input("x", f32([1, 9, 2])), None, Stft::default()) => OpError::Invalid(_),
    window_of_another_length: |g| {
        let op = Stft { frame_length: Some(5), ..Stft::default() };
        g.stft(g.input("x", f32([1, 9, 1])), Some(g.input("w", f32([4]))), op)
    } => OpError::Invalid(_),
    sign_of_a_start_is_open: |g| {
        let x = g.input("x", f32([sym("n", 1..=9)]));
        let start = g.dim_of(x, 0) - DimExpr::constant(5);
        let op = Slice { starts: vec![start], ends: vec![DimExpr::constant(9)], axes: vec![], steps: vec![], exact: false };
        g.apply(op, &[x])
    } => OpError::ExtentUnsupported { .. },
}

/// ε of norms took NaN, negative and infinite numbers, and results were NaN. Every float attribute has a stated range.
mod floats {
    use super::*;
    use pumice_ir::ops::{Elu, Glu, LayerNorm, RmsNorm};
    use pumice_ir::text::{print, read};

    const NOT_NUMBERS: [f32; 3] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];

    /// That a graph with this value is refused by the attribute's name.
    fn refused(name: &str, value: f32, build: impl FnOnce(&GraphBuilder, Value) -> Value) {
        let error = mistake(|g| build(g, g.input("x", f32([3, 4]))));
        assert!(matches!(error, OpError::Attr(_)), "{value}: {error}");
        let text = error.to_string();
        assert!(text.contains(name) && text.contains(&f64::from(value).to_string()), "{text}");
    }

    #[test]
    fn of_norms() {
        for value in NOT_NUMBERS.into_iter().chain([-1e-6, -f32::MIN_POSITIVE]) {
            refused("epsilon", value, |g, x| g.layer_norm(x, g.param("w", f32([4])), None, value));
            refused("epsilon", value, |g, x| g.rms_norm(x, g.param("w", f32([4])), value));
            let op = |axis| LayerNorm { axis, epsilon: value, ..LayerNorm::default() };
            refused("epsilon", value, |g, x| g.apply(op(0), &[x, g.param("w", f32([3, 4]))]));
        }
        for weight_offset in NOT_NUMBERS {
            let op = RmsNorm { weight_offset, epsilon: 0.0, ..RmsNorm::default() };
            refused("weight_offset", weight_offset, |g, x| g.apply(op, &[x, g.param("w", f32([4]))]));
        }
    }

    #[test]
    fn of_activations_and_attention() {
        for value in NOT_NUMBERS {
            refused("alpha", value, |g, x| g.apply(Elu { alpha: value }, &[x]));
            refused("alpha", value, |g, x| g.celu(x, value));
            refused("gamma", value, |g, x| g.selu(x, 1.0, value));
            refused("bias", value, |g, x| g.shrink(x, 0.5, value));
            let glu = |limit| Glu { limit: Some(limit), ..Glu::default() };
            refused("limit", value, |g, x| g.apply(glu(value), &[x, x]));
            let heads = |g: &GraphBuilder| ["q", "k", "v"].map(|n| g.input(n, f32([1, 2, 3, 4])));
            let attend = |g: &GraphBuilder, op: Attention| {
                let [q, k, v] = heads(g);
                g.attention(q, k, v, None, None, op)
            };
            let softcap = Attention { softcap: value, ..Attention::default() };
            assert!(matches!(mistake(|g| attend(g, softcap)), OpError::Attr(_)));
            let scale = Attention { scale: Some(value), ..Attention::default() };
            assert!(matches!(mistake(|g| attend(g, scale)), OpError::Attr(_)));
        }
        let theta = |theta| Rotary { theta, ..Rotary::default() };
        for value in NOT_NUMBERS.into_iter().chain([0.0, -10.0]) {
            let error = mistake(|g| {
                let x = g.input("x", f32([1, 2, 3, 4]));
                g.rotary(x, g.input("p", i32([1, 3])), theta(value))
            });
            assert!(matches!(error, OpError::Attr(_)), "{value}: {error}");
        }
    }

    /// Text is held to the same.
    #[test]
    fn of_text() {
        let g = GraphBuilder::new("t");
        let y = g.rms_norm(g.input("x", f32([3, 4])), g.param("w", f32([4])), 0.25);
        g.output("y", y);
        let text = print(&g.build().expect("sound"));
        assert!(text.contains("epsilon = 0.25") && read(&text).is_ok(), "{text}");
        for value in ["nan", "inf", "-inf", "-0.25"] {
            let changed = text.replace("epsilon = 0.25", &format!("epsilon = {value}"));
            let error = read(&changed).expect_err("refused").to_string();
            assert!(error.contains("epsilon") && error.contains("finite and not negative"), "{error}");
        }
    }
}

/// Windows: extents, groups, lists and counts that do not go together.
mod windows {
    use super::*;
    use pumice_ir::ops::{AveragePool, Conv, ConvTranspose, MaxPool};
    use pumice_ir::text::{print, read};

    /// What a convolution of these shapes is refused for.
    fn conv(x: &[u64], w: &[u64], op: Conv) -> OpError {
        mistake(|g| g.conv(g.input("x", f32(x.to_vec())), g.param("w", f32(w.to_vec())), None, op))
    }

    fn spread(x: &[u64], w: &[u64], op: ConvTranspose) -> OpError {
        mistake(|g| g.conv_transpose(g.input("x", f32(x.to_vec())), g.param("w", f32(w.to_vec())), None, op))
    }

    fn pool(x: &[u64], op: MaxPool) -> OpError {
        mistake(|g| g.max_pool(g.input("x", f32(x.to_vec())), op))
    }

    #[test]
    fn extents_of_convolutions() {
        let plain = Conv::default;
        let error = conv(&[1, 2, 4], &[3, 2, 5], plain());
        assert!(matches!(error, OpError::ExtentExceeds { .. }), "{error}");
        assert!(error.to_string().contains("5 is more than 4"), "{error}");
        let dilated = Conv { dilations: vec![3], pads: vec![1, 1], ..plain() };
        assert!(matches!(conv(&[1, 2, 4], &[3, 2, 3], dilated), OpError::ExtentExceeds { .. }));
        assert!(matches!(conv(&[1, 2, 4], &[3, 3, 3], plain()), OpError::ExtentMismatch { .. }));
        assert!(matches!(conv(&[1, 2, 4], &[3, 2, 3, 3], plain()), OpError::Rank { operand: "w", .. }));
        assert!(matches!(conv(&[2, 4], &[3, 4], plain()), OpError::Rank { operand: "x", .. }));
        assert!(matches!(conv(&[1, 1, 2, 2, 2, 2], &[1, 1, 2, 2, 2, 2], plain()), OpError::Rank { .. }));
        assert!(matches!(conv(&[1, 2, 4], &[3, 2, 0], plain()), OpError::Invalid(_)));
        let groups = |groups| Conv { groups, ..plain() };
        assert!(matches!(conv(&[1, 4, 4], &[3, 2, 3], groups(2)), OpError::Invalid(_)));
        assert!(matches!(conv(&[1, 4, 4], &[6, 2, 3], groups(3)), OpError::Invalid(_)));
        assert!(matches!(conv(&[1, 6, 4], &[6, 3, 3], groups(3)), OpError::ExtentMismatch { .. }));
        let bias = mistake(|g| {
            let (x, w) = (g.input("x", f32([1, 2, 4])), g.param("w", f32([3, 2, 3])));
            g.conv(x, w, Some(g.param("b", f32([2]))), plain())
        });
        assert!(matches!(bias, OpError::ExtentMismatch { .. }), "{bias}");
        let halves =
            mistake(|g| g.conv(g.input("x", f32([1, 2, 4])), g.param("w", f16([3, 2, 3])), None, plain()));
        assert!(matches!(halves, OpError::DTypeMismatch { .. }), "{halves}");
        let kernel = mistake(|g| {
            let w = g.input("w", f32([3.into(), 2.into(), sym("k", 1..=3)]));
            g.conv(g.input("x", f32([1, 2, 4])), w, None, plain())
        });
        assert!(matches!(kernel, OpError::ExtentUnsupported { .. }), "{kernel}");
    }

    #[test]
    fn lists_and_counts() {
        let refused = |op: Conv, name: &str| {
            let error = conv(&[1, 2, 4, 4], &[3, 2, 3, 3], op);
            assert!(matches!(error, OpError::Attr(_)) && error.to_string().contains(name), "{error}");
        };
        for wrong in [vec![1], vec![1, 1, 1], vec![0, 1], vec![1, 1 << 31], vec![u64::MAX, 1]] {
            refused(Conv { strides: wrong.clone(), ..Conv::default() }, "strides");
            refused(Conv { dilations: wrong, ..Conv::default() }, "dilations");
        }
        for wrong in [vec![1], vec![1, 1], vec![0; 5], vec![0, 0, 0, 1 << 31]] {
            refused(Conv { pads: wrong, ..Conv::default() }, "pads");
        }
        for groups in [0, 1 << 31, u64::MAX] {
            refused(Conv { groups, ..Conv::default() }, "groups");
        }
    }

    #[test]
    fn of_transposed_convolutions() {
        let plain = ConvTranspose::default;
        let too_much = ConvTranspose { pads: vec![3, 4], ..plain() };
        assert!(matches!(spread(&[1, 2, 4], &[2, 3, 3], too_much), OpError::ExtentExceeds { .. }));
        let too_wide = ConvTranspose { output_shape: vec![7], ..plain() };
        assert!(matches!(spread(&[1, 2, 4], &[2, 3, 3], too_wide), OpError::ExtentExceeds { .. }));
        let after = ConvTranspose { output_padding: vec![2], strides: vec![2], ..plain() };
        let error = spread(&[1, 2, 4], &[2, 3, 3], after);
        assert!(matches!(error, OpError::Attr(_)) && error.to_string().contains("output_padding"), "{error}");
        assert!(matches!(spread(&[1, 2, 4], &[3, 2, 3], plain()), OpError::ExtentMismatch { .. }));
        let groups = ConvTranspose { groups: 3, ..plain() };
        assert!(matches!(spread(&[1, 4, 4], &[4, 2, 3], groups), OpError::Invalid(_)));
        let lists = ConvTranspose { output_shape: vec![7, 7], ..plain() };
        assert!(matches!(spread(&[1, 4, 4], &[4, 2, 3], lists), OpError::Attr(_)));
    }

    #[test]
    fn of_pools() {
        let of = |kernel: &[u64]| MaxPool { kernel: kernel.to_vec(), ..MaxPool::default() };
        assert!(matches!(pool(&[1, 2, 4], of(&[5])), OpError::ExtentExceeds { .. }));
        assert!(matches!(pool(&[1, 2, 4], of(&[])), OpError::Attr(_)));
        assert!(matches!(pool(&[1, 2, 4], of(&[2, 2])), OpError::Attr(_)));
        assert!(matches!(pool(&[1, 2, 4], of(&[0])), OpError::Attr(_)));
        assert!(matches!(pool(&[1, 4], of(&[2])), OpError::Rank { .. }));
        let only_pads = pool(&[1, 2, 4], MaxPool { pads: vec![2, 0], ..of(&[2]) });
        assert!(only_pads.to_string().contains("pads"), "{only_pads}");
        let whole = AveragePool { kernel: vec![2], ..AveragePool::default() };
        let error = mistake(|g| g.average_pool(g.input("x", i32([1, 2, 4])), whole));
        assert!(matches!(error, OpError::DType { .. }), "{error}");
        let flat = mistake(|g| g.global_average_pool(g.input("x", f32([1, 2]))));
        assert!(matches!(flat, OpError::Rank { operand: "x", rank: 2, .. }), "{flat}");
    }

    /// Nodes and mistakes are called as the method that made them, not as the reduction that it is.
    #[test]
    fn global_pools_go_by_their_own_name() {
        let g = GraphBuilder::new("g");
        let refused = g.check(g.global_max_pool(g.input("x", f32([1, 2])))).expect_err("no spatial axis");
        let refused = refused.to_string();
        assert!(refused.starts_with("global_max_pool: operand `x` has rank 2; expected batch,"), "{refused}");
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([1, 2, 4]));
        g.output("mean", g.global_average_pool(x));
        g.output("most", g.named("top").global_max_pool(x));
        let graph = g.build().expect("sound");
        assert!(graph.find("global_average_pool").is_some() && graph.find("top").is_some());
    }

    /// Channels that do not go together are told by group, axis and operand.
    #[test]
    fn of_channels_by_group() {
        let grouped = |x: &[u64], w: &[u64]| conv(x, w, Conv { groups: 2, ..Conv::default() }).to_string();
        assert_eq!(
            grouped(&[1, 4, 4, 4], &[4, 4, 3, 3]),
            "the channels in each of 2 groups of `x` and axis 1 of `w`: 2 is not 4"
        );
        assert_eq!(
            grouped(&[1, 5, 4, 4], &[6, 2, 3, 3]),
            "the channels of `x`, 5, do not make 2 groups of as many"
        );
        assert_eq!(
            conv(&[1, 3, 4], &[4, 4, 3], Conv::default()).to_string(),
            "the channels, axis 1 of `x` and axis 1 of `w`: 3 is not 4"
        );
        assert_eq!(
            conv(&[3, 8, 8], &[4, 3, 3, 3], Conv::default()).to_string(),
            "operand `w` has rank 4; expected 3, because x has rank 3 (batch, channels, one spatial axis)"
        );
        let linear = mistake(|g| g.linear(g.input("x", f32([2, 3, 1])), g.param("w", f32([5, 3])), None));
        assert_eq!(linear.to_string(), "the last axis of `x` and axis 1 of `w`: 1 is not 3");
    }

    /// No element leaves nothing to cut off, unless the window fills what is between them.
    #[test]
    fn an_empty_axis_is_said_to_be_empty() {
        let spread = |stride| ConvTranspose { strides: vec![stride], ..ConvTranspose::default() };
        let empty = mistake(|g| {
            g.conv_transpose(g.input("x", f32([1, 2, 0])), g.param("w", f32([2, 2, 2])), None, spread(4))
        });
        assert_eq!(empty.to_string(), "axis 2 of `x` must not be empty: 1 is more than 0");
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([1, 2, 0]));
        g.output("y", g.conv_transpose(x, g.param("w", f32([2, 2, 2])), None, spread(1)));
        assert!(g.build().is_ok());
    }

    #[test]
    fn statistics_of_other_channels() {
        let error = mistake(|g| {
            let (x, v, w) = (g.input("x", f32([1, 2, 4])), g.param("v", f32([2])), g.param("w", f32([3])));
            g.batch_norm(x, v, v, v, w, 1e-5)
        });
        assert!(
            matches!(&error, OpError::ExtentMismatch { what, .. } if what.contains("variance")),
            "{error}"
        );
    }

    /// What symbols decide is a condition of the run, and is said of the node.
    #[test]
    fn too_large_a_window_is_a_condition() {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([1.into(), 2.into(), sym("n", 1..=9)]));
        g.output("y", g.conv(x, g.param("w", f32([3, 2, 3])), None, Conv::default()));
        let graph = g.build().expect("some extents are large enough");
        let [condition] = graph.constraints() else { panic!("{:?}", graph.constraints()) };
        assert!(
            condition.what.starts_with("conv: the window and the padded extent of axis 2"),
            "{}",
            condition.what
        );
    }

    /// Extents keep no maximum that the ranges of symbols decide, so two that never agree are told when building.
    #[test]
    fn extents_are_as_simple_as_ranges_allow() {
        let g = GraphBuilder::new("g");
        let x = g.input("x", f32([1.into(), 2.into(), sym("h", 3..=40)]));
        let conv = |x, name: &str, taps: u64, op| g.conv(x, g.param(name, f32([2, 2, taps])), None, op);
        let same = || Conv { pads: vec![1; 2], ..Conv::default() };
        let kept = conv(conv(x, "a", 3, same()), "b", 3, same());
        assert_eq!(g.dim_of(kept, 2), g.dim_of(x, 2));
        let pool = MaxPool { kernel: vec![2], strides: vec![2], ceil_mode: true, ..MaxPool::default() };
        let pooled = g.dim_of(g.max_pool(x, pool), 2);
        assert_eq!(pooled, g.dim_of(x, 2).ceil_div(&DimExpr::constant(2)));
        let wider = g.conv_transpose(x, g.param("u", f32([2, 2, 2])), None, ConvTranspose::default());
        assert_eq!(g.dim_of(wider, 2), g.dim_of(x, 2) + 1);
        g.output("y", g.add(x, conv(x, "c", 2, Conv::default())));
        let error = g.build().expect_err("h and h - 1 never agree").to_string();
        assert!(error.contains("shapes [1, 2, h] and [1, 2, max(0, h - 1)] do not broadcast"), "{error}");
    }

    /// Text is held to the same, and counts are no negative numbers in it.
    #[test]
    fn of_text() {
        let g = GraphBuilder::new("t");
        let op = Conv { strides: vec![2, 3], pads: vec![1, 0, 0, 1], groups: 2, ..Conv::default() };
        g.output("y", g.conv(g.input("x", f32([1, 2, 9, 9])), g.param("w", f32([4, 1, 3, 3])), None, op));
        let text = print(&g.build().expect("sound"));
        assert!(text.contains("strides = [2, 3]") && text.contains("groups = 2"), "{text}");
        assert_eq!(print(&read(&text).expect("reads")), text);
        for (from, to) in
            [("[2, 3]", "[2, -3]"), ("[2, 3]", "[2, 0]"), ("groups = 2", "groups = -2"), ("[2, 3]", "3")]
        {
            assert!(read(&text.replace(from, to)).is_err(), "{to}");
        }
    }
}
