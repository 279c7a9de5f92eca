//! Power spectra averaged over segments, and their peaks, as compositions.

use crate::attr::AttrError;
use crate::builder::{Composition, GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::elementwise::FLOATS;
use crate::ops::{Concat, Mul};
use pumice_types::{DType, DimExpr};

/// The most peaks of a signal.
const MOST: u64 = 1 << 24;

/// By what the powers of [`WelchPsd`] are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WelchScaling {
    /// Nothing.
    #[default]
    None,
    /// 1/N: the density for one sample a second and a window of ones.
    Density,
}

/// Attributes of [`GraphBuilder::welch_psd`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WelchPsd {
    /// By what powers are scaled.
    pub scaling: WelchScaling,
    /// Whether frequencies count twice that stand for a negative one, too: all but 0 and N/2. Not given: those of a
    /// density do.
    pub double: Option<bool>,
}

/// Which frequencies [`WelchPeaks`] finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WelchPeakKind {
    /// Those with more power than the one below, and no less than the one above.
    #[default]
    Local,
    /// Those with most power.
    Largest,
}

/// Attributes of [`GraphBuilder::welch_peaks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WelchPeaks {
    /// How many are asked for.
    pub k: u64,
    /// Segments; the spectrum's second axis if not given, and nothing else if given.
    pub n_segments: Option<u64>,
    /// Which frequencies are found.
    pub kind: WelchPeakKind,
}

impl GraphBuilder {
    /// Σ|X|²/S over the S segments of a signal (Welch's method): spec\[B, S, N, 2\] of re and im, whole transforms →
    /// the one side \[B, ⌊N/2⌋ + 1\]. With [`WelchScaling::Density`] divided by N and doubled: what SciPy's `welch`
    /// gives for a window of ones and a sampling rate of 1; for a window w multiply by N/Σw², for a rate divide by it.
    ///
    /// No segment gives NaN. NaN propagates. 16-bit floats are computed
    /// in f32 and rounded once.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::fft::Fft;
    /// # use pumice_ir::ops::welch::WelchPsd;
    /// let g = GraphBuilder::new("g");
    /// let segments = g.input("segments", f32([4, 16, 256, 1]));
    /// g.output("psd", g.welch_psd(g.fft(segments, Fft::default()), WelchPsd::default()));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn welch_psd(&self, spec: Value, op: WelchPsd) -> Value {
        let types = match self.checked_operands("welch_psd", &["spec"], &[spec], spectra) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let (n, dtype) = (types[0].shape[2].clone(), types[0].dtype());
        let g = self.composition("welch_psd");
        let density = op.scaling == WelchScaling::Density;
        let powers = g.mean_powers(g.widened(spec, dtype), &n);
        let factors = g.side_factors(&n, op.double.unwrap_or(density));
        let factors = if density { g.div(factors, g.count_of(spec, &types[0].shape, &[2])) } else { factors };
        g.finish(Mul {}, &[powers, factors], dtype, &[])
    }

    /// The k frequencies of most power, and their power: spec\[B, S, N, 2\] as of
    /// [`welch_psd`](crate::GraphBuilder::welch_psd) → f32\[B, k, 2\] of frequency (a number from 0 to N/2) and power,
    /// most power first; of equal powers the lower frequency is first. Of kind `Local` only those 1 ≤ f ≤ ⌊N/2⌋ − 1
    /// with P(f − 1) < P(f) ≥ P(f + 1), P not doubled; of kind `Largest` all, P doubled but for 0 and N/2, where NaN is
    /// above infinity. What is missing is (−1, 0).
    ///
    /// Mistakes: an N that symbols decide, a number of segments that is not the spectrum's, a k above 2^24.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::fft::Fft;
    /// # use pumice_ir::ops::welch::WelchPeaks;
    /// let g = GraphBuilder::new("g");
    /// let spectra = g.fft(g.input("segments", f32([4, 16, 256, 1])), Fft::default());
    /// g.output("peaks", g.welch_peaks(spectra, WelchPeaks { k: 3, ..WelchPeaks::default() }));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn welch_peaks(&self, spec: Value, op: WelchPeaks) -> Value {
        const METHOD: &str = "welch_peaks";
        let types = match self.checked_operands(METHOD, &["spec"], &[spec], |cx| peaks_of(cx, op)) {
            Ok(types) => types,
            Err(mistake) => return mistake,
        };
        let n = &types[0].shape[2];
        let bins = n.as_extent().unwrap_or(0) / 2 + 1;
        let g = self.composition(METHOD);
        let powers = g.mean_powers(g.widened(spec, types[0].dtype()), n);
        let (places, powers) = match op.kind {
            WelchPeakKind::Local => g.local_peaks(powers, bins, op.k),
            WelchPeakKind::Largest => {
                let doubled = g.mul(powers, g.side_factors(n, true));
                let (powers, places) = g.top_k(doubled, op.k.min(bins), -1, true);
                (g.cast(places, DType::F32), powers)
            }
        };
        let found = g.stack(&[places, powers], -1);
        g.filled_up(found, &types[0].shape[0], op.k)
    }
}

impl Composition {
    /// |X|² of one side, the mean of segments, in f32.
    #[track_caller]
    fn mean_powers(&self, spec: Value, n: &DimExpr) -> Value {
        let side = self.narrow(spec, 2, 0, one_side(n));
        let means = self.reduce_mean(self.powers(side, 2.0), &[1], false);
        // What is cut of a symbolic axis has an extent that is written otherwise.
        let signals = self.type_of(means).map_or(DimExpr::constant(1), |ty| ty.shape[0].clone());
        self.reshape_to(means, vec![signals, one_side(n)])
    }

    /// By what a power of each frequency of one side counts.
    #[track_caller]
    fn side_factors(&self, n: &DimExpr, double: bool) -> Value {
        let one = self.constant_scalar(DType::F32, 1.0);
        if !double {
            return one;
        }
        let twice = self.range(0, one_side(n) * 2u64, 2, DType::I64);
        let whole = self.range(n.clone(), n + DimExpr::constant(1), 1, DType::I64);
        let zero = self.constant_scalar(DType::I64, 0.0);
        let alone = self.or(self.equal(twice, zero), self.equal(twice, whole));
        self.select(alone, one, self.constant_scalar(DType::F32, 2.0))
    }

    /// Local peaks of powers\[B, bins\], as many as there may be but at most k: their frequencies and powers.
    #[track_caller]
    fn local_peaks(&self, powers: Value, bins: u64, k: u64) -> (Value, Value) {
        let inner = bins.saturating_sub(2);
        let [below, at, above] =
            [0, 1, 2].map(|from| self.narrow(powers, 1, if inner == 0 { 0 } else { from }, inner));
        let is_peak = self.and(self.greater(at, below), self.greater_or_equal(at, above));
        let [none, zero, one] = [-1.0, 0.0, 1.0].map(|v| self.constant_scalar(DType::F32, v));
        let (found, places) = self.top_k(self.select(is_peak, at, none), k.min(inner), -1, true);
        let missing = self.less(found, zero);
        let places = self.add(self.cast(places, DType::F32), one);
        (self.select(missing, none, places), self.select(missing, zero, found))
    }

    /// Rows of frequency and power, up to k of each signal.
    #[track_caller]
    fn filled_up(self, found: Value, signals: &DimExpr, k: u64) -> Value {
        let missing = [-1.0, 0.0].map(|v| self.reshape(self.constant_scalar(DType::F32, v), &[1]));
        let row = self.concat(&missing, 0);
        let have = self.type_of(found).and_then(|ty| ty.shape[1].as_extent()).unwrap_or(k);
        let rows = vec![signals.clone(), DimExpr::from(k - have), DimExpr::from(2)];
        let rows = self.expand_to(row, rows);
        self.last().apply(Concat { axis: 1 }, &[found, rows])
    }
}

/// Frequencies of the one side of a transform of n.
fn one_side(n: &DimExpr) -> DimExpr {
    n.floor_div(&DimExpr::constant(2)) + DimExpr::constant(1)
}

fn spectra(cx: &Infer<'_>) -> Result<(), OpError> {
    cx.expect_dtype(0, FLOATS)?;
    cx.expect_rank(0, 4)?;
    let shape = &cx.ty(0)?.shape;
    if !shape[3].is(2) {
        let last = cx.show(&shape[3..]);
        return Err(OpError::Invalid(format!("the last axis of `spec` is {last}, not 2: re and im")));
    }
    cx.at_most(&one_side(&shape[2]), &shape[2], "frequencies of one side, and of the spectrum")
}

fn peaks_of(cx: &Infer<'_>, op: WelchPeaks) -> Result<(), OpError> {
    spectra(cx)?;
    let shape = &cx.ty(0)?.shape;
    cx.constant_extent(&shape[2], "the length of the transform")?;
    if op.k > MOST {
        return Err(AttrError::Value { name: "k", reason: "it must be at most 2^24".into() }.into());
    }
    let Some(given) = op.n_segments else { return Ok(()) };
    let there = cx.constant_extent(&shape[1], "the number of segments, where it is given")?;
    if given == there {
        return Ok(());
    }
    let reason = format!("`spec` has {there} segments");
    Err(AttrError::Value { name: "n_segments", reason }.into())
}
