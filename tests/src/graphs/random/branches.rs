//! Branches: of two parts of a program the one that a condition takes.

use super::{Garden, Item};
use pumice_ir::{GraphBuilder, Value};
use pumice_types::DType;

/// Turns of a loop at most: no loop asks for more, which would be reported where nothing needs its results and not
/// where a pass has left it out.
pub(super) const TURNS: u64 = 200;

impl Garden<'_> {
    /// One of two values of a type, each with nodes of its own, by exact numbers, by the position or by an extent. Some
    /// of the nodes are used outside as well.
    pub(super) fn branched(&mut self) -> Option<Item> {
        if self.depth >= 2 {
            return None;
        }
        let g = self.g;
        let x = self.real();
        let taken = self.choice()?;
        let a = self.branch(x);
        let b = self.branch(x);
        let value = g.join_branches(&taken, a.value, b.value);
        Some(Item { value, size: a.size.max(b.size), exact: a.exact && b.exact })
    }

    /// A value after some turns of a loop of a few nodes: as many as an exact number asks for, or a number of them.
    pub(super) fn looped(&mut self) -> Option<Item> {
        if self.looping {
            return None;
        }
        let x = self.real();
        let results = self.turns(&[x.value, x.value], |s, g, _, c| {
            s.pool.push(s.about(c[1], x.size.max(3.0)));
            let made = s.made_in_turn(c[0], x.size);
            vec![g.tanh(g.sub(made, c[1])), c[0]]
        });
        Some(self.about(results[0], x.size.max(1.0)))
    }

    /// Some turns with what they carry and their number; nodes of them are in the loop.
    pub(super) fn turns(
        &mut self,
        carried: &[Value],
        body: impl FnOnce(&mut Self, &GraphBuilder, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let g = self.g;
        let (one, zero) = (g.constant_scalar(DType::I32, 1.0), g.constant_scalar(DType::I32, 0.0));
        let limit = self.turns_wanted();
        self.finds = true;
        let (outside, stateful) = (self.pool.len(), std::mem::take(&mut self.stateful));
        (self.looping, self.depth) = (true, self.depth + 1);
        let all: Vec<Value> = [zero].into_iter().chain(carried.iter().copied()).collect();
        let mut results = g.while_values(
            TURNS,
            &all,
            |g, c| g.less(c[0], limit),
            |g, c| {
                let next = body(self, g, c[0], &c[1..]);
                [g.add(c[0], one)].into_iter().chain(next).collect()
            },
        );
        (self.looping, self.depth) = (false, self.depth - 1);
        self.stateful = stateful;
        self.pool.truncate(outside);
        results.split_off(1)
    }

    /// How many turns a loop takes: an exact number, [`TURNS`] at most.
    pub(super) fn turns_wanted(&mut self) -> Value {
        match self.below(3) {
            0 => self.position,
            1 => {
                let x = self.real().value;
                let few = self.ty(x).shape[0].as_extent().is_none_or(|n| n <= TURNS);
                if few { self.g.extent(x, 0) } else { self.position }
            }
            _ => self.g.constant_scalar(DType::I32, self.below(20) as f64),
        }
    }

    /// A value of the type of one that a turn carries, made of it by some nodes or not.
    pub(super) fn made_in_turn(&mut self, carried: Value, size: f64) -> Value {
        let outside = self.pool.len();
        self.pool.push(self.about(carried, size.max(3.0)));
        (0..1 + self.below(3)).for_each(|_| self.node());
        let ty = self.ty(carried);
        let made = self.pool[outside..].iter().rev().copied().find(|i| self.ty(i.value) == ty);
        made.map_or(carried, |i| i.value)
    }

    pub(super) fn choice(&mut self) -> Option<pumice_types::DimExpr> {
        let g = self.g;
        let one = g.constant_scalar(DType::I32, 2.0);
        let condition = match self.below(4) {
            0 => g.less(self.position, one),
            1 => g.greater(g.extent(self.real().value, 0), one),
            _ => {
                let wanted =
                    |s: &Self, i: &Item| i.exact && i.size <= 100.0 && s.ty(i.value).dtype() == DType::F32;
                let counted = self.find(wanted)?;
                let axes: Vec<i64> = (0..self.ty(counted.value).rank() as i64).collect();
                self.finds = true;
                g.greater(g.reduce_sum(counted.value, &axes, false), g.constant_scalar(DType::F32, 0.5))
            }
        };
        Some(g.choice(condition))
    }

    /// Some nodes, and one of them, or a value made of `x`, of its type.
    fn branch(&mut self, x: Item) -> Item {
        let (outside, stateful) = (self.pool.len(), std::mem::take(&mut self.stateful));
        self.depth += 1;
        for _ in 0..self.below(4) {
            self.node();
        }
        self.depth -= 1;
        self.stateful = stateful;
        let ty = self.ty(x.value);
        let made = self.pool[outside..].iter().rev().copied().find(|i| self.ty(i.value) == ty);
        if self.below(4) > 0 {
            self.pool.truncate(outside);
        }
        match made {
            Some(made) => made,
            None if self.below(3) == 0 => x,
            None => {
                let g = self.g;
                let most = g.reduce_max(x.value, &[-1], true);
                self.about(g.sub(x.value, most), 2.0 * x.size)
            }
        }
    }
}
