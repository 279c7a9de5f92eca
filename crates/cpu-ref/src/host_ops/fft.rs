//! An FFT of any length by `rustfft`, in f64: the transform is planned once per length, the lines are gathered and
//! scattered here. What is computed is said in `ir/ops/fft.rs` and by the evaluator.

use super::arrays;
use crate::array::Array;
use crate::index::axis_of;
use crate::lines::Lines;
use crate::meaning::ReadMeaning;
use pumice_ir::ops::Fft;
use pumice_ir::ops::fft::FftNorm;
use pumice_ir::{Graph, Op, ValueId};
use pumice_runtime::HostError;
use pumice_runtime::device::HostStep;
use pumice_types::{Bindings, DimExpr};
use rustfft::num_complex::Complex;
use rustfft::{FftDirection, FftPlanner};
use std::sync::{Arc, Mutex, PoisonError};

/// A host step that is one FFT.
pub(super) struct FastFft {
    meaning: ReadMeaning,
    op: Fft,
    result: ValueId,
    plans: Mutex<FftPlanner<f64>>,
}

impl FastFft {
    /// The step, if the meaning is one FFT of its only input; else the meaning as it came.
    pub fn of(meaning: ReadMeaning) -> Result<FastFft, ReadMeaning> {
        match one_fft(&meaning.graph) {
            Some((op, result)) => Ok(FastFft { meaning, op, result, plans: Mutex::new(FftPlanner::new()) }),
            None => Err(meaning),
        }
    }

    fn plan(&self, n: usize) -> Arc<dyn rustfft::Fft<f64>> {
        let direction = if self.op.inverse { FftDirection::Inverse } else { FftDirection::Forward };
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).plan_fft(n, direction)
    }

    /// The elements of the result.
    fn transform(&self, x: &Array, shape: &[u64]) -> Vec<f64> {
        let op = &self.op;
        let axis = axis_of(op.axis, x.shape.len());
        let (given, made) = (Lines::of(&x.shape, axis), Lines::of(shape, axis));
        let n = op.length(&DimExpr::from(x.shape[axis])).as_extent().unwrap_or(0) as usize;
        let mut y = vec![0.0; made.len()];
        if n == 0 || y.is_empty() {
            return y;
        }
        let (plan, factor) = (self.plan(n), scale(op, n as f64));
        let mut scratch = vec![Complex::default(); plan.get_inplace_scratch_len()];
        let mut line = vec![Complex::default(); n];
        for which in given.all() {
            line.fill(Complex::default());
            for (r, z) in line.iter_mut().enumerate().take(given.rows) {
                let (re, im) = given.read(x.as_floats(), which, r);
                *z = Complex::new(re, im);
            }
            if op.inverse && op.onesided {
                mirror(&mut line);
            }
            // Which sums meet an infinity depends on the algorithm: the op says NaN.
            if line.iter().any(|z| !z.is_finite()) {
                line.fill(Complex::new(f64::NAN, f64::NAN));
            } else {
                plan.process_with_scratch(&mut line, &mut scratch);
            }
            for (r, z) in line.iter().take(made.rows).enumerate() {
                made.write(&mut y, which, r, (z.re * factor, z.im * factor));
            }
        }
        y
    }
}

fn one_fft(graph: &Graph) -> Option<(Fft, ValueId)> {
    let [output] = graph.outputs() else { return None };
    let node = graph.def(output.value);
    let Op::Fft(op) = &node.op else { return None };
    let inputs = graph.inputs();
    (inputs.len() == 1 && node.input(0) == inputs.first().copied()).then(|| (op.clone(), output.value))
}

impl HostStep for FastFft {
    fn run(&self, bindings: &Bindings, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<(), HostError> {
        let (graph, bindings) = (&self.meaning.graph, &self.meaning.bindings(bindings));
        let x = arrays(graph, bindings, inputs)?.into_iter().next().ok_or("it has no operand")?;
        let result = crate::graph::actual_type(graph, self.result, bindings);
        let (dtype, shape) = result.map_err(|e| e.to_string())?;
        let y = Array::floats(dtype, &shape, self.transform(&x, &shape))
            .to_tensor()
            .map_err(|e| e.to_string())?;
        match outputs {
            [out] if out.len() == y.bytes().len() => out.copy_from_slice(y.bytes()),
            _ => return Err(format!("one result of {} bytes, other room given", y.bytes().len()).into()),
        }
        Ok(())
    }
}

/// Completes the first half of the spectrum of real values: what stands after it are conjugates.
fn mirror(line: &mut [Complex<f64>]) {
    let n = line.len();
    line[0].im = 0.0;
    if n.is_multiple_of(2) {
        line[n / 2].im = 0.0;
    }
    for k in n / 2 + 1..n {
        line[k] = line[n - k].conj();
    }
}

fn scale(op: &Fft, n: f64) -> f64 {
    match (op.norm, op.inverse) {
        (FftNorm::Ortho, _) => n.sqrt().recip(),
        (FftNorm::Backward, true) | (FftNorm::Forward, false) => n.recip(),
        (FftNorm::Backward, false) | (FftNorm::Forward, true) => 1.0,
    }
}
