//! A resize of symbolic extents is that of the same extents as constants: the nearest to the bit, all others within
//! 2⁻²¹ of what they read.

use super::Drawn;
use pumice_cpu_ref::Array;
use pumice_ir::ops::resize::{Resize, ResizeCoordinates, ResizeMode, ResizeRounding};
use pumice_ir::shape::DimSpec;
use pumice_ir::{GraphBuilder, Sample, f32, sym};
use pumice_tests::draws::Draws;
use pumice_tests::op_suite::Runner;
use pumice_types::{DimExpr, Tensor};

/// A new extent of an axis of n elements.
#[derive(Clone, Copy, Debug)]
enum Size {
    Fixed(u64),
    Times(u64),
    More(u64),
}

impl Size {
    fn of(self, n: &DimExpr) -> DimExpr {
        match self {
            Size::Fixed(size) => size.into(),
            Size::Times(by) => n * DimExpr::from(by),
            Size::More(by) => n + DimExpr::from(by),
        }
    }
}

struct Law {
    /// Height and width.
    extents: [u64; 2],
    sizes: Vec<Size>,
    op: Resize,
}

fn law(seed: u64) -> Law {
    let mut d = Draws(seed);
    // A region of interest is of constant extents.
    let maps: Vec<ResizeCoordinates> =
        ResizeCoordinates::ALL.into_iter().filter(|c| *c != ResizeCoordinates::TfCropAndResize).collect();
    let (mode, axes) = (d.of(&ResizeMode::ALL), d.of(&[vec![2, 3], vec![2], vec![3], vec![-1, -2]]));
    let mut op = Resize {
        mode,
        coordinates: d.of(&maps),
        nearest: d.of(&ResizeRounding::ALL),
        cubic_a: d.of(&[-0.75, -0.5]),
        exclude_outside: mode != ResizeMode::Nearest && d.below(3) == 0,
        ..Resize::default()
    };
    let mut sizes = Vec::new();
    if d.below(3) == 0 {
        op.scales = axes.iter().map(|_| d.of(&[0.5f32, 0.6, 1.0, 1.5, 2.0, 2.7, 3.0])).collect();
    } else {
        let size = |d: &mut Draws| match d.below(3) {
            0 => Size::Fixed(1 + d.below(20) as u64),
            1 => Size::Times(1 + d.below(3) as u64),
            _ => Size::More(d.below(6) as u64),
        };
        sizes = axes.iter().map(|_| size(&mut d)).collect();
    }
    op.axes = axes;
    Law { extents: [0; 2].map(|_: u64| 1 + d.below(12) as u64), sizes, op }
}

impl Law {
    fn drawn(&self, label: &str, extents: [DimSpec; 2]) -> Drawn {
        let sample = Sample::graph(label, |g: &GraphBuilder| {
            let [h, w] = extents;
            let x = g.input("x", f32([2.into(), 3.into(), h, w]));
            let mut op = self.op.clone();
            let n = |axis: i64| g.dim_of(x, axis.rem_euclid(4) as usize);
            op.sizes = self.sizes.iter().zip(&op.axes).map(|(size, &axis)| size.of(&n(axis))).collect();
            g.output("y", g.resize(x, op));
        });
        Drawn::new("resizes", sample)
    }

    fn symbolic(&self, label: &str) -> Drawn {
        let drawn = self.drawn(label, [sym("h", 1..=12), sym("w", 1..=12)]);
        let [h, w] = self.extents;
        let sample = drawn.case.sample.bind("h", h).bind("w", w);
        Drawn::new("resizes", sample)
    }

    fn holds(&self, seed: u64, runner: &Runner) {
        let label = format!("seed {seed}, {:?} to {:?}, {:?}", self.extents, self.sizes, self.op);
        let constant = self.drawn(&label, self.extents.map(DimSpec::from));
        let symbolic = self.symbolic(&label);
        let run = |drawn: &Drawn| drawn.outputs(runner, drawn.plan(runner)).remove(0);
        let (a, b) = (run(&constant), run(&symbolic));
        if self.op.mode == ResizeMode::Nearest {
            assert_eq!(a, b, "{label}: other elements");
        }
        let values = |t: &Tensor| Array::from_tensor(t).to_f64();
        let most = symbolic.input("x").to_f64().into_iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        // Sixteen elements are read at most.
        let allowed = 16.0 * most / f64::from(1 << 21);
        let evaluated = symbolic.evaluated().remove(0);
        for (what, other) in [("of constant extents", &a), ("by the evaluator", &evaluated)] {
            assert_eq!(other.shape(), b.shape(), "{label}");
            for (i, (v, other)) in values(&b).iter().zip(values(other)).enumerate() {
                assert!((v - other).abs() <= allowed, "{label}: element {i} is {v}, {what} {other}");
            }
        }
    }
}

kept_everywhere!(|seed, runner: &Runner| law(seed).holds(seed, runner));
