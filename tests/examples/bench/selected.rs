//! Ops whose results have as many rows as the run finds (C5): kept rows, places that are not 0, distinct values, boxes
//! that overlap no better one. By the host's clock, since PyTorch waits for the number and the host does a part here;
//! operands lie on the device, and of a result its sum is an output.

use crate::Case;
use crate::clock;
use crate::data;
use crate::rig::{Rig, size};
use crate::row::{Figures, Outcome, Row};
use pumice::{DType, Graph, GraphBuilder, RunOptions, Value, f32};
use pumice_ir::ops::non_max_suppression::NonMaxSuppression;
use pumice_ir::ops::unique::Unique;
use std::collections::BTreeSet;

/// Width of a row that is kept or not.
const WIDTH: u64 = 64;
/// Distinct values at most.
const KINDS: f32 = 1000.0;
/// How far a sum may be off, of the sum of sizes.
const APART: f64 = 1e-4;

/// Which op, over so many rows, elements or boxes.
#[derive(Clone, Copy, Debug)]
enum Selected {
    Compress(u64),
    NonZero(u64),
    Unique(u64),
    Suppressed(u64),
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let many = size(full, 1 << 20, 300);
    let all = [
        Selected::Compress(many),
        Selected::NonZero(many),
        Selected::Unique(many),
        Selected::Suppressed(size(full, 4096, 40)),
    ];
    all.into_iter().map(|s| Case::new(s.name(), move |rig| s.measure(rig))).collect()
}

impl Selected {
    fn name(&self) -> String {
        match self {
            Selected::Compress(n) => format!("C5.compress_{n}x{WIDTH}"),
            Selected::NonZero(n) => format!("C5.non_zero_{n}"),
            Selected::Unique(n) => format!("C5.unique_{n}"),
            Selected::Suppressed(n) => format!("C5.suppressed_{n}"),
        }
    }

    /// States by name: what they hold.
    fn operands(&self) -> Vec<(&'static str, Vec<u64>, Vec<f32>)> {
        let drawn = |seed, n: u64, low, high| data::random(seed, n as usize, low, high);
        match *self {
            Selected::Compress(n) => vec![
                ("x", vec![n, WIDTH], drawn(91, n * WIDTH, -1.0, 1.0)),
                ("mask", vec![n], drawn(92, n, -1.0, 1.0)),
            ],
            Selected::NonZero(n) => {
                let x = drawn(93, n, -1.0, 1.0);
                vec![("x", vec![n], x.iter().map(|v| if *v > 0.5 { *v } else { 0.0 }).collect())]
            }
            Selected::Unique(n) => {
                vec![("x", vec![n], drawn(94, n, 0.0, KINDS).iter().map(|v| v.floor()).collect())]
            }
            Selected::Suppressed(n) => vec![
                ("boxes", vec![1, n, 4], boxes(&drawn(95, 4 * n, 0.0, 1.0))),
                ("scores", vec![1, 1, n], drawn(96, n, 0.0, 1.0)),
            ],
        }
    }

    /// What is selected of the operands.
    fn selects(&self, g: &GraphBuilder, x: &[Value]) -> Value {
        match self {
            Selected::Compress(_) => {
                let kept = g.greater(x[1], g.constant_scalar(DType::F32, 0.0));
                g.compress(x[0], kept, Some(0))
            }
            Selected::NonZero(_) => g.non_zero(x[0]),
            Selected::Unique(_) => g.unique(x[0], Unique::default())[0],
            Selected::Suppressed(_) => g.non_max_suppression(x[0], x[1], NonMaxSuppression::default()),
        }
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("selected");
        let operands = self.operands();
        let read = |(name, shape, _): &(&str, Vec<u64>, Vec<f32>)| {
            g.state_read(g.state(name, f32(shape.iter().copied())))
        };
        let x: Vec<Value> = operands.iter().map(read).collect();
        let y = g.cast(self.selects(&g, &x), DType::F32);
        let axes: Vec<i64> = (0..g.type_of(y).map_or(0, |ty| ty.rank() as i64)).collect();
        g.output("sum", g.reduce_sum(y, &axes, false));
        Ok(g.build()?)
    }

    /// The sum of what is selected.
    fn expected(&self, operands: &[Vec<f32>]) -> f64 {
        let x = &operands[0];
        let wide = |v: &f32| f64::from(*v);
        match self {
            Selected::Compress(_) => {
                let rows = x.chunks(WIDTH as usize).zip(&operands[1]).filter(|(_, mask)| **mask > 0.0);
                rows.flat_map(|(row, _)| row).map(wide).sum()
            }
            Selected::NonZero(_) => {
                x.iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i as f64).sum()
            }
            Selected::Unique(_) => {
                x.iter().map(|v| *v as u32).collect::<BTreeSet<_>>().iter().map(|v| f64::from(*v)).sum()
            }
            Selected::Suppressed(_) => kept(x, &operands[1]).iter().map(|i| *i as f64).sum(),
        }
    }

    fn measure(&self, rig: &Rig) -> Outcome<Vec<Row>> {
        let operands = self.operands();
        let fill: Vec<(&str, &[f32])> = operands.iter().map(|(name, _, x)| (*name, x.as_slice())).collect();
        let (exe, mut session) = rig.load(&self.graph()?, true, &fill)?;
        let found = f64::from(session.run(&[])?.get("sum")?.to_vec::<f32>()?[0]);
        let wanted = self.expected(&operands.into_iter().map(|(_, _, x)| x).collect::<Vec<_>>());
        let allowed = APART * wanted.abs().max(1.0);
        if (found - wanted).abs() > allowed {
            return Err(format!("the sum is {found} and should be {wanted}: not timed").into());
        }
        let (options, pace) = (RunOptions::default(), rig.gpu_pace());
        let times = clock::host(5 * pace.samples, pace.warm_s, || Ok(session.execute(&[], &options)?))?;
        Ok(vec![Row {
            figures: Some(Figures::of(&exe, 0)),
            judged: rig.judges_gpu(),
            checked: format!("the sum of the result: {found}, by the host {wanted}"),
            ..Row::new(self.name(), times, "host")
        }])
    }
}

/// Boxes by two corners, of sides up to 0.1.
fn boxes(drawn: &[f32]) -> Vec<f32> {
    drawn.as_chunks::<4>().0.iter().flat_map(|&[y, x, h, w]| [y, x, y + 0.1 * h, x + 0.1 * w]).collect()
}

/// The boxes that share at most half of the area of both with a better one that is kept.
fn kept(boxes: &[f32], scores: &[f32]) -> Vec<usize> {
    let boxes = boxes.as_chunks::<4>().0;
    let area = |b: &[f32; 4]| (b[2] - b[0]) * (b[3] - b[1]);
    let shared = |a: &[f32; 4], b: &[f32; 4]| {
        let side = |low: usize| (a[low + 2].min(b[low + 2]) - a[low].max(b[low])).max(0.0);
        let both = side(0) * side(1);
        both / (area(a) + area(b) - both)
    };
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let mut kept: Vec<usize> = Vec::new();
    for i in order {
        if kept.iter().all(|k| shared(&boxes[i], &boxes[*k]) <= 0.5) {
            kept.push(i);
        }
    }
    kept
}
