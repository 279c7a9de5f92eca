//! Unlike elements or slices, as a composition: as many results as the run finds.

use super::unique_parts::slices;
use crate::builder::{GraphBuilder, Value};

/// How unlike slices are told ([`GraphBuilder::unique`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unique {
    /// The axis along which slices are compared; none compares elements.
    pub axis: Option<i64>,
    /// Whether values ascend; else they are in the order in which they occur.
    pub sorted: bool,
}

impl Default for Unique {
    /// Elements, ascending.
    fn default() -> Unique {
        Unique { axis: None, sorted: true }
    }
}

impl GraphBuilder {
    /// Slices along an axis of which no two are equal, without an axis elements in row-major order (ONNX Unique, NumPy
    /// unique): x\[…, d, …\] → values \[…, n, …\]; i64\[n\], the place of the first slice that equals each; i64\[d\],
    /// which value each slice equals; i64\[n\], how many slices equal each. n is found while the program runs, at most
    /// d ([`extent_of`](GraphBuilder::extent_of)). Any dtype.
    ///
    /// NaN equals NaN and −0 equals 0; a value has the bits of its first slice. Sorted values ascend, slices by their
    /// first elements that differ, with NaN above infinity; others are in the order of their first places. The host
    /// computes it.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, tensor};
    /// # use pumice_types::DType;
    /// # use pumice_ir::ops::unique::Unique;
    /// let g = GraphBuilder::new("g");
    /// let words = g.input("words", tensor(DType::I64, [256]));
    /// let [kinds, _, which, counts] = g.unique(words, Unique::default());
    /// g.output("kinds", kinds);
    /// g.output("which", which);
    /// g.output("counts", counts);
    /// assert_eq!(g.build()?.symbols().found().count(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn unique(&self, x: Value, op: Unique) -> [Value; 4] {
        let types = match self.checked_operands("unique", &["x"], &[x], |_| Ok(())) {
            Ok(types) => types,
            Err(mistake) => return [mistake; 4],
        };
        let (extent, _, axis) = match slices(&types[0], op.axis) {
            Ok(slices) => slices,
            Err(e) => return [self.wrong_call("unique", e); 4],
        };
        let g = self.composition("unique");
        let largest = extent.upper(&g.symbols().unwrap_or_default());
        let [values, first, inverse, counts, count] = g.unique_parts(x, op, largest);
        let n = g.extent_of(count, 0..=largest);
        let [first, counts] = [first, counts].map(|list| g.narrow(list, 0, 0u64, n.clone()));
        [g.last().narrow(values, axis as i64, 0u64, n), first, inverse, counts]
    }
}
