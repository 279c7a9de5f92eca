//! Whether a device's matrix units make of f16 what they should, before anything is compiled for them.
//!
//! In: an open device. Out: whether one product of it is right: left factors of all kinds rounded to nearest even, what
//! is too large infinite, NaN kept, sums exact. Only where the device has cooperative matrices and its table has rows
//! for them. Never here: a figure, a choice.

use crate::Options;
use crate::device::Device;
use pumice_cpu_ref::Array;
use pumice_ir::{GraphBuilder, f32};
use pumice_types::{DType, Precision, TensorView};
use std::fs;
use std::path::Path;

/// Rows and columns of the result; the first half of each is about roundings, the second about sums.
const EDGE: usize = 128;
/// Rows of the first half whose factors are none of f16's numbers: too large, and NaN. What they give is no number.
const NO_NUMBERS: [(usize, f32); 2] = [(EDGE / 2 - 2, 65_520.0), (EDGE / 2 - 1, f32::NAN)];
/// Terms of each sum.
const TERMS: usize = 64;
/// Values of every kind whose rounding to f16 matters, before ordinary ones follow: ties, both sides of one,
/// subnormals, what becomes zero, the largest.
const KINDS: [f32; 12] = [
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

/// What a file says of units that have passed.
const PASSED: &str = "passed\n";

/// Whether the units pass: as the file of an earlier opening says, else by a product, which such a file then says.
pub(crate) fn passes(device: &Device, file: Option<&Path>) -> bool {
    if file.is_some_and(is_known) {
        return true;
    }
    let passes = try_product(device) == Some(true);
    if let (true, Some(file)) = (passes, file) {
        remember(file);
    }
    passes
}

/// Whether a file says that the units have passed. What cannot be one is not opened: a pipe would wait for whoever
/// writes into it.
fn is_known(file: &Path) -> bool {
    let may_say = |known: fs::Metadata| known.is_file() && known.len() == PASSED.len() as u64;
    fs::symlink_metadata(file).is_ok_and(may_say)
        && fs::read(file).is_ok_and(|said| said == PASSED.as_bytes())
}

/// Says in a file that the units have passed; without it the test is made again. What stands there and is no regular
/// file is not ours, and stays.
fn remember(file: &Path) {
    if fs::symlink_metadata(file).map_or(true, |known| known.is_file()) {
        let _ = file.parent().map(fs::create_dir_all);
        let _ = fs::write(file, PASSED);
    }
}

/// Whether there is something to test.
pub(crate) fn is_due(device: &Device) -> bool {
    let target = device.target();
    let has_rows = || target.table.rows.iter().any(|row| row.precision == Precision::F16);
    !target.features.matrices.is_empty() && has_rows()
}

/// None where something refuses.
fn try_product(device: &Device) -> Option<bool> {
    let g = GraphBuilder::new("matrix units");
    let (x, w) =
        (g.input("x", f32([EDGE as u64, TERMS as u64])), g.input("w", f32([TERMS as u64, EDGE as u64])));
    g.output("y", g.matmul(x, w));
    let exe = crate::compile(&g.build().ok()?, device, &Options::default().precision(Precision::F16)).ok()?;
    let by_units = exe.plan().runs.iter().flat_map(|run| &run.program.steps);
    if !by_units.into_iter().any(|step| step.cost.precision == Precision::F16) {
        return Some(false);
    }
    let (x, w) = (left(), right());
    let mut session = exe.session().ok()?;
    let edge = EDGE as u64;
    let views =
        [("x", TensorView::f32(&x, [edge, TERMS as u64])), ("w", TensorView::f32(&w, [TERMS as u64, edge]))];
    let y = session.run(&views).ok()?.get("y").ok()?.to_vec::<f32>().ok()?;
    Some(is_right(&x, &w, &y))
}

/// Whether that is the product of the factors, the left one rounded: the right one has no more bits than f16.
fn is_right(x: &[f32], w: &[f32], y: &[f32]) -> bool {
    let exact = Array::floats(DType::F32, &[x.len() as u64], x.iter().map(|&v| f64::from(v)).collect());
    let rounded = exact.rounded_to(DType::F16);
    let element = |(i, &y): (usize, &f32)| {
        let (row, column) = (i / EDGE, i % EDGE);
        let x = |k: usize| rounded.as_floats()[row * TERMS + k];
        let sum = || (0..TERMS).map(|k| x(k) * f64::from(w[k * EDGE + column])).sum::<f64>();
        if NO_NUMBERS.iter().any(|(of, _)| *of == row) {
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
fn left() -> Vec<f32> {
    let number = |i: usize| match i / TERMS < EDGE / 2 {
        true if i.is_multiple_of(3) => KINDS[i / 3 % KINDS.len()],
        // Numbers with all 24 bits.
        true => f32::from_bits(0x3c00_0000 | (i as u32).wrapping_mul(0x9e37_79b9) >> 6) - 0.5,
        false => (i * 7 % 17) as f32 - 8.0,
    };
    let no_number = |i: usize| NO_NUMBERS.iter().find(|(row, _)| *row == i / TERMS).map(|(_, value)| *value);
    (0..EDGE * TERMS).map(|i| no_number(i).unwrap_or_else(|| number(i))).collect()
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
        assert!(!is_due(&device));
        assert_eq!(try_product(&device), Some(false), "its products are not made by units");
    }

    #[test]
    fn what_has_passed_is_remembered() {
        let folder = std::env::temp_dir().join(format!("pumice-units-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("units");
        assert!(!passes(&Device::cpu(), Some(&file)) && !file.exists(), "nothing has passed");
        fs::write(&file, PASSED).expect("written");
        assert!(passes(&Device::cpu(), Some(&file)));
        fs::write(&file, "pas").expect("written");
        assert!(!passes(&Device::cpu(), Some(&file)), "a damaged file says nothing");
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// The test hangs where it is opened.
    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_what_is_remembered_says_nothing() {
        let file = std::env::temp_dir().join(format!("pumice-units-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo is there").success());
        assert!(!is_known(&file));
        remember(&file);
        assert!(fs::symlink_metadata(&file).is_ok_and(|known| !known.is_file()), "it stays");
        fs::remove_file(&file).expect("removed");
    }
}
