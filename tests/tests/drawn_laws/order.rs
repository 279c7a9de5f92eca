//! Sorts are permutations, in order, stable whichever way they go; top-k is the beginning of the sort.

use super::Drawn;
use pumice_cpu_ref::{Array, Data};
use pumice_ir::{Fill, Sample, tensor};
use pumice_tests::draws::Draws;
use pumice_tests::op_suite::Runner;
use pumice_types::DType;
use std::cmp::Ordering;

/// A tensor, and which axis is sorted which way.
struct Law {
    drawn: Drawn,
    shape: Vec<u64>,
    axis: usize,
    k: u64,
    descending: bool,
}

fn drawn(seed: u64) -> Law {
    let mut d = Draws(seed);
    let numbers: Vec<DType> = DType::ALL.into_iter().filter(|d| *d != DType::Bool).collect();
    let (dtype, rank) = (d.of(&numbers), 1 + d.below(3));
    let mut shape: Vec<u64> = (0..rank).map(|_| 1 + d.below(5) as u64).collect();
    let axis = d.below(rank);
    shape[axis] = match d.below(8) {
        0 => d.below(3000),
        1 => 1020 + d.below(10),
        // Half a merge may have all of the answers that one of its rounds tells apart.
        2 => 1024 * (1 + d.below(3)) + 129 * d.below(8),
        _ => d.below(80),
    } as u64;
    let (n, descending) = (shape[axis], d.below(2) == 0);
    let k = if d.below(4) == 0 { n } else { d.below(n as usize + 1) as u64 };
    // Ties everywhere, or nothing else; for floats NaN, both zeros and infinities.
    let fill = match (dtype.is_float(), d.below(2)) {
        _ if d.below(4) == 0 => Fill::Constant(1.0),
        (true, 0) => Fill::Special,
        (true, _) => {
            Fill::Floats(vec![0.0, -0.0, 1.5, f64::NAN, -2.0, f64::INFINITY, 1.5, f64::NEG_INFINITY])
        }
        (false, 0) => Fill::Range(0, 9),
        (false, _) => Fill::Any,
    };
    let label = format!("seed {seed}, {dtype}{shape:?} along {axis}, {k}, descending {descending}");
    let sample = Sample::graph(&label, |g| {
        let x = g.input("x", tensor(dtype, shape.iter().copied()));
        let (values, places) = g.sort(x, axis as i64, descending);
        let (first, first_places) = g.top_k(x, k, axis as i64, descending);
        for (name, v) in [("v", values), ("p", places), ("k", first), ("kp", first_places)] {
            g.output(name, v);
        }
    });
    Law { drawn: Drawn::new("order", sample.fill("x", fill)), shape, axis, k, descending }
}

/// NaN above infinity, both zeros equal.
fn compare(x: &Array, a: usize, b: usize) -> Ordering {
    match &x.data {
        Data::Int(v) if x.dtype == DType::U64 => (v[a] as u64).cmp(&(v[b] as u64)),
        Data::Int(v) => v[a].cmp(&v[b]),
        Data::Float(v) => {
            let by_nan = v[a].is_nan().cmp(&v[b].is_nan());
            by_nan.then(v[a].partial_cmp(&v[b]).unwrap_or(Ordering::Equal))
        }
    }
}

impl Law {
    /// Every line along the axis, of n elements: where its elements are.
    fn lines(&self, n: u64) -> Vec<Vec<usize>> {
        let inner: u64 = self.shape[self.axis + 1..].iter().product();
        let outer: u64 = self.shape[..self.axis].iter().product();
        let line = |l: u64| (0..n).map(|i| ((l / inner * n + i) * inner + l % inner) as usize).collect();
        (0..outer * inner).map(line).collect()
    }

    fn holds(&self, runner: &Runner) {
        let (drawn, name) = (&self.drawn, self.drawn.name());
        let made = drawn.outputs(runner, drawn.plan(runner));
        for (i, (got, want)) in made.iter().zip(drawn.evaluated()).enumerate() {
            assert_eq!(got.bytes(), want.bytes(), "{name}: output {i} beside the evaluator");
        }
        let x = drawn.input("x");
        let arrays: Vec<Array> = made.iter().map(Array::from_tensor).collect();
        let n = self.shape[self.axis];
        let bits = |a: &Array, at: usize| a.gathered(&[1], |_| at).to_bytes();
        for (line, first) in self.lines(n).iter().zip(self.lines(self.k)) {
            let places: Vec<usize> = line.iter().map(|&at| arrays[1].as_ints()[at] as usize).collect();
            let mut sorted = places.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..n as usize), "{name}: no permutation");
            for (&at, &place) in line.iter().zip(&places) {
                assert_eq!(
                    bits(&arrays[0], at),
                    bits(&x, line[place]),
                    "{name}: not the element of its place"
                );
            }
            for pair in places.windows(2) {
                let order = compare(&x, line[pair[0]], line[pair[1]]);
                let order = if self.descending { order.reverse() } else { order };
                assert!(order.then(pair[0].cmp(&pair[1])).is_lt(), "{name}: {pair:?} are not in order");
            }
            for (&at, &whole) in first.iter().zip(line) {
                assert_eq!(bits(&arrays[2], at), bits(&arrays[0], whole), "{name}: not the sort's beginning");
                assert_eq!(bits(&arrays[3], at), bits(&arrays[1], whole), "{name}: not the sort's beginning");
            }
        }
    }
}

kept_everywhere!(|seed, runner: &Runner| drawn(seed).holds(runner));
