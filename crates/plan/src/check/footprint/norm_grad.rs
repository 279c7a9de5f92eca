//! Gradients of layer norm and RMS norm.

use super::accesses::Accesses;
use super::call::{Call, product};
use super::slots::{self, Coords};
use super::softmax::row_kernel;
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("norm_grad", by_rows)];

/// `norm_grad`.
fn by_rows<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let (mut footprint, rows, n) = row_kernel(call)?;
    let (scaled, statistics, centred) =
        (call.flag("scaled")?, call.flag("statistics")?, call.flag("centred")?);
    call.own_or_again(scaled, 2, 0)?;
    call.own_or_again(statistics && centred, 4, 3)?;
    call.own_or_again(statistics, 5, 3)?;
    let all = product(&[rows, n]);
    footprint = footprint.operand(1, Accesses::dense(4, all)).operand(3, Accesses::dense(4, all));
    if scaled {
        footprint = footprint.operand(2, Accesses::dense(4, n));
    }
    for (operand, written) in [(4, statistics && centred), (5, statistics)] {
        if written {
            footprint = footprint.operand(operand, Accesses::dense(4, rows));
        }
    }
    let strided = [(rows, "slot_row")];
    slots::add(
        call,
        footprint,
        "slot_offset",
        &Coords { hole: "epilogue", strided: &strided, columns: Some(n) },
    )
}
