//! What convolutions and pooling have in common: positions, taps, and the elements that windows may read.
//!
//! A kernel asks of every tap whether it lies inside the operand, so that it reads at most the operand's whole extent.

use super::Wrong;
use super::accesses::Accesses;
use super::call::{Call, iteration, law};

/// The largest number of a window: sums of two places stay below 2^31.
const LARGEST: u64 = 1 << 30;

/// Extents of a call along its spatial axes.
pub(super) struct Window {
    /// Elements of the operand along each axis.
    pub extent: [u64; 3],
    /// Positions in all.
    pub positions: u64,
}

impl Window {
    /// Of a call.
    pub fn of(call: &Call<'_>) -> Result<Window, Wrong> {
        Window::counting(call, &["step", "dilation", "begin"])
    }

    /// Of a call of a transposed convolution.
    pub fn spread(call: &Call<'_>) -> Result<Window, Wrong> {
        Window::counting(call, &["hop", "begin"])
    }

    fn counting(call: &Call<'_>, names: &[&str]) -> Result<Window, Wrong> {
        for name in names {
            for d in 0..3 {
                let n = call.fixed_stride_at(name, d)?;
                law(n.unsigned_abs() <= LARGEST, || format!("`{name}` is {n}, windows count to {LARGEST}"))?;
            }
        }
        Ok(Window { extent: counts(call, "extent")?, positions: iteration(&counts(call, "out")?)? })
    }

    /// Adds the spatial axes of the operand, whose strides have these names.
    pub fn spatial<'i>(
        &self,
        call: &Call<'i>,
        accesses: Accesses<'i>,
        strides: [&str; 3],
    ) -> Result<Accesses<'i>, Wrong> {
        along(call, accesses, self.extent, strides)
    }

    /// A window is no larger than what it moves over, padding included, and its taps can be counted: nothing else says
    /// how long its loop may be.
    pub fn fits(&self, call: &Call<'_>) -> Result<(), Wrong> {
        let (kernel, end) = (counts(call, "kernel")?, counts(call, "end")?);
        iteration(&kernel)?;
        for d in 0..3 {
            let (dilation, begin) = (call.fixed_stride_at("dilation", d)?, call.fixed_stride_at("begin", d)?);
            let covered = kernel[d].saturating_sub(1).saturating_mul(dilation.unsigned_abs());
            let whole = end[d].saturating_add_signed(begin);
            law(dilation > 0 && covered < whole, || {
                format!("a window of {} taps {dilation} apart moves over {whole} elements", kernel[d])
            })?;
        }
        Ok(())
    }
}

/// Adds three axes of these extents, whose strides have these names.
pub(super) fn along<'i>(
    call: &Call<'i>,
    mut accesses: Accesses<'i>,
    extents: [u64; 3],
    strides: [&str; 3],
) -> Result<Accesses<'i>, Wrong> {
    for (extent, stride) in extents.into_iter().zip(call.fixed_strides(strides)?) {
        // Accesses of nothing would say nothing of an axis that no element of the view shows.
        law(extent > 0 || stride != 0, || "an axis without a stride has no elements".to_owned())?;
        accesses = accesses.axis(extent, stride);
    }
    Ok(accesses)
}

/// Counts of the three spatial axes.
pub(super) fn counts(call: &Call<'_>, name: &str) -> Result<[u64; 3], Wrong> {
    Ok([call.fixed_count_at(name, 0)?, call.fixed_count_at(name, 1)?, call.fixed_count_at(name, 2)?])
}
