//! Nodes of random programs that change dtypes, pick rows, count, and transform.

use super::{Garden, Item};
use pumice_ir::ops::custom::WEAVE;
use pumice_ir::ops::fft::Fft;
use pumice_ir::ops::fft_chirp::FftChirp;
use pumice_ir::ops::fft_pass::FftPass;
use pumice_ir::{Fill, ValueType, i32};
use pumice_types::DType;

impl Garden<'_> {
    /// Casts of exact values: there and back they stay what they are.
    pub(super) fn convert(&mut self) -> Option<Item> {
        let g = self.g;
        let small = |i: &Item| i.exact && i.size <= 100.0;
        let x = self.find(|_, i| small(i))?;
        let from = self.ty(x.value).dtype();
        let value = match self.below(7) {
            0 => g.cast(x.value, DType::F16),
            1 => g.cast(x.value, DType::BF16),
            2 => g.cast(x.value, self.pick(&[DType::I32, DType::I64, DType::I16, DType::F32])),
            3 if from != DType::Bool => g.cast(g.abs_of(x.value, from), DType::U8),
            4 => {
                let like = self.find(|s, i| small(i) && s.ty(i.value).dtype() != DType::U8)?;
                g.cast_like(x.value, like.value)
            }
            5 if from == DType::F32 => g.bit_cast(g.bit_cast(x.value, DType::U32), DType::F32),
            _ => g.cast(x.value, DType::F32),
        };
        Some(self.exact(value, x.size))
    }

    /// Halves of exact values as whole numbers: one function rounds where another may not.
    pub(super) fn rounded(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| i.exact && i.size <= 100.0 && s.ty(i.value).dtype() == DType::F32)?;
        let halves = g.mul(x.value, g.constant_scalar(DType::F32, 0.5));
        let value = match self.below(5) {
            0 => g.floor(halves),
            1 => g.ceil(halves),
            2 => g.trunc(halves),
            3 => g.round(halves),
            _ => g.sign(halves),
        };
        Some(self.exact(value, x.size))
    }

    /// The op of a user that samples have.
    pub(super) fn woven(&mut self) -> Option<Item> {
        let g = self.g;
        let (x, y) = (self.real(), self.real());
        let ty = self.ty(x.value);
        let results = [ty.clone(), ValueType::fixed(DType::F32, &[3])];
        let made = g.custom(WEAVE, self.pick(&["", "-0.5", "0.25"]), &[x.value, y.value], results);
        let size = x.size + y.size;
        let value =
            if self.below(3) == 0 { g.add(made[0], g.reduce_max(made[1], &[0], false)) } else { made[0] };
        Some(Item { value, size: 2.0 * size, exact: false })
    }

    /// Rows of a table by ids, or of a value by constant ones.
    pub(super) fn gathered(&mut self) -> Option<Item> {
        let x = self.real();
        let c = self.width(x.value);
        let rows = self.rows();
        let (table, name) = (self.weight(&[5, c]), self.name("ids"));
        let ids = self.g.input(&name, i32([rows]));
        self.fill(&name, Fill::Range(-5, 5));
        let value = match self.below(2) {
            0 => self.g.gather(table, ids, 0),
            _ => self.g.embedding(table, ids),
        };
        Some(self.about(value, 2.0))
    }

    /// Extents and the scalar as numbers.
    pub(super) fn counted(&mut self) -> Option<Item> {
        let x = self.real();
        let g = self.g;
        let count = match self.below(2) {
            0 => g.extent(x.value, 0),
            _ => self.position,
        };
        let y = g.add(x.value, g.cast(count, DType::F32));
        Some(Item { value: y, size: x.size + 5.0, exact: false })
    }

    /// A transform, along an axis of symbolic extent the host's, and back to real numbers.
    pub(super) fn transformed(&mut self) -> Option<Item> {
        let x = self.real();
        let (g, shape) = (self.g, self.ty(x.value).shape);
        let pairs = g.unsqueeze(g.tanh(x.value), &[-1]);
        let open = shape.iter().position(|d| d.as_const().is_none());
        let axis = open.unwrap_or(shape.len().saturating_sub(1));
        let z = match shape[axis].as_const() {
            Some(n) if self.below(2) == 0 => {
                let chirp = FftChirp { length: n, extent: n, inverse: false, wrapped: self.below(2) == 0 };
                let op = FftPass { axis: axis as i64, radix: 1, ..FftPass::of(n) };
                g.fft_pass(pairs, Some(g.fft_chirp(chirp)), op)
            }
            _ => g.fft(pairs, Fft { axis: axis as i64, ..Fft::default() }),
        };
        let parts = g.split_equal(z, -1, 2);
        Some(self.about(g.tanh(g.reshape_to(g.add(parts[0], parts[1]), shape.to_vec())), 1.0))
    }
}

/// |x| of a dtype that has a sign.
trait AbsOf {
    fn abs_of(&self, x: pumice_ir::Value, dtype: DType) -> pumice_ir::Value;
}

impl AbsOf for pumice_ir::GraphBuilder {
    fn abs_of(&self, x: pumice_ir::Value, dtype: DType) -> pumice_ir::Value {
        if dtype == DType::U8 { x } else { self.abs(x) }
    }
}
