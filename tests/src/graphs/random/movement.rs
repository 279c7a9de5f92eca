//! Nodes of random programs that move elements.

use super::{Garden, Item};
use pumice_ir::Value;
use pumice_ir::ops::pad::{Pad, PadMode};
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_types::{DType, DimExpr, Tensor};

impl Garden<'_> {
    /// One value, seen otherwise.
    pub(super) fn movement(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| s.ty(i.value).rank() > 0)?;
        let (v, ty) = (x.value, self.ty(x.value));
        let (rank, c) = (ty.rank() as i64, self.width(x.value));
        let value = match self.below(20) {
            // Out and back, with something between that sees the strides.
            0 if rank >= 2 && ty.dtype().is_float() => {
                let mut perm: Vec<i64> = (0..rank).collect();
                perm.swap(rank as usize - 1, rank as usize - 2);
                let there = g.transpose(v, &perm);
                g.transpose(g.neg(there), &perm)
            }
            // All axes but the last, which stays constant.
            1 if rank >= 3 => {
                let mut perm: Vec<i64> = (0..rank).collect();
                perm.swap(0, 1);
                g.transpose(v, &perm)
            }
            2 if c % 2 == 0 => {
                let mut shape = ty.shape.to_vec();
                *shape.last_mut()? = DimExpr::constant(2);
                shape.insert(rank as usize - 1, DimExpr::constant(c as i64 / 2));
                g.reshape_to(v, shape)
            }
            3 if rank >= 2 => {
                let axis = 1 + self.below(rank as usize - 1) as i64;
                let flat = g.flatten(v, axis);
                g.reshape_to(flat, ty.shape.to_vec())
            }
            4 => g.squeeze(g.unsqueeze(v, &[0, rank + 1]), &[0, rank + 1]),
            5 => g.unsqueeze(v, &[0]),
            6 if rank < 4 => {
                let mut shape = ty.shape.to_vec();
                shape.insert(0, DimExpr::constant(2));
                g.expand_to(v, shape)
            }
            7 if c > 2 => g.narrow(v, -1, 1u64, c - 1),
            8 if c > 1 => g.slice(v, &[-1], &[i64::MIN], &[-1], &[-2]),
            9 if c > 2 => {
                let sizes = [1, c as i64 - 1];
                let parts = g.split(v, -1, &sizes);
                parts[self.below(2)]
            }
            10 => g.reverse(v, &[-1]),
            11 if c <= 16 && c > 1 => self.padded(v),
            12 if c <= 16 => g.tile(v, &twice(ty.rank(), ty.rank() - 1)),
            13 if c <= 16 => g.repeat_interleave(v, 2, -1),
            14 if rank >= 2 => g.trilu(v, self.below(3) as i64 - 1, self.below(2) == 0),
            15 if rank < 4 => g.stack(&[v, v], 0),
            16..=18 if (1..=32).contains(&c) => self.indexed(v)?,
            19 if (1..=16).contains(&c) => self.resampled(v)?,
            _ => g.barrier(&[v], self.pool.last().map(|i| i.value))[0],
        };
        Some(Item { value, ..x })
    }

    /// Elements by indices of the last axis, or of the first, in reach.
    fn indexed(&mut self, v: Value) -> Option<Value> {
        let (g, ty, c) = (self.g, self.ty(v), self.width(v) as i32);
        let drawn: Vec<i32> = (0..3).map(|_| self.below(2 * c as usize) as i32 - c).collect();
        let with_last = |last: u64| {
            let mut shape = ty.shape.to_vec();
            *shape.last_mut()? = last.into();
            Some(shape)
        };
        let list = |values: &[i32], shape: &[u64]| Some(g.constant(Tensor::new(values, shape).ok()?));
        let row = g.expand_to(list(&drawn, &[3])?, with_last(3)?);
        let number = ty.dtype() != DType::Bool;
        let reduction = ScatterReduction::ALL[if number { [0, 3, 4][self.below(3)] } else { 0 }];
        Some(match self.below(4) {
            0 => g.gather_elements(v, row, -1),
            1 => {
                let one = g.expand_to(list(&drawn[..1], &[1])?, with_last(1)?);
                g.unsqueeze(g.gather_nd(v, one, ty.rank() as u64 - 1), &[-1])
            }
            2 => g.scatter_elements(v, row, g.gather_elements(v, row, -1), -1, reduction),
            _ if ty.shape[0].as_const().is_some_and(|n| n > 0) => g.scatter_nd(
                v,
                list(&[0, -1], &[2, 1])?,
                g.tile(g.narrow(v, 0, 0, 1), &twice(ty.rank(), 0)),
                reduction,
            ),
            _ => g.identity(v),
        })
    }

    /// Elements of the last axis by a table, which may name some that are not there.
    fn resampled(&mut self, v: Value) -> Option<Value> {
        let c = self.width(v) as i32;
        let table: Vec<i32> = (0..c).map(|_| self.below(c as usize + 2) as i32 - 1).collect();
        let table = self.g.constant(Tensor::new(&table, &[c as u64]).ok()?);
        Some(self.g.resample(v, &[-1], 0, (table, None), None))
    }

    /// One element before the last axis and none or one after it, in any mode.
    fn padded(&mut self, v: Value) -> Value {
        let mode = PadMode::ALL[self.below(4)];
        let pads = vec![1, self.below(2) as i64];
        self.g.pad(v, None, Pad { mode, pads, axes: vec![-1] })
    }

    /// Several values as one.
    pub(super) fn joined(&mut self) -> Option<Item> {
        let x = self.find(|s, i| s.ty(i.value).rank() > 0 && s.width(i.value) <= 16)?;
        let y = self.twin(x);
        let mut parts = vec![x.value, y.value];
        if self.below(3) == 0 {
            parts.push(x.value);
        }
        if self.ty(y.value).dtype() != self.ty(x.value).dtype() {
            return None;
        }
        let rank = self.ty(x.value).rank() as i64;
        let along_rows = rank > 1 && !self.symbolic && self.below(2) == 0;
        let value = self.g.concat(&parts, if along_rows { rank - 2 } else { -1 });
        Some(Item { value, size: x.size.max(y.size), exact: x.exact && y.exact })
    }
}

/// One axis twice, the others once.
fn twice(rank: usize, axis: usize) -> Vec<u64> {
    (0..rank).map(|a| if a == axis { 2 } else { 1 }).collect()
}
