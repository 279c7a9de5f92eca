//! Transposed convolutions as kernels take them: three spatial axes, each of which falls into phases.
//!
//! In: an axis of the op. Out: by how much positions of a phase and taps that meet them are apart. Never here:
//! channels, kernels. What phases are stands with the declarations (`pumice_plan::kernels::convolution`).

use crate::cx::LowerCx;
use crate::window::{AXES, LARGEST, filled};
use pumice_ir::ops::conv_transpose::Spread;
use pumice_plan::kernel::ArgValue;
use pumice_plan::kernels::convolution::LARGEST_UP;
use pumice_types::{DimExpr, SymbolTable, WindowAxis};

/// One spatial axis of a transposed convolution.
#[derive(Clone, Debug)]
pub struct PhaseAxis {
    /// Elements of the operand.
    extent: DimExpr,
    /// Positions.
    out: DimExpr,
    /// Taps.
    kernel: u64,
    /// Positions between elements of the operand: the stride.
    up: u64,
    /// Of the taps, every so-many-th meets a phase.
    gap: u64,
    /// Elements from one of these taps to the next, backwards.
    hop: u64,
    /// What hop, times this, leaves 1 of modulo gap.
    inverse: u64,
    /// Positions that are cut off before the first.
    begin: DimExpr,
}

/// The axes of a transposed convolution.
#[derive(Clone, Debug)]
pub struct Phases([PhaseAxis; AXES]);

/// Arguments of kernels that walk phases.
pub struct Words {
    /// Elements of the operand.
    pub extent: [ArgValue; AXES],
    /// Taps.
    pub kernel: [ArgValue; AXES],
    /// Positions.
    pub out: [ArgValue; AXES],
    /// Positions cut off before the first.
    pub begin: [ArgValue; AXES],
    /// Positions from one of a phase to the next.
    pub up: [ArgValue; AXES],
    /// Taps from one of a phase to the next.
    pub gap: [ArgValue; AXES],
    /// Elements from tap to tap.
    pub hop: [ArgValue; AXES],
    /// See [`PhaseAxis`].
    pub inverse: [ArgValue; AXES],
}

impl PhaseAxis {
    /// Of an axis over an extent, with a result of that extent; none where its numbers are more than kernels count to.
    fn of(spread: &Spread, extent: &DimExpr, out: &DimExpr, symbols: &SymbolTable) -> Option<PhaseAxis> {
        let WindowAxis { kernel, stride, dilation, begin, end } = spread.window;
        // What nothing is multiplied by may be any number.
        let dilation = if kernel == 1 { 1 } else { dilation };
        let of_attributes = [kernel, stride, dilation, begin, end, spread.window.reach()];
        let of_extents = [spread.begin.upper(symbols), out.upper(symbols)];
        let largest = of_attributes.into_iter().chain(of_extents).max()?;
        let share = common(stride, dilation);
        let (gap, hop) = (stride / share, dilation / share);
        (largest <= LARGEST && stride <= LARGEST_UP).then(|| PhaseAxis {
            extent: extent.clone(),
            out: out.clone(),
            kernel,
            up: stride,
            gap,
            hop,
            inverse: (0..gap).find(|i| i * hop % gap == 1 % gap).unwrap_or(0),
            begin: spread.begin.clone(),
        })
    }

    /// One element under one tap.
    fn unit() -> PhaseAxis {
        let one = || DimExpr::constant(1);
        let (begin, n) = (DimExpr::constant(0), 1);
        PhaseAxis { extent: one(), out: one(), kernel: n, up: n, gap: n, hop: n, inverse: 0, begin }
    }
}

/// The largest number that divides both.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

impl Phases {
    /// Of the spatial axes of an op over these extents, with a result of these.
    pub fn new(spreads: &[Spread], [from, to]: [&[DimExpr]; 2], symbols: &SymbolTable) -> Option<Phases> {
        let axes = spreads.iter().zip(from.iter().zip(to));
        let axes = axes.map(|(spread, (extent, out))| PhaseAxis::of(spread, extent, out, symbols));
        filled(axes.collect::<Option<_>>()?, PhaseAxis::unit).map(Phases)
    }

    /// Elements of a channel of the operand.
    pub fn elements(&self) -> DimExpr {
        self.0.iter().fold(DimExpr::constant(1), |n, a| n * &a.extent)
    }

    /// Whether every extent of the operand has an element, whatever symbols are.
    pub fn has_elements(&self, symbols: &SymbolTable) -> bool {
        self.0.iter().all(|a| a.extent.lower(symbols) >= 1)
    }

    /// Positions in all.
    pub fn positions(&self) -> DimExpr {
        self.0.iter().fold(DimExpr::constant(1), |n, a| n * &a.out)
    }

    /// Taps in all.
    pub fn taps(&self) -> u64 {
        self.0.iter().fold(1, |n, a| n.saturating_mul(a.kernel))
    }

    /// The most taps of a phase.
    pub fn taps_of_one(&self) -> u64 {
        self.0.iter().fold(1, |n, a| n.saturating_mul(a.kernel.div_ceil(a.gap)))
    }

    /// How many there are.
    pub fn count(&self, symbols: &SymbolTable) -> DimExpr {
        let along = |a: &PhaseAxis| match a.out.lower(symbols) >= a.up {
            true => DimExpr::from(a.up),
            false => a.out.min_with(&a.up.into()),
        };
        self.0.iter().fold(DimExpr::constant(1), |n, a| n * along(a))
    }

    /// The most positions of one.
    pub fn most(&self) -> DimExpr {
        self.0.iter().fold(DimExpr::constant(1), |n, a| n * a.out.ceil_div(&a.up.into()))
    }

    /// The arguments of kernels.
    pub fn words(&self, cx: &mut LowerCx<'_>) -> Words {
        let fixed = |of: fn(&PhaseAxis) -> u64| self.0.each_ref().map(|a| ArgValue::U32(of(a) as u32));
        Words {
            extent: self.0.each_ref().map(|a| cx.arg(&a.extent)),
            kernel: fixed(|a| a.kernel),
            out: self.0.each_ref().map(|a| cx.arg(&a.out)),
            begin: self.0.each_ref().map(|a| cx.arg(&a.begin)),
            up: fixed(|a| a.up),
            gap: fixed(|a| a.gap),
            hop: fixed(|a| a.hop.wrapping_neg()),
            inverse: fixed(|a| a.inverse),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The taps that meet a position, by the definition and by its phase.
    #[test]
    fn a_phase_has_the_taps_that_meet_its_positions() {
        let mut met = 0;
        for (stride, dilation, kernel, begin) in (1..7u64).flat_map(|s| {
            (1..7u64).flat_map(move |d| (1..6u64).flat_map(move |k| (0..4u64).map(move |b| (s, d, k, b))))
        }) {
            let window = WindowAxis { kernel, stride, dilation, begin, end: 0 };
            let (extent, out) = (DimExpr::constant(5), DimExpr::constant(11));
            let spread = Spread { window, whole: out.clone(), begin: begin.into(), extent: out.clone() };
            let a = PhaseAxis::of(&spread, &extent, &out, &SymbolTable::default()).expect("small");
            let dilation = if kernel == 1 { 1 } else { dilation };
            for o in 0..11 {
                let by_definition: Vec<(u64, i64)> = (0..kernel)
                    .map(|t| (t, o as i64 + begin as i64 - (t * dilation) as i64))
                    .filter(|(_, at)| at % stride as i64 == 0)
                    .map(|(t, at)| (t, at / stride as i64))
                    .collect();
                let (rest, share) = ((o + begin) % stride, stride / a.gap);
                let first = rest / share * a.inverse % a.gap;
                let taps = (first..kernel).step_by(a.gap as usize).filter(|_| rest % share == 0);
                let origin =
                    ((o + begin) / stride) as i64 + (rest as i64 - (first * dilation) as i64) / stride as i64;
                let by_phase: Vec<(u64, i64)> =
                    taps.zip(0..).map(|(t, j)| (t, origin - j * a.hop as i64)).collect();
                assert_eq!(by_phase, by_definition, "{window:?}, position {o}");
                met += by_phase.len();
            }
        }
        assert!(met > 5_000, "{met}");
    }
}
