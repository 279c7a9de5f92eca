//! D6: convolutions drawn from models before any kernel was tuned for them (tests/reference/conv_shapes.py).
//! PyTorch beside them is the bar.

use crate::Case;
use crate::data;
use crate::rig::{Rig, Spec};
use crate::row::{Bar, Outcome, Rate, Row};
use pumice::ops::conv::Conv;
use pumice::ops::conv_transpose::ConvTranspose;
use pumice::{Graph, GraphBuilder, Outputs, f32};
use serde::Deserialize;

/// Elements of a result that are looked at, at its beginning and at its end.
const COMPARED: usize = 128;

/// What D6 measures.
const DRAWN: &str = include_str!("../../data/convolutions.json");

/// A convolution of D6.
#[derive(Clone, Debug, Deserialize)]
pub struct Drawn {
    name: String,
    batch: u64,
    channels: u64,
    outputs: u64,
    extents: Vec<u64>,
    kernel: Vec<u64>,
    strides: Vec<u64>,
    /// The same before and after an axis.
    pads: Vec<u64>,
    dilations: Vec<u64>,
    groups: u64,
    transposed: bool,
}

/// The committed cases; small sizes where the device is not judged.
pub fn cases(rig: &Rig) -> Outcome<Vec<Case>> {
    let mut drawn: Vec<Drawn> = serde_json::from_str(DRAWN)?;
    if !rig.judges_gpu() {
        drawn.retain(|d| d.positions().iter().product::<u64>() <= 196 && d.batch == 1);
    }
    Ok(of(drawn))
}

/// The cases of some convolutions.
pub fn of(drawn: Vec<Drawn>) -> Vec<Case> {
    drawn.into_iter().map(|d| Case::new(format!("D6.{}", d.name), move |rig| d.measure(rig))).collect()
}

impl Drawn {
    fn operand(&self) -> Vec<u64> {
        [&[self.batch, self.channels], &*self.extents].concat()
    }

    fn weights(&self) -> Vec<u64> {
        let (first, second) =
            if self.transposed { (self.channels, self.outputs) } else { (self.outputs, self.channels) };
        [&[first, second / self.groups], &*self.kernel].concat()
    }

    fn positions(&self) -> Vec<u64> {
        let axis = |d: usize| {
            let reach = (self.kernel[d] - 1) * self.dilations[d] + 1;
            if self.transposed {
                return (self.extents[d] - 1) * self.strides[d] + reach - 2 * self.pads[d];
            }
            (self.extents[d] + 2 * self.pads[d] - reach) / self.strides[d] + 1
        };
        (0..self.extents.len()).map(axis).collect()
    }

    fn results(&self) -> usize {
        (self.batch * self.outputs * self.positions().iter().product::<u64>()) as usize
    }

    fn flops(&self) -> f64 {
        let taps = self.kernel.iter().product::<u64>() as f64;
        let of_each = if self.transposed {
            self.operand()
        } else {
            [&[self.batch, self.outputs], &*self.positions()].concat()
        };
        let others = if self.transposed { self.outputs } else { self.channels } / self.groups;
        2.0 * of_each.iter().product::<u64>() as f64 * taps * others as f64
    }

    /// The smallest share of PyTorch's speed, beyond 5 us: 3 x 3 of stride 1 meets Winograd's fewer products there.
    fn bar(&self) -> Bar {
        let three = self.kernel.iter().all(|k| *k == 3) && self.strides.iter().all(|s| *s == 1);
        let wide = self.channels >= 64 && self.outputs >= 64;
        Bar::RatioBeyond(if three && wide { 0.5 } else { 0.6 }, 5.0)
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("convolution");
        let x = g.state_read(g.state("x", f32(self.operand())));
        let w = g.param("w", f32(self.weights()));
        let (strides, dilations, groups) = (self.strides.clone(), self.dilations.clone(), self.groups);
        let pads = self.pads.iter().chain(&self.pads).copied().collect();
        let y = match self.transposed {
            false => g.conv(x, w, None, Conv { strides, pads, dilations, groups, ..Conv::default() }),
            true => {
                let op = ConvTranspose { strides, pads, dilations, groups, ..ConvTranspose::default() };
                g.conv_transpose(x, w, None, op)
            }
        };
        let n = self.results();
        let flat = g.reshape(y, &[n as i64]);
        let compared = COMPARED.min(n) as i64;
        g.output("first", g.slice(flat, &[0], &[compared], &[0], &[1]));
        g.output("last", g.slice(flat, &[n as i64 - compared], &[n as i64], &[0], &[1]));
        Ok(g.build()?)
    }

    /// One result in f64, and what it may be off by, where each term may be off by that share.
    fn expected(&self, x: &[f32], w: &[f32], place: usize, rounded: f64) -> (f64, f64) {
        let positions = self.positions();
        let (mut rest, mut at) = (place, vec![0u64; positions.len()]);
        for d in (0..positions.len()).rev() {
            at[d] = rest as u64 % positions[d];
            rest /= positions[d] as usize;
        }
        let (output, batch) = (rest as u64 % self.outputs, rest as u64 / self.outputs);
        let channels = self.channels / self.groups;
        let first = output / (self.outputs / self.groups) * channels;
        let taps: u64 = self.kernel.iter().product();
        let (mut sum, mut all) = (0.0, 0.0);
        for (c, t) in (0..channels).flat_map(|c| (0..taps).map(move |t| (c, t))) {
            let Some(element) = self.under(&at, t) else { continue };
            let plane = (batch * self.channels + first + c) * self.extents.iter().product::<u64>();
            let weight = match self.transposed {
                false => (output * channels + c) * taps + t,
                true => {
                    ((first + c) * (self.outputs / self.groups) + output % (self.outputs / self.groups))
                        * taps
                        + t
                }
            };
            let weight = f64::from(w[weight as usize]);
            let term = weight * f64::from(x[(plane + element) as usize]);
            (sum, all) = (sum + term, all + term.abs());
        }
        let levels = ((channels * taps) as f64).log2().ceil() + 4.0;
        (sum, (4.0 * levels * 2f64.powi(-24) + rounded) * all)
    }

    /// The element of a channel under tap `t` at a position; none outside.
    fn under(&self, at: &[u64], mut t: u64) -> Option<u64> {
        let (mut element, mut stride) = (0, 1);
        for d in (0..at.len()).rev() {
            let tap = t % self.kernel[d];
            t /= self.kernel[d];
            let place = match self.transposed {
                false => (at[d] * self.strides[d] + tap * self.dilations[d]).checked_sub(self.pads[d])?,
                true => {
                    let spread = (at[d] + self.pads[d]).checked_sub(tap * self.dilations[d])?;
                    if spread % self.strides[d] != 0 {
                        return None;
                    }
                    spread / self.strides[d]
                }
            };
            if place >= self.extents[d] {
                return None;
            }
            (element, stride) = (element + place * stride, stride * self.extents[d]);
        }
        Some(element)
    }

    fn measure(&self, rig: &Rig) -> Outcome<Vec<Row>> {
        let elements = |s: Vec<u64>| s.iter().product::<u64>() as usize;
        let x = data::random(71, elements(self.operand()), -1.0, 1.0);
        let w = data::random(72, elements(self.weights()), -1.0, 1.0);
        let n = self.results();
        let compared = COMPARED.min(n);
        let rounded = rig.rounded();
        let want: Vec<(f64, f64)> =
            (0..compared).chain(n - compared..n).map(|place| self.expected(&x, &w, place, rounded)).collect();
        let check = |outputs: &Outputs| {
            let got =
                [outputs.get("first")?.to_vec::<f32>()?, outputs.get("last")?.to_vec::<f32>()?].concat();
            let values: Vec<f64> = want.iter().map(|w| w.0).collect();
            let worst = data::worst_within(&got, &values, |i| want[i].1)?;
            Ok(format!("{} elements against f64: {worst:.1e}", got.len()))
        };
        let row = rig.measure(&Spec {
            name: format!("D6.{}", self.name),
            graph: self.graph()?,
            fused: true,
            fill: vec![("x", &x), ("w", &w)],
            per: 1,
            rate: Rate::Tflops(self.flops()),
            bar: self.bar(),
            check: &check,
        })?;
        Ok(vec![row])
    }
}
