//! Recurrences (P8): the selective scan, Mamba-2 and the gated delta net, over a sequence and of one token, which
//! leave their state for the next run. Rates count operands, results and states once: the floor by bytes.
//!
//! All three are one rule, S = e^g·S + k⊗u and o = scale·Sᵀq for each head, and columns of S do not know each other: a
//! few columns in f64 are the check.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use pumice::{Graph, GraphBuilder, Outputs, Value, f32};
use pumice_ir::ops::gated_delta_net::{DeltaOperands, GatedDeltaNet};
use pumice_ir::ops::mamba2::{Mamba2, SsdOperands};
use pumice_ir::ops::selective_scan::{ScanOperands, SelectiveScan};

/// Elements that are looked at: the first ones of the last step.
const COMPARED: u64 = 4;
/// Of a result, for each unit of the size of its terms: sequences of roundings that decay.
const TOLERANCE: f64 = 1e-4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scan,
    Mamba2,
    DeltaNet,
}

/// Steps, heads, values of a head, keys of a head; of the scan heads are channels of one value.
#[derive(Clone, Copy)]
struct Sequence {
    kind: Kind,
    steps: u64,
    heads: u64,
    values: u64,
    keys: u64,
    /// Whether the net divides its queries and keys by their lengths; else they are given so.
    norm: bool,
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let scan = Sequence {
        kind: Kind::Scan,
        steps: 2048,
        heads: size(full, 5120, 64),
        values: 1,
        keys: 16,
        norm: false,
    };
    let width = size(full, 128, 16);
    let heads = size(full, 32, 4);
    let dual = Sequence { kind: Kind::Mamba2, steps: 2048, heads, values: width, keys: width, norm: false };
    let net = Sequence { kind: Kind::DeltaNet, ..dual };
    let kinds = [scan, dual, net, Sequence { norm: true, ..net }];
    let lengths = |of: Sequence| {
        let steps = size(full, of.steps, 32);
        [(Sequence { steps, ..of }, Bar::None), (Sequence { steps: 1, ..of }, Bar::Us(12.0))]
    };
    kinds.into_iter().flat_map(lengths).map(|(of, bar)| case(of, bar)).collect()
}

fn case(of: Sequence, bar: Bar) -> Case {
    Case::new(of.name(), move |rig| Ok(vec![of.measure(rig, bar.clone())?]))
        .spelled(move || Ok(Spelled { graph: of.graph()?, fused: true }))
}

impl Sequence {
    fn name(&self) -> String {
        let Sequence { kind, steps, heads, values, keys, norm } = *self;
        let norm = if norm { "_l2norm" } else { "" };
        match kind {
            Kind::Scan => format!("P8.selective_scan_{steps}x{heads}x{keys}"),
            Kind::Mamba2 => format!("P8.mamba2_{steps}x{heads}x{values}x{keys}"),
            Kind::DeltaNet => format!("P8.delta_net{norm}_{steps}x{heads}x{values}x{keys}"),
        }
    }

    /// Operands by name: extents, and between what its numbers are.
    fn operands(&self) -> Vec<(&'static str, Vec<u64>, [f32; 2])> {
        let Sequence { kind, steps: t, heads: h, values: p, keys: n, .. } = *self;
        let all = [-1.0, 1.0];
        // Keys of a length of one or so.
        let unit = if self.norm { all } else { [-1.0, 1.0].map(|v| v * (3.0 / n as f32).sqrt()) };
        match kind {
            Kind::Scan => vec![
                ("x", vec![1, t, h], all),
                ("step", vec![1, t, h], [0.01, 0.3]),
                ("a", vec![h, n], [-4.0, -0.5]),
                ("k", vec![1, t, n], all),
                ("q", vec![1, t, n], all),
                ("state", vec![1, h, n], all),
            ],
            Kind::Mamba2 => vec![
                ("x", vec![1, t, h, p], all),
                ("step", vec![1, t, h], [0.01, 0.3]),
                ("a", vec![h], [-4.0, -0.5]),
                ("k", vec![1, t, 1, n], all),
                ("q", vec![1, t, 1, n], all),
                ("state", vec![1, h, p, n], all),
            ],
            Kind::DeltaNet => vec![
                ("x", vec![1, t, h, p], all),
                ("step", vec![1, t, h], [-0.3, -0.01]),
                ("a", vec![1, t, h], [0.1, 0.9]),
                ("k", vec![1, t, h, n], unit),
                ("q", vec![1, t, h, n], unit),
                ("state", vec![1, h, n, p], all),
            ],
        }
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("sequence");
        let state =
            |(name, extents, _): &(&str, Vec<u64>, [f32; 2])| g.state(name, f32(extents.iter().copied()));
        let states: Vec<Value> = self.operands().iter().map(state).collect();
        let all: Vec<Value> = states.iter().map(|s| g.state_read(*s)).collect();
        let [x, step, a, k, q, before] = all[..] else { return Err("other operands".into()) };
        let (y, last) = match self.kind {
            Kind::Scan => {
                let operands = ScanOperands { h0: Some(before), ..ScanOperands::default() };
                g.selective_scan([x, step, a, k, q], operands, SelectiveScan::default())
            }
            Kind::Mamba2 => {
                let operands = SsdOperands { state: Some(before), ..SsdOperands::default() };
                g.mamba2([x, step, a, k, q], operands, Mamba2::default())
            }
            Kind::DeltaNet => {
                let operands = DeltaOperands { decay: Some(step), beta: Some(a), state: Some(before) };
                let op = GatedDeltaNet { l2norm_qk: self.norm, ..GatedDeltaNet::default() };
                g.gated_delta_net([q, k, x], operands, op)
            }
        };
        g.state_write(states[5], last);
        let flat = g.reshape(y, &[self.steps as i64, -1]);
        let t = self.steps as i64;
        g.output("y", g.slice(flat, &[t - 1, 0], &[t, COMPARED as i64], &[0, 1], &[1, 1]));
        Ok(g.build()?)
    }

    /// Element i of the last step, and the size of its terms.
    fn expected(&self, x: &[Vec<f32>], i: usize) -> (f64, f64) {
        let (h, n) = (self.heads as usize, self.keys as usize);
        let (head, column) = (i / self.values as usize, i % self.values as usize);
        let at = |j: usize| f64::from(x[5][self.place(head, column, j)]);
        let mut s: Vec<f64> = (0..n).map(at).collect();
        let mut o: (f64, f64) = (0.0, 0.0);
        for t in 0..self.steps as usize {
            let of_head = t * h + head;
            let v = f64::from(x[0][of_head * self.values as usize + column]);
            let step = f64::from(x[1][of_head]);
            let row = if self.kind == Kind::DeltaNet { of_head } else { t };
            let [k, q] = [3, 4].map(|i: usize| self.keys_of(&x[i][row * n..][..n]));
            for (j, s) in s.iter_mut().enumerate() {
                *s *= self.decay(&x[2], step, [head, j]).exp();
            }
            let u = match self.kind {
                Kind::DeltaNet => {
                    let known: f64 = s.iter().zip(&k).map(|(s, k)| s * k).sum();
                    f64::from(x[2][of_head]) * (v - known)
                }
                Kind::Scan | Kind::Mamba2 => step * v,
            };
            s.iter_mut().zip(&k).for_each(|(s, k)| *s += k * u);
            let terms = || s.iter().zip(&q).map(|(s, q)| s * q);
            o = (terms().sum(), terms().map(f64::abs).sum());
        }
        let scale = if self.kind == Kind::DeltaNet { 1.0 / (n as f64).sqrt() } else { 1.0 };
        (scale * o.0, scale * o.1)
    }

    /// Where the state has key j of a column.
    fn place(&self, head: usize, column: usize, j: usize) -> usize {
        let (p, n) = (self.values as usize, self.keys as usize);
        match self.kind {
            Kind::DeltaNet => (head * n + j) * p + column,
            Kind::Scan | Kind::Mamba2 => (head * p + column) * n + j,
        }
    }

    /// Keys or queries as the rule takes them.
    fn keys_of(&self, x: &[f32]) -> Vec<f64> {
        let norm =
            x.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() + f64::from(GatedDeltaNet::default().eps);
        let factor = if self.norm { 1.0 / norm.sqrt() } else { 1.0 };
        x.iter().map(|v| factor * f64::from(*v)).collect()
    }

    fn decay(&self, a: &[f32], step: f64, [head, j]: [usize; 2]) -> f64 {
        match self.kind {
            Kind::Scan => step * f64::from(a[head * self.keys as usize + j]),
            Kind::Mamba2 => step * f64::from(a[head]),
            Kind::DeltaNet => step,
        }
    }

    /// Operands, the result, and the state read and written.
    fn bytes(&self) -> u64 {
        let elements = |extents: &Vec<u64>| extents.iter().product::<u64>();
        let operands = self.operands();
        let read: u64 = operands.iter().map(|(_, extents, _)| elements(extents)).sum();
        4 * (read + elements(&operands[0].1) + elements(&operands[5].1))
    }

    fn measure(&self, rig: &Rig, bar: Bar) -> Outcome<Row> {
        let operands = self.operands();
        let fill = |(i, (_, extents, [low, high])): (usize, &(&str, Vec<u64>, [f32; 2]))| {
            data::random(51 + i as u64, extents.iter().product::<u64>() as usize, *low, *high)
        };
        let x: Vec<Vec<f32>> = operands.iter().enumerate().map(fill).collect();
        let want: Vec<(f64, f64)> = (0..COMPARED as usize).map(|i| self.expected(&x, i)).collect();
        let check = |outputs: &Outputs| {
            let values: Vec<f64> = want.iter().map(|w| w.0).collect();
            let allowed = |i: usize| TOLERANCE * want[i].1.max(1.0);
            let worst = data::worst_within(&outputs.get("y")?.to_vec::<f32>()?, &values, allowed)?;
            Ok(format!("{COMPARED} elements of the last step against f64: {worst:.1e}"))
        };
        let named = operands.iter().zip(&x).map(|(operand, x)| (operand.0, x.as_slice()));
        rig.measure(&Spec {
            name: self.name(),
            graph: self.graph()?,
            fused: true,
            fill: named.collect(),
            per: 1,
            rate: Rate::Tbps(self.bytes() as f64),
            bar,
            check: &check,
        })
    }
}
