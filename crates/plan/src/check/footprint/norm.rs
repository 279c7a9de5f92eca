//! Layer norm and RMS norm.

use super::accesses::Accesses;
use super::call::{Call, product};
use super::slots::{self, Coords};
use super::softmax::row_kernel;
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("layer_norm", layer), ("rms_norm", rms)];

/// `layer_norm`.
fn layer<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    norm(call)
}

/// `rms_norm`.
fn rms<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    call.flag("one_plus")?;
    norm(call)
}

fn norm<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (mut footprint, rows, n) = row_kernel(call)?;
    for (operand, flag) in [(1, "gamma"), (2, "beta")] {
        if call.flag(flag)? {
            footprint = footprint
                .operand(operand, Accesses::new(call.typed_unit(operand), 0).axis(rows, 0).axis(n, 1));
        }
    }
    footprint = footprint.operand(3, Accesses::dense(4, product(&[rows, n])));
    let strided = [(rows, "slot_row")];
    let load = Coords { hole: "load", strided: &strided, columns: Some(n) };
    let epilogue = Coords { hole: "epilogue", ..load };
    slots::add(call, slots::add(call, footprint, "slot_offset", &load)?, "slot_offset", &epilogue)
}
