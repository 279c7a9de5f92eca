//! Loops whose turns give outputs, and functions: nodes of random programs that other nodes stand in.

use super::branches::TURNS;
use super::{Garden, Item};
use pumice_ir::ops::scan::{Scan, ScanAxis};
use pumice_ir::shape::DimSpec;
use pumice_ir::{GraphBuilder, Value, sym};
use pumice_types::{DType, DimExpr};

impl Garden<'_> {
    pub(super) fn collected(&mut self) -> Option<Item> {
        match self.below(3) {
            0 => self.called(),
            _ if self.looping => None,
            1 => self.kept_turns(),
            _ => self.scanned(),
        }
    }

    /// A value and its like, slice by slice along an axis, each in a direction; what the last turn leaves, or what one
    /// of two outputs becomes.
    fn scanned(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let rank = self.ty(x.value).rank();
        let y = self.twin(x);
        let axis = self.below(rank) as i64;
        match self.ty(x.value).shape[axis as usize].as_extent() {
            // One after the other, and not too many for a program.
            Some(..=5) => {}
            Some(..=16) => return None,
            _ => self.finds = true,
        }
        let direction = [self.below(2) == 0, self.below(2) == 0, self.below(2) == 0];
        let [first, second, third] = direction.map(|reverse| ScanAxis { axis, reverse });
        let op =
            Scan { inputs: vec![first, second], outputs: vec![third, ScanAxis::forward(0)], length: None };
        let begin = g.tanh(g.reduce_max(x.value, &[axis], false));
        let third = g.constant_scalar(DType::F32, 1.0 / 3.0);
        let turn = |g: &GraphBuilder, [h]: [Value; 1], [x, y]: [Value; 2]| {
            let next = g.tanh(g.add(g.mul(h, third), x));
            ([next], [g.sub(next, y), g.mul(h, third)])
        };
        let ([last], [differences, shares]) = g.scan([begin], [x.value, y.value], turn, op);
        let size = 1.0 + y.size;
        Some(match self.below(4) {
            0 => self.about(last, 1.0),
            1 => self.about(shares, 1.0),
            _ => self.about(differences, size),
        })
    }

    /// Sums of what so many turns gave as an exact number asks for.
    fn kept_turns(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let (zero, one) = (g.constant_scalar(DType::I32, 0.0), g.constant_scalar(DType::I32, 1.0));
        let limit = self.turns_wanted();
        self.finds = true;
        let turn = |g: &GraphBuilder, [i, h]: [Value; 2]| ([g.add(i, one), g.tanh(g.sub(x.value, h))], [h]);
        let ([_, last], [all]) =
            g.while_collecting(TURNS, [zero, x.value], |g, [i, _]| g.less(i, limit), turn);
        if self.below(3) == 0 {
            return Some(self.about(last, x.size.max(1.0)));
        }
        Some(self.about(g.tanh(g.reduce_sum(all, &[0], false)), 1.0))
    }

    /// A function of a value and its like, called once or on what it gives.
    fn called(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let y = self.twin(x);
        let weight = self.name("w");
        let shape = self.ty(x.value).shape;
        let f = GraphBuilder::new("function");
        let extent = |(axis, d): (usize, &DimExpr)| -> DimSpec {
            d.as_extent().map_or_else(|| sym(&format!("d{axis}"), 0..=4096), Into::into)
        };
        let extents = || shape.iter().enumerate().map(extent).collect::<Vec<_>>();
        let [a, b] = ["a", "b"].map(|name| f.input(name, pumice_ir::tensor(DType::F32, extents())));
        let w = f.param(&weight, pumice_ir::f32([self.width(x.value)]));
        let mixed = f.tanh(f.add(f.mul(a, w), b));
        f.output("mixed", mixed);
        f.output("apart", f.sub(a, f.reduce_max(b, &[-1], true)));
        let f = f.build().ok()?;
        let first = g.call(&f, &[x.value, y.value]);
        Some(match self.below(3) {
            0 => self.about(first[1], x.size + y.size),
            1 => self.about(first[0], 1.0),
            _ => self.about(g.call(&f, &[first[0], x.value])[0], 1.0),
        })
    }
}
