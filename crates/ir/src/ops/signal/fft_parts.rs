//! What a transform of a constant length is made of: passes, one where all of its values fit into one, and for a length
//! with a prime above 251 the convolution with a chirp.

use super::fft::{Fft, FftNorm};
use super::fft_chirp::FftChirp;
use super::fft_pass::{FftPass, MOST_AT_ONCE, is_at_once, is_of_passes};
use crate::infer::normalize_axis;
use crate::ops::def::expansion;
use crate::ops::{Cast, Slice};
use crate::{Graph, NodeId, Patch, PatchRef};
use pumice_types::{DType, DimExpr};

/// The most values of a transform on the device.
const MOST: i64 = 1 << 22;
/// The most values of one pass of several, and of one over values that do not lie side by side: a group takes several
/// lines that do.
const MOST_ACROSS: i64 = 1024;

/// The parts of a transform; none where symbols decide its length or that of x, where there is nothing, and beyond
/// 2^22 values: these are the host's.
pub(super) fn expand(op: &Fft, graph: &Graph, id: NodeId) -> Option<Patch> {
    let node = graph.node(id);
    let ty = graph.ty(node.input(0)?);
    let axis = normalize_axis(op.axis, ty.rank()).ok()?;
    let given = ty.shape[axis].as_const().filter(|&n| n > 0)?;
    let n = op.length(&ty.shape[axis]).as_const().filter(|n| (1..=MOST).contains(n))?;
    let adjacent = ty.shape[axis + 1..ty.rank() - 1].iter().all(|d| d.is(1));
    let mut parts = Parts {
        patch: expansion(graph, id),
        name: graph.node_name(id),
        axis: axis as i64,
        adjacent,
        given: given.min(op.taken(n)),
    };
    let x = parts.taken(PatchRef::Old(node.input(0)?), ty.dtype(), given, op.taken(n));
    let y = parts.transform(x, op, n);
    let y = if ty.dtype() == DType::F32 { y } else { parts.add(Cast { to: ty.dtype() }, "narrowed", &[y]) };
    parts.patch.replace(node.output(), y);
    Some(parts.patch)
}

impl Fft {
    /// How many values it takes at most, of a length of n.
    fn taken(&self, n: i64) -> i64 {
        if self.is_mirrored() { n / 2 + 1 } else { n }
    }

    /// Whether x is the one side of a spectrum.
    fn is_mirrored(&self) -> bool {
        self.inverse && self.onesided
    }

    /// What its results are multiplied by.
    fn factor(&self, n: i64) -> f32 {
        let n = n as f64;
        let factor = match (self.norm, self.inverse) {
            (FftNorm::Ortho, _) => 1.0 / n.sqrt(),
            (FftNorm::Backward, true) | (FftNorm::Forward, false) => 1.0 / n,
            _ => 1.0,
        };
        factor as f32
    }

    /// What the last pass does besides.
    fn last(&self, n: i64) -> FftPass {
        let kept = if self.onesided && !self.inverse { n / 2 + 1 } else { n };
        FftPass { kept, real: self.is_mirrored(), factor: self.factor(n), ..FftPass::of(n) }
    }
}

/// A transform as far as it is made.
struct Parts<'g> {
    patch: Patch,
    name: &'g str,
    axis: i64,
    /// Whether the values of a line lie side by side.
    adjacent: bool,
    /// Values of a line that are transformed: others are 0.
    given: i64,
}

impl Parts<'_> {
    fn add(&mut self, op: impl Into<crate::ops::Op>, what: &str, inputs: &[PatchRef]) -> PatchRef {
        self.patch.add(op, format!("{}.{what}", self.name), inputs)
    }

    fn pass(&mut self, x: PatchRef, by: Option<PatchRef>, op: FftPass) -> PatchRef {
        self.patch.add_opt(
            FftPass { axis: self.axis, ..op },
            format!("{}.pass", self.name),
            vec![Some(x), by],
        )
    }

    /// The values that are transformed, in f32.
    fn taken(&mut self, x: PatchRef, dtype: DType, given: i64, taken: i64) -> PatchRef {
        let (starts, ends) = (vec![DimExpr::constant(0)], vec![DimExpr::constant(taken)]);
        let slice = Slice { starts, ends, axes: vec![self.axis], steps: Vec::new(), exact: true };
        let x = if given > taken { self.add(slice, "taken", &[x]) } else { x };
        if dtype == DType::F32 { x } else { self.add(Cast { to: DType::F32 }, "widened", &[x]) }
    }

    fn transform(&mut self, x: PatchRef, op: &Fft, n: i64) -> PatchRef {
        let first = FftPass { mirrored: op.is_mirrored(), ..FftPass::of(n) };
        if is_of_passes(n) {
            return self.passes(x, None, op.inverse, &first, &op.last(n));
        }
        self.by_convolution(x, op, first)
    }

    /// Passes over a line, one after the other; the first one takes values as `first` does, the last one leaves them
    /// as `last` does.
    fn passes(
        &mut self,
        mut x: PatchRef,
        by: Option<PatchRef>,
        inverse: bool,
        first: &FftPass,
        last: &FftPass,
    ) -> PatchRef {
        let most = if self.adjacent { MOST_AT_ONCE } else { MOST_ACROSS };
        let (length, mut done) = (last.length, 1);
        for radix in lengths(length, most) {
            let (is_first, is_last) = (done == 1, done * radix == length);
            let as_last = if is_last { last.clone() } else { FftPass::of(length) };
            let mirrored = is_first && first.mirrored;
            x = self.pass(x, by.filter(|_| is_first), FftPass { done, radix, inverse, mirrored, ..as_last });
            done *= radix;
        }
        x
    }

    /// X_k = c_k·Σ_t (x_t·c_t)·c̄_(k−t), c_j = e^(∓πij²/n): a cyclic convolution over a length of small factors, made
    /// by its transform. The first pass multiplies x by the chirp, but not one side of a spectrum, whose other side is
    /// at n.
    fn by_convolution(&mut self, x: PatchRef, op: &Fft, first: FftPass) -> PatchRef {
        let (n, inverse) = (first.length, op.inverse);
        let m = convolved(2 * n - 1);
        let (alone, whole) = (FftPass { radix: 1, ..first }, FftPass::of(m));
        let chirp = FftChirp { length: n, extent: n, inverse, wrapped: false };
        let filter = FftChirp { extent: m, inverse: !inverse, wrapped: true, ..chirp.clone() };
        let begin = FftChirp { extent: self.given, ..chirp.clone() };
        let chirp = self.add(chirp, "chirp", &[]);
        let filter = self.add(filter, "filter", &[]);
        let (x, by) = match op.is_mirrored() {
            true => (self.pass(x, Some(chirp), alone), None),
            false if self.given == n => (x, Some(chirp)),
            false => (x, Some(self.add(begin, "begin", &[]))),
        };
        let spectrum = self.passes(x, by, false, &whole, &whole);
        let filter = self.of_filter(filter, &whole);
        let back = FftPass { kept: n, factor: 1.0 / m as f32, ..whole.clone() };
        let y = self.passes(spectrum, Some(filter), true, &whole, &back);
        self.pass(y, Some(chirp), FftPass { radix: 1, ..op.last(n) })
    }

    /// The transform of the filter, which is one line.
    fn of_filter(&mut self, filter: PatchRef, whole: &FftPass) -> PatchRef {
        let (axis, adjacent) = (self.axis, self.adjacent);
        (self.axis, self.adjacent) = (0, true);
        let spectrum = self.passes(filter, None, false, whole, whole);
        (self.axis, self.adjacent) = (axis, adjacent);
        spectrum
    }
}

/// The least length from n on that is a power of two, or three, five, nine or fifteen times one from sixteen on.
fn convolved(n: i64) -> i64 {
    let of = |odd: i64| (n as u64).div_ceil(odd as u64).next_power_of_two() as i64;
    [3, 5, 9, 15].into_iter().filter(|&odd| of(odd) >= 16).map(|odd| odd * of(odd)).fold(of(1), i64::min)
}

/// The lengths of the passes of a line, whose product it is: one if it may be, else as few as may be, of like lengths.
fn lengths(length: i64, most: i64) -> Vec<i64> {
    if length <= most && is_at_once(length) {
        return vec![length];
    }
    (2..24).find_map(|count| of_like_lengths(length, count)).unwrap_or_default()
}

/// `count` passes: the first is the least factor from the root on that leaves some for the others.
fn of_like_lengths(length: i64, count: u32) -> Option<Vec<i64>> {
    let fits = |n: &i64| length % n == 0 && is_at_once(*n);
    if count == 1 {
        return fits(&length.min(MOST_ACROSS)).then(|| vec![length]).filter(|_| length <= MOST_ACROSS);
    }
    let least = (1..=MOST_ACROSS).find(|n| n.saturating_pow(count) >= length)?;
    (least..=MOST_ACROSS).filter(fits).find_map(|n| {
        let mut lengths = vec![n];
        lengths.extend(of_like_lengths(length / n, count - 1)?);
        Some(lengths)
    })
}

#[cfg(test)]
mod tests {
    use super::{convolved, lengths};

    #[test]
    fn lengths_are_whole_factors() {
        assert_eq!(lengths(1, 2048), [1]);
        assert_eq!(lengths(2048, 2048), [2048]);
        assert_eq!(lengths(2048, 1024), [64, 32]);
        assert_eq!(lengths(1 << 20, 4096), [1024, 1024]);
        assert_eq!(lengths(1 << 22, 4096), [256, 128, 128]);
        assert_eq!(lengths(71 * 64, 4096), [71, 64]);
        assert_eq!(lengths(251 * 16, 4096), [251, 16]);
        assert_eq!(lengths(13i64.pow(5), 2048), [169, 169, 13]);
        assert_eq!(lengths(4400, 4096), [80, 55]);
    }

    #[test]
    fn convolutions_have_small_factors() {
        assert_eq!([1, 5, 200, 513, 4097].map(convolved), [1, 8, 240, 576, 4608]);
    }
}
