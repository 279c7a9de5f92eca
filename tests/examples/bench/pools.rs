//! The two pools beside D6's convolutions.

use crate::Case;
use crate::data;
use crate::rig::{Rig, Spec};
use crate::row::{Bar, Outcome, Rate, Row};
use pumice::ops::average_pool::AveragePool;
use pumice::ops::max_pool::MaxPool;
use pumice::{Graph, GraphBuilder, Outputs, f32};

/// Batch, channels, and the extents of an image.
const IMAGES: [u64; 4] = [16, 64, 112, 112];
/// Of one image of one channel, where the device is not judged.
const SMALL: [u64; 4] = [1, 1, 112, 112];
/// Positions that are looked at: a row.
const COMPARED: usize = 32;

/// A square window.
#[derive(Clone, Copy)]
struct Pool {
    name: &'static str,
    images: [u64; 4],
    width: u64,
    is_max: bool,
}

/// Both pools.
pub fn cases(rig: &Rig) -> Vec<Case> {
    let images = if rig.judges_gpu() { IMAGES } else { SMALL };
    let pools = [("max_3x3_s2", 3, true), ("average_2x2", 2, false)];
    let case = |(name, width, is_max)| {
        let pool = Pool { name, images, width, is_max };
        Case::new(pool.name(), move |rig| pool.measure(rig))
    };
    pools.map(case).into()
}

impl Pool {
    fn name(&self) -> String {
        format!("D6.{}_{}", self.name, self.images.map(|n| n.to_string()).join("x"))
    }

    /// Positions along an axis of an image.
    fn positions(&self) -> u64 {
        (self.images[3] - self.width) / 2 + 1
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("pool");
        let x = g.state_read(g.state("x", f32(self.images)));
        let (kernel, strides) = (vec![self.width; 2], vec![2, 2]);
        let y = match self.is_max {
            true => g.max_pool(x, MaxPool { kernel, strides, ..MaxPool::default() }),
            false => g.average_pool(x, AveragePool { kernel, strides, ..AveragePool::default() }),
        };
        g.output("first", g.slice(g.reshape(y, &[-1]), &[0], &[COMPARED as i64], &[0], &[1]));
        Ok(g.build()?)
    }

    /// A position of the first row.
    fn expected(&self, x: &[f32], column: usize) -> f64 {
        let width = self.width as usize;
        let row = |r: usize| &x[r * self.images[3] as usize + 2 * column..][..width];
        let window = (0..width).flat_map(row).map(|v| f64::from(*v));
        match self.is_max {
            true => window.fold(f64::NEG_INFINITY, f64::max),
            false => window.sum::<f64>() / (width * width) as f64,
        }
    }

    fn measure(&self, rig: &Rig) -> Outcome<Vec<Row>> {
        let elements = self.images.iter().product::<u64>();
        let x = data::random(73, elements as usize, -1.0, 1.0);
        let want: Vec<f64> = (0..COMPARED).map(|column| self.expected(&x, column)).collect();
        let check = |outputs: &Outputs| {
            let worst = data::worst_within(&outputs.get("first")?.to_vec::<f32>()?, &want, |_| 1e-6)?;
            Ok(format!("{COMPARED} elements against f64: {worst:.1e}"))
        };
        let results = self.images[0] * self.images[1] * self.positions() * self.positions();
        let row = rig.measure(&Spec {
            name: self.name(),
            graph: self.graph()?,
            fused: true,
            fill: vec![("x", &x)],
            per: 1,
            rate: Rate::Tbps(4.0 * (elements + results) as f64),
            bar: Bar::RatioBeyond(0.6, 5.0),
            check: &check,
        })?;
        Ok(vec![row])
    }
}
