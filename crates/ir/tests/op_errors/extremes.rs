//! Attributes and extents at the ends of their types: refused with a reason, at once, and without a panic.

use super::mistake;
use pumice_ir::ops::LinearRecurrence;
use pumice_ir::ops::im2col::Im2Col;
use pumice_ir::ops::linear_recurrence::RecurrenceOptions;
use pumice_ir::ops::mel_weight_matrix::MelWeightMatrix;
use pumice_ir::ops::resize::{Resize, ResizeAspect, ResizeCoordinates};
use pumice_ir::ops::{RecurrentLayer, recurrent_layer::Cell};
use pumice_ir::{OpError, bool_, f32, i32, sym};
use pumice_types::{DType, DimExpr};

refuses! {
    // A table without a column had 2^39 rows to go through.
    mels_of_no_bin_and_too_many_rows: |g| g.mel_weight_matrix(MelWeightMatrix { num_mel_bins: 0, dft_length: 1 << 40, ..MelWeightMatrix::default() })
        => OpError::Invalid(_),
    extent_of_a_range_from_one: |g| { let n = g.extent_of(g.input("n", i32::<u64>([])), 1..=6); g.narrow(g.input("x", f32([6])), 0, 0u64, n) }
        => OpError::Invalid(_),
    extent_beyond_what_kernels_count: |g| g.found_count(g.input("n", i32::<u64>([])), 1 << 40)
        => OpError::Attr(_),
    branches_of_unlike_types: |g| { let (x, y) = (g.input("x", f32([2])), g.input("y", f32([3]))); g.if_(g.input("c", bool_::<u64>([])), |_| [x], |_| [y])[0] }
        => OpError::ExtentMismatch { .. },
    branches_of_unlike_dtypes: |g| { let (x, y) = (g.input("x", f32([2])), g.input("y", i32([2]))); g.if_(g.input("c", bool_::<u64>([])), |_| [x], |_| [y])[0] }
        => OpError::DTypeMismatch { .. },
    a_condition_of_two: |g| { let x = g.input("x", f32([2])); g.if_(g.input("c", bool_([2])), |_| [x], |_| [x])[0] }
        => OpError::ExtentMismatch { .. },
    a_condition_of_numbers: |g| { let x = g.input("x", f32([2])); g.if_(g.input("c", f32::<u64>([])), |_| [x], |_| [x])[0] }
        => OpError::DType { .. },
    a_branch_that_writes_a_state: |g| { let (x, s) = (g.input("x", f32([2])), g.state("s", f32([2]))); g.if_(g.input("c", bool_::<u64>([])), |g| [g.state_write(s, x)], |_| [x])[0] }
        => OpError::Invalid(_),
    a_choice_from_0_to_3: |g| { let x = g.input("x", f32([sym("n", 0..=3)])); let n = g.dim_of(x, 0); g.join_branches(&n, x, x) }
        => OpError::Invalid(_),
    extents_that_only_the_run_finds: |g| {
        let rows = ["a", "b"].map(|n| {
            let n = g.extent_of(g.input(n, i32::<u64>([])), 0..=6);
            g.unsqueeze(g.range(0, n, 1, DType::I32), &[0])
        });
        g.if_(g.input("c", bool_::<u64>([])), |_| [rows[0]], |g| [g.squeeze(rows[1], &[0])])[0]
    } => OpError::Rank { .. },
    a_found_extent_that_must_be_1: |g| {
        let n = g.extent_of(g.input("n", i32::<u64>([])), 0..=6);
        g.squeeze(g.narrow(g.input("x", f32([6, 2])), 0, 0u64, n), &[0])
    } => OpError::OnlyFound { .. },
    a_found_extent_of_a_state: |g| {
        let n = g.extent_of(g.input("n", i32::<u64>([])), 0..=6);
        g.state_write(g.state("s", f32([6])), g.narrow(g.input("x", f32([6])), 0, 0u64, n))
    } => OpError::OnlyFound { .. },
    a_found_extent_of_a_result: |g| {
        let [n, m] = ["n", "m"].map(|n| g.extent_of(g.input(n, i32::<u64>([])), 0..=6));
        g.reshape_to(g.narrow(g.input("x", f32([6])), 0, 0u64, n), vec![m])
    } => OpError::OnlyFound { .. },
    // Twice the extent left 64 bits.
    resize_to_sizes_beyond_62_bits: |g| g.resize(g.input("x", f32([2, 3])), Resize { sizes: vec![DimExpr::constant(1 << 62); 2], aspect: ResizeAspect::NotLarger, ..Resize::default() })
        => OpError::Invalid(_),
    // The table of places was 8 TiB.
    region_of_too_many_places: |g| g.resize(g.input("x", f32([2])), region(vec![DimExpr::constant(1 << 40)], vec![]))
        => OpError::ExtentUnsupported { .. },
    region_scaled_to_too_many_places: |g| g.resize(g.input("x", f32([2])), region(vec![], vec![5e11]))
        => OpError::ExtentUnsupported { .. },
    // Taps of all axes together left 64 bits.
    columns_of_too_many_taps: |g| g.im2col(g.input("x", f32([1, 1, 1, 1, 1])), Im2Col { kernel: vec![1 << 22; 3], pads: vec![1 << 22; 6], ..Im2Col::default() })
        => OpError::Attr(_),
    image_of_too_many_taps: |g| g.col2im(g.input("x", f32([1, 1, 1])), &[1 << 22; 3], Im2Col { kernel: vec![1 << 22; 3], ..Im2Col::default() })
        => OpError::Attr(_),
    // As a signed number that was a pad of -1, which crops.
    columns_of_pads_beyond_63_bits: |g| g.im2col(g.input("x", f32([1, 1, 5])), Im2Col { kernel: vec![2], pads: vec![u64::MAX, 0], ..Im2Col::default() })
        => OpError::Attr(_),
    // A mistake has one value, and these have two and three results.
    recurrence_of_unlike_keys: |g| g.linear_recurrence([4, 5, 3].map(|k| g.input(&format!("of_{k}"), f32([1, 2, 1, k]))), RecurrenceOptions::default(), LinearRecurrence::default()).0
        => OpError::ExtentMismatch { .. },
    layer_of_unlike_units: |g| g.recurrent_layer([g.input("xw", f32([2, 1, 4])), g.input("r", f32([5, 4]))], [None; 5], RecurrentLayer { cell: Cell::Rnn, ..RecurrentLayer::default() })[0]
        => OpError::ExtentMismatch { .. },
}

/// The whole of an axis, as a region.
fn region(sizes: Vec<DimExpr>, scales: Vec<f32>) -> Resize {
    let coordinates = ResizeCoordinates::TfCropAndResize;
    Resize { sizes, scales, roi: vec![0.0, 1.0], coordinates, ..Resize::default() }
}
