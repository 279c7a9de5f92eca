//! States in random programs: read and written, grown, attended over, fed.

use super::{Garden, Item};
use pumice_ir::ops::Attention;
use pumice_ir::ops::attention::AttentionLayout;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::{FeedKind, f32, tensor};
use pumice_types::{DType, DimExpr};

/// Rows of a cache: more than the last position and the most rows that one run appends.
const CAPACITY: u64 = 64;

impl Garden<'_> {
    /// One more state and what becomes of it.
    pub(super) fn state(&mut self) -> Option<Item> {
        match self.below(8) {
            0 | 1 => Some(self.rewritten()),
            2 => Some(self.grown()),
            3 | 4 => self.remembered(),
            5 => Some(self.fed()),
            _ if self.depth > 0 => Some(self.grown()),
            _ => Some(self.carried()),
        }
    }

    /// A state, beginning as zeros or as a param, that is read, written and read again.
    fn rewritten(&mut self) -> Item {
        let x = self.real();
        let (g, c, name) = (self.g, self.width(x.value), self.name("s"));
        let s = match self.below(3) {
            0 => {
                let init = self.param(&[c]);
                g.state_from(&name, init)
            }
            _ => g.state(&name, f32([c])),
        };
        let old = g.state_read(s);
        let step = self.param(&[c]);
        let new = g.state_write(s, g.tanh(g.add(old, step)));
        let read = if self.below(2) == 0 { old } else { g.add(g.state_read(new), old) };
        self.about(g.mul(x.value, read), 2.0 * x.size)
    }

    /// A cache of any float dtype that grows by whole numbers, which all of them hold.
    fn grown(&mut self) -> Item {
        let x = self.real();
        let (g, c, name) = (self.g, self.width(x.value), self.name("s"));
        let dtype = self.pick(&[DType::F32, DType::BF16, DType::F16]);
        let row = self.param(&[1, 2, c]);
        let s = g.cache(&name, tensor(dtype, [1, CAPACITY, c]), 1);
        let mode = self.pick(&[AppendMode::Linear, AppendMode::Circular]);
        let s = g.kv_append(s, g.round(row), self.position, 1, mode);
        let all = g.cast(g.state_read(s), DType::F32);
        self.about(g.reduce_mean(all, &[1], false), 2.0)
    }

    /// A state that turns of a loop write once or twice and read; some are read before and written again behind.
    fn carried(&mut self) -> Item {
        let x = self.real();
        let (g, c, name) = (self.g, self.width(x.value), self.name("s"));
        let (row, fixed) = (self.param(&[1, c]), self.param(&[8, c]));
        let s = g.cache(&name, f32([8, c]), 0);
        let before = g.state_read(s);
        let (appends, rewrites, reads, again) = (self.below(3), self.below(3), self.below(2), self.below(2));
        let results = self.turns(&[s, x.value], |garden, g, i, carried| {
            let [mut s, x_now] = [carried[0], carried[1]];
            let old = g.state_read(s);
            let mean = g.reduce_mean(old, &[0], false);
            let next = g.tanh(g.sub(garden.made_in_turn(x_now, x.size), mean));
            let axes: Vec<i64> = (0..garden.ty(next).rank() as i64 - 1).collect();
            let last = if axes.is_empty() { next } else { g.reduce_mean(next, &axes, false) };
            let last = g.reshape(last, &[1, c as i64]);
            match rewrites {
                0 => s = g.state_write(s, fixed),
                1 => s = g.state_write(s, g.tanh(g.add(old, fixed))),
                _ => {}
            }
            if appends > 0 || rewrites > 1 {
                s = g.kv_append(s, g.add(last, row), i, 0, AppendMode::Circular);
            }
            let shown = if reads == 0 { before } else { g.state_read(s) };
            vec![s, g.add(next, g.reduce_mean(shown, &[0], false))]
        });
        let (mut s, y) = (results[0], results[1]);
        if again == 0 {
            s = g.state_write(s, g.tanh(g.state_read(s)));
        }
        self.about(g.add(y, g.reduce_sum(g.state_read(s), &[0], false)), x.size.max(8.0))
    }

    /// Attention over everything that came before: keys and values are appended, the length is position and rows.
    fn remembered(&mut self) -> Option<Item> {
        let x = self.rows_of_heads()?;
        let (g, c, shape) = (self.g, self.width(x.value), self.ty(x.value).shape);
        let layout = self.pick(&[AttentionLayout::Bshd, AttentionLayout::Bhsd]);
        let (place, axis) = match layout {
            AttentionLayout::Bshd => ([1, CAPACITY, 1, c / 2], 1),
            AttentionLayout::Bhsd => ([1, 1, CAPACITY, c / 2], 2),
        };
        let first = g.narrow(x.value, -1, 0u64, c / 2);
        let row = self.heads(first, 1, layout);
        let row = if self.below(2) == 0 { self.turned(row, layout) } else { row };
        let mut grown = |row| {
            let name = self.name("kv");
            let s = g.cache(&name, f32(place), axis);
            g.kv_append(s, row, self.position, axis, AppendMode::Linear)
        };
        let (k, v) = (grown(row), grown(g.tanh(row)));
        let q = self.heads(x.value, 2, layout);
        let length = g.add(self.position, g.cast(g.extent(x.value, 0), DType::I32));
        let op = Attention { layout, causal: self.below(4) > 0, ..Attention::default() };
        let y = g.attention(q, k, v, None, Some(length), op);
        let y = self.joined_heads(y, layout, shape.to_vec());
        Some(self.about(y, x.size))
    }

    /// A state whose next value is an output, or rows of one.
    fn fed(&mut self) -> Item {
        let x = self.real();
        let (g, c, name) = (self.g, self.width(x.value), self.name("s"));
        let s = g.state(&name, f32([8, c]));
        let read = g.state_read(s);
        let next = g.tanh(g.add(read, self.param(&[8, c])));
        g.output(&name, next);
        let position = g.scalar_expr(self.position);
        let kind = match self.below(4) {
            0 => FeedKind::Whole,
            1 => FeedKind::Prefix { axis: 0, len: position },
            2 => FeedKind::Prefix { axis: 0, len: DimExpr::constant(3) },
            _ => FeedKind::Row {
                axis: 0,
                src: position.clone(),
                dst: position.clone() + DimExpr::constant(1),
                count: DimExpr::constant(1),
            },
        };
        g.feed(&name, s, kind);
        self.about(g.reduce_sum(read, &[0], false), 4.0)
    }
}
