//! The lines of an array of numbers along one axis: those with the same place along the axes before and after it. The
//! last axis has the parts of a number.

use crate::index::around;

/// Real or complex numbers along one axis.
pub struct Lines {
    /// Lines' places along the axes before.
    outer: usize,
    /// Numbers of a line.
    pub rows: usize,
    /// Lines' places along the axes after it, without the parts.
    inner: usize,
    /// 1 for real numbers, 2 for complex ones.
    parts: usize,
}

impl Lines {
    /// Of an array of that shape, along an axis before the last.
    pub fn of(shape: &[u64], axis: usize) -> Lines {
        let (outer, rows, after) = around(shape, axis);
        let parts = shape.last().map_or(1, |&parts| parts as usize);
        Lines { outer, rows, inner: after / parts.max(1), parts }
    }

    /// Elements of the array.
    pub fn len(&self) -> usize {
        self.outer * self.rows * self.inner * self.parts
    }

    /// Every line, by its places before and after the axis.
    pub fn all(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (outer, inner) = (self.outer, self.inner);
        (0..outer).flat_map(move |o| (0..inner).map(move |i| (o, i)))
    }

    /// Where number `r` of a line begins.
    fn at(&self, (outer, inner): (usize, usize), r: usize) -> usize {
        ((outer * self.rows + r) * self.inner + inner) * self.parts
    }

    /// Number `r` of a line, real part first.
    pub fn read(&self, values: &[f64], line: (usize, usize), r: usize) -> (f64, f64) {
        let at = self.at(line, r);
        (values[at], if self.parts == 2 { values[at + 1] } else { 0.0 })
    }

    /// Sets number `r` of a line, of real ones to its real part.
    pub fn write(&self, values: &mut [f64], line: (usize, usize), r: usize, z: (f64, f64)) {
        let at = self.at(line, r);
        values[at] = z.0;
        if self.parts == 2 {
            values[at + 1] = z.1;
        }
    }
}
