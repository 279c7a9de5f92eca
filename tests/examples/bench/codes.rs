//! Products of one row with weights in codes beside scales (P6), each beside blocks of the same bytes: i8 beside Q8_0,
//! i4 beside Q4_0, a scale of 16 bits for 32 elements in all of them.

use crate::data;
use crate::rig::{Rig, Spec, size};
use crate::row::{Bar, Outcome, Rate, Row};
use crate::{Case, Spelled};
use half::f16;
use pumice::{Code, DType, Encoding, Graph, GraphBuilder, Outputs, Scheme, f32, tensor};
use pumice_ir::ops::DequantizeLinear;

/// Elements that share a scale.
const BLOCK: u64 = 32;
/// Columns that are looked at, at the beginning and at the end.
const COMPARED: u64 = 64;
/// Time of codes over that of blocks is at most 1.15.
const SHARE: f64 = 1.0 / 1.15;

/// A weight of n rows of k elements.
#[derive(Clone, Copy)]
struct Weight {
    stored: Encoding,
    k: u64,
    n: u64,
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let (k, n) = size(full, (4096, 14336), (256, 320));
    let of = |stored: Encoding| Weight { stored, k, n };
    let pairs = [
        (Encoding::from(Scheme::Q8_0), Encoding::from(DType::I8)),
        (Scheme::Q4_0.into(), Encoding::Codes(Code::I4)),
    ];
    let pair = |(blocks, codes): (Encoding, Encoding)| {
        let bar = Bar::ShareOf(of(blocks).name(), SHARE);
        [case(of(blocks), Bar::None), case(of(codes), bar)]
    };
    pairs.into_iter().flat_map(pair).collect()
}

fn case(weight: Weight, bar: Bar) -> Case {
    Case::new(weight.name(), move |rig| Ok(vec![weight.measure(rig, bar.clone())?]))
        .spelled(move || Ok(Spelled { graph: weight.graph()?, fused: true }))
}

impl Weight {
    fn name(&self) -> String {
        format!("P6.gemv_{}x{}_{}", self.k, self.n, self.stored.name())
    }

    /// Columns that are looked at.
    fn places(&self) -> [u64; 2] {
        [0, self.n - COMPARED]
    }

    fn graph(&self) -> Outcome<Graph> {
        let g = GraphBuilder::new("gemv");
        let q = g.param("w", tensor(self.stored, [self.n, self.k]));
        let w = match self.stored {
            Encoding::Blocks(_) => g.dequantize(q),
            Encoding::Codes(_) | Encoding::Plain(_) => {
                let scale = g.param("scale", tensor(DType::F16, [self.n, self.k / BLOCK]));
                let output_dtype = Some(DType::F32);
                g.dequantize_linear(
                    q,
                    scale,
                    None,
                    DequantizeLinear { axis: 1, block_size: BLOCK, output_dtype },
                )
            }
        };
        let y = g.linear(g.state_read(g.state("x", f32([1, self.k]))), w, None);
        for (i, at) in self.places().into_iter().enumerate() {
            let (first, end) = (at as i64, (at + COMPARED) as i64);
            g.output(&format!("columns{i}"), g.slice(y, &[first], &[end], &[1], &[1]));
        }
        Ok(g.build()?)
    }

    /// The bytes of the codes or blocks, and of the scales.
    fn bytes(&self) -> Outcome<[Vec<u8>; 2]> {
        let blocks = (self.n * self.k / BLOCK) as usize;
        let scales: Vec<u8> =
            data::bytes(7, 2 * blocks).chunks(2).flat_map(|c| [c[0], c[1] & 3 | 0x14]).collect();
        let mut w = data::bytes(8, self.stored.bytes(&[self.n, self.k])?.0 as usize);
        if self.stored.scheme().is_some() {
            let unit = self.stored.block().1 as usize;
            for (block, scale) in w.chunks_mut(unit).zip(scales.chunks(2)) {
                block[..2].copy_from_slice(scale);
            }
        }
        Ok([w, scales])
    }

    /// Row `row` of the weight.
    fn values(&self, [w, scales]: &[Vec<u8>; 2], row: usize) -> Outcome<Vec<f32>> {
        let of_row = |bytes: &[u8]| bytes.len() / self.n as usize;
        let part = |bytes: &[u8]| bytes[row * of_row(bytes)..][..of_row(bytes)].to_vec();
        let codes = self.stored.decode(&part(w)).ok_or("codes without values")?;
        if self.stored.scheme().is_some() {
            return Ok(codes);
        }
        let scales = part(scales);
        let scale = |i: usize| f16::from_le_bytes([scales[2 * i], scales[2 * i + 1]]).to_f32();
        Ok(codes.iter().enumerate().map(|(i, q)| q * scale(i / BLOCK as usize)).collect())
    }

    /// Elements of the columns that are looked at, and what each may be off by.
    fn expected(&self, x: &[f32], stored: &[Vec<u8>; 2], rounded: f64) -> Outcome<Vec<(f64, f64)>> {
        let columns = self.places().into_iter().flat_map(|at| at..at + COMPARED);
        let one = |column| {
            let w = self.values(stored, column as usize)?;
            let terms = || x.iter().zip(&w).map(|(x, w)| f64::from(*x) * f64::from(*w));
            let (sum, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
            Ok((sum, data::of_sum(self.k, size) + rounded * size))
        };
        columns.map(one).collect()
    }

    fn measure(&self, rig: &Rig, bar: Bar) -> Outcome<Row> {
        let x = data::random(41, self.k as usize, -1.0, 1.0);
        let stored = self.bytes()?;
        let want = self.expected(&x, &stored, rig.rounded())?;
        let check = |outputs: &Outputs| {
            let got = [outputs.get("columns0")?.to_vec::<f32>()?, outputs.get("columns1")?.to_vec::<f32>()?]
                .concat();
            let values: Vec<f64> = want.iter().map(|w| w.0).collect();
            let worst = data::worst_within(&got, &values, |i| want[i].1)?;
            Ok(format!("{} columns against f64: {worst:.1e}", got.len()))
        };
        let [w, scales] = &stored;
        let mut params: Vec<(&str, &[u8])> = vec![("w", w)];
        let mut bytes = w.len() as u64;
        if self.stored.scheme().is_none() {
            params.push(("scale", scales));
            bytes += scales.len() as u64;
        }
        let spec = Spec {
            name: self.name(),
            graph: self.graph()?,
            fused: true,
            fill: vec![("x", &x)],
            per: 1,
            rate: Rate::Tbps((bytes + 4 * (self.k + self.n)) as f64),
            bar,
            check: &check,
        };
        rig.measure_stored(&spec, &params)
    }
}
