//! Whether a device's matrix units make of f16 and bf16 what they should, before anything is compiled for them.
//!
//! In: an open device. Out: whether one product in each precision is right: left factors of all kinds rounded to nearest
//! even, what is too large infinite, NaN kept, sums exact. Only where the device has cooperative matrices and its table
//! has rows for them. Never here: a figure, a choice.

use crate::Options;
use crate::device::Device;
use pumice_cpu_ref::Array;
use pumice_ir::{GraphBuilder, f32};
use pumice_types::target::{Component, Target};
use pumice_types::{DType, Precision, TensorView};
use std::fs;
use std::path::Path;

/// Rows and columns of the result; the first half of each is about roundings, the second about sums.
const EDGE: usize = 128;
/// The rows of the first half whose factors are no numbers once they are rounded: too large, and NaN.
const NO_NUMBERS: [usize; 2] = [EDGE / 2 - 2, EDGE / 2 - 1];
/// Terms of each sum.
const TERMS: usize = 64;
/// Values of every kind whose rounding to f16 or bf16 matters, before ordinary ones follow: ties, both sides of one,
/// subnormals of f16, what becomes zero in it, its largest.
const KINDS: [f32; 15] = [
    1.003_906_2,
    1.011_718_8,
    1.003_906_4,
    1.000_488_3,
    1.001_464_8,
    1.000_488_4,
    -0.333_333_34,
    6.103_515_6e-5,
    6.0e-5,
    8.940_697e-8,
    2.980_232_2e-8,
    2.980_233e-8,
    -0.0,
    65_519.0,
    -2049.0,
];

/// The precisions that units may have, with the type that they multiply in.
const PRECISIONS: [(Precision, Component); 2] =
    [(Precision::F16, Component::F16), (Precision::Bf16, Component::BF16)];

/// Whether the units pass in those precisions: as the file of an earlier opening says, else by products, of which such a
/// file then says that they were right.
pub(crate) fn passes(device: &Device, due: &[Precision], file: Option<&Path>) -> bool {
    let passed: String = due.iter().map(|precision| format!("{precision} passed\n")).collect();
    if file.is_some_and(|file| is_known(file, &passed)) {
        return true;
    }
    let passes = due.iter().all(|precision| try_product(device, *precision) == Some(true));
    if let (true, Some(file)) = (passes, file) {
        remember(file, &passed);
    }
    passes
}

/// Whether a file says that the units have passed. What cannot be one is not opened: a pipe would wait for whoever
/// writes into it.
fn is_known(file: &Path, passed: &str) -> bool {
    let may_say = |known: fs::Metadata| known.is_file() && known.len() == passed.len() as u64;
    fs::symlink_metadata(file).is_ok_and(may_say)
        && fs::read(file).is_ok_and(|said| said == passed.as_bytes())
}

/// Says in a file that the units have passed; without it the test is made again. What stands there and is no regular
/// file is not ours, and stays.
fn remember(file: &Path, passed: &str) {
    if fs::symlink_metadata(file).map_or(true, |known| known.is_file()) {
        let _ = file.parent().map(fs::create_dir_all);
        let _ = fs::write(file, passed);
    }
}

/// What there is to test: the precisions whose matrices the device has, and its table rows for.
pub(crate) fn due(device: &Device) -> Vec<Precision> {
    let Target { features, table, .. } = device.target();
    let is_due = |(precision, component): &(Precision, Component)| {
        features.matrices.iter().any(|shape| shape.has(*component))
            && table.rows.iter().any(|row| row.precision == *precision)
    };
    PRECISIONS.into_iter().filter(is_due).map(|(precision, _)| precision).collect()
}

/// None where something refuses.
fn try_product(device: &Device, precision: Precision) -> Option<bool> {
    let g = GraphBuilder::new("matrix units");
    let (x, w) =
        (g.input("x", f32([EDGE as u64, TERMS as u64])), g.input("w", f32([TERMS as u64, EDGE as u64])));
    g.output("y", g.matmul(x, w));
    let exe = crate::compile(&g.build().ok()?, device, &Options::default().precision(precision)).ok()?;
    let by_units = exe.plan().runs.iter().flat_map(|run| &run.program.steps);
    if !by_units.into_iter().any(|step| step.cost.precision == precision) {
        return Some(false);
    }
    let (dtype, too_large) = match precision {
        Precision::Bf16 => (DType::BF16, f32::MAX),
        _ => (DType::F16, 65_520.0),
    };
    let (x, w) = (left(too_large), right());
    let mut session = exe.session().ok()?;
    let edge = EDGE as u64;
    let views =
        [("x", TensorView::f32(&x, [edge, TERMS as u64])), ("w", TensorView::f32(&w, [TERMS as u64, edge]))];
    let y = session.run(&views).ok()?.get("y").ok()?.to_vec::<f32>().ok()?;
    Some(is_right(dtype, &x, &w, &y))
}

/// Whether that is the product of the factors, the left one rounded: the right one has no more bits than bf16.
fn is_right(dtype: DType, x: &[f32], w: &[f32], y: &[f32]) -> bool {
    let exact = Array::floats(DType::F32, &[x.len() as u64], x.iter().map(|&v| f64::from(v)).collect());
    let rounded = exact.rounded_to(dtype);
    let element = |(i, &y): (usize, &f32)| {
        let (row, column) = (i / EDGE, i % EDGE);
        let x = |k: usize| rounded.as_floats()[row * TERMS + k];
        let sum = || (0..TERMS).map(|k| x(k) * f64::from(w[k * EDGE + column])).sum::<f64>();
        if NO_NUMBERS.contains(&row) {
            // An infinite factor meets zeros, too.
            return !y.is_finite() || column >= TERMS;
        }
        match (row < EDGE / 2, column < TERMS) {
            (true, true) => f64::from(y) == x(column),
            (true, false) => true,
            (false, _) => f64::from(y) == sum(),
        }
    };
    y.iter().enumerate().all(element)
}

/// Every kind of number, then small integers, whose sums are exact in any order.
fn left(too_large: f32) -> Vec<f32> {
    let number = |i: usize| match i / TERMS < EDGE / 2 {
        true if i.is_multiple_of(3) => KINDS[i / 3 % KINDS.len()],
        // Numbers with all 24 bits.
        true => f32::from_bits(0x3c00_0000 | (i as u32).wrapping_mul(0x9e37_79b9) >> 6) - 0.5,
        false => (i * 7 % 17) as f32 - 8.0,
    };
    let element = |i: usize| match i / TERMS {
        row if row == NO_NUMBERS[0] => too_large,
        row if row == NO_NUMBERS[1] => f32::NAN,
        _ => number(i),
    };
    (0..EDGE * TERMS).map(element).collect()
}

/// One row of the identity for each term, then small integers.
fn right() -> Vec<f32> {
    let number = |i: usize| match (i / EDGE, i % EDGE) {
        (term, column) if column < TERMS => f32::from(u8::from(term == column)),
        (term, column) => ((term * 5 + column * 3) % 13) as f32 - 6.0,
    };
    (0..TERMS * EDGE).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product's own data is right where factors are rounded as they should: on the interpreter, by exact rows.
    #[test]
    fn a_device_without_units_does_not_pass() {
        let device = Device::cpu();
        assert_eq!(due(&device), []);
        for (precision, _) in PRECISIONS {
            assert_eq!(try_product(&device, precision), Some(false), "its products are not made by units");
        }
    }

    #[test]
    fn what_has_passed_is_remembered() {
        let folder = std::env::temp_dir().join(format!("pumice-units-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("units");
        let passes = |due: &[Precision]| passes(&Device::cpu(), due, Some(&file));
        assert!(!passes(&[Precision::F16]) && !file.exists(), "nothing has passed");
        fs::write(&file, "f16 passed\n").expect("written");
        assert!(passes(&[Precision::F16]));
        assert!(!passes(&[Precision::F16, Precision::Bf16]), "bf16 was not tried");
        fs::write(&file, "f16 pas").expect("written");
        assert!(!passes(&[Precision::F16]), "a damaged file says nothing");
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// The test hangs where it is opened.
    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_what_is_remembered_says_nothing() {
        let file = std::env::temp_dir().join(format!("pumice-units-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo is there").success());
        assert!(!is_known(&file, "f16 passed\n"));
        remember(&file, "f16 passed\n");
        assert!(fs::symlink_metadata(&file).is_ok_and(|known| !known.is_file()), "it stays");
        fs::remove_file(&file).expect("removed");
    }
}
