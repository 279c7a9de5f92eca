//! Extents that are found: where elements are not 0, and slices by a condition, are those of a plain loop.

use super::Drawn;
use pumice_cpu_ref::{Array, Data};
use pumice_ir::{Fill, Sample, bool_, f32, tensor};
use pumice_tests::draws::Draws;
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, Tensor};

/// A tensor, rows with a condition, and elements with one.
struct Law {
    drawn: Drawn,
    shape: Vec<u64>,
}

fn drawn(seed: u64) -> Law {
    let mut d = Draws(seed);
    let dtype = d.of(&[DType::F32, DType::I32, DType::Bool, DType::I64, DType::U8, DType::F16]);
    let rank = d.below(4);
    let mut shape: Vec<u64> = (0..rank).map(|_| d.below(6) as u64).collect();
    if rank > 0 && d.below(3) == 0 {
        shape[0] = d.below(300) as u64;
    }
    let (rows, width) = (1 + d.below(70) as u64, 1 + d.below(5) as u64);
    let (of_rows, of_all) = (d.below(rows as usize + 1) as u64, d.below((rows * width) as usize + 1) as u64);
    let fill =
        [Fill::Range(0, 2), Fill::Range(0, 30), Fill::Constant(0.0), Fill::Constant(1.0)][d.below(4)].clone();
    let sample =
        Sample::graph(&format!("seed {seed}, {dtype}{shape:?}, {of_rows} of {rows} x {width}"), |g| {
            g.output("places", g.non_zero(g.input("x", tensor(dtype, shape.iter().copied()))));
            let v = g.input("v", f32([rows, width]));
            g.output("rows", g.compress(v, g.input("r", bool_([of_rows])), Some(0)));
            g.output("elements", g.compress(v, g.input("e", bool_([of_all])), None));
        });
    let bits = |sample: Sample, name| sample.fill(name, Fill::Range(0, 2));
    Law { drawn: Drawn::new("found", bits(bits(sample.fill("x", fill), "r"), "e")), shape }
}

fn truths(a: &Array) -> Vec<bool> {
    match &a.data {
        Data::Int(v) => v.iter().map(|n| *n != 0).collect(),
        Data::Float(v) => v.iter().map(|n| *n != 0.0).collect(),
    }
}

impl Law {
    /// Indices along each axis of the elements that are not 0.
    fn places(&self) -> Tensor {
        let (rank, truths) = (self.shape.len(), truths(&self.drawn.input("x")));
        let found: Vec<u64> = (0u64..).zip(&truths).filter(|(_, is)| **is).map(|(at, _)| at).collect();
        let along = |axis: usize| {
            let inner: u64 = self.shape[axis + 1..].iter().product();
            found.iter().map(move |at| (at / inner % self.shape[axis]) as i64)
        };
        let all: Vec<i64> = (0..rank).flat_map(along).collect();
        Tensor::new(&all, &[rank as u64, found.len() as u64]).expect("as many")
    }

    /// Slices of `width` elements whose condition is true.
    fn kept(&self, condition: &str, width: usize) -> Vec<f64> {
        let v = self.drawn.input("v").to_f64();
        let kept = v.chunks(width).zip(truths(&self.drawn.input(condition))).filter(|(_, is)| *is);
        kept.flat_map(|(slice, _)| slice.to_vec()).collect()
    }

    fn holds(&self, runner: &Runner) {
        let (drawn, name) = (&self.drawn, self.drawn.name());
        let made = drawn.outputs(runner, drawn.plan(runner));
        let wanted = self.places();
        assert_eq!((made[0].shape(), made[0].bytes()), (wanted.shape(), wanted.bytes()), "{name}: places");
        let width = drawn.input("v").shape[1] as usize;
        for (made, wanted) in [(&made[1], self.kept("r", width)), (&made[2], self.kept("e", 1))] {
            assert_eq!(Array::from_tensor(made).to_f64(), wanted, "{name}: what a condition keeps");
        }
    }
}

kept_everywhere!(|seed, runner: &Runner| drawn(seed).holds(runner));
