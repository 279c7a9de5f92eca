//! Nodes of random programs that sort, cumulate, and scatter what is sorted.

use super::{Garden, Item};
use pumice_ir::ops::arg_sort_runs::ArgSortRuns;
use pumice_ir::ops::cum_prod::CumProd;
use pumice_ir::ops::cum_sum::CumSum;
use pumice_ir::ops::distances::Metric;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::ops::scan_runs::ScanRuns;
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::scatter_places::ScatterPlaces;
use pumice_ir::ops::search_sorted::SearchSorted;
use pumice_ir::ops::tensor_scatter::TensorScatter;
use pumice_ir::{Fill, Value, tensor};
use pumice_types::{DType, Tensor};

impl Garden<'_> {
    pub(super) fn ordered(&mut self) -> Option<Item> {
        match self.below(7) {
            0 | 5 => self.sorted(),
            6 => self.found(),
            1 => self.cumulated(),
            2 => self.scattered_rows(),
            3 => self.recurrent(),
            _ => self.placed_rows(),
        }
    }

    /// Of exact values, where they are in order; of others the values alone, which do not jump where two are alike.
    fn sorted(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| s.ty(i.value).rank() > 0 && s.ty(i.value).dtype() != DType::Bool)?;
        let c = self.width(x.value);
        let (k, largest) = (1 + self.below(c as usize) as u64, self.below(2) == 0);
        if !x.exact {
            let (values, _) = if self.below(2) == 0 {
                g.sort(x.value, -1, largest)
            } else {
                g.top_k(x.value, k, -1, largest)
            };
            return Some(Item { value: values, ..x });
        }
        let value = match self.below(6) {
            5 => return Some(self.searched(x.value, largest)),
            0 => g.arg_sort(x.value, -1, largest),
            1 => g.arg_top_k(x.value, k, -1, largest),
            2 => g.top_k(x.value, k, -1, largest).0,
            _ => {
                let (sorted, keep) = (0, None);
                let op = ArgSortRuns {
                    axis: -1,
                    run: 4,
                    sorted,
                    keep,
                    whole: false,
                    largest,
                    index_dtype: DType::I32,
                };
                g.arg_sort_runs(x.value, None, op)
            }
        };
        Some(self.exact(value, x.size.max(c as f64)))
    }

    /// Where elements would stand among a few numbers.
    fn searched(&mut self, x: Value, right: bool) -> Item {
        let (g, dtype) = (self.g, self.ty(x).dtype());
        let sorted = if self.below(2) == 0 {
            let name = self.name("sorted");
            self.fill(&name, Fill::Range(-4, 5));
            g.sort(g.param(&name, tensor(dtype, [7])), 0, false).0
        } else {
            g.cast(g.range(0u64, 3u64, 1, DType::I32), dtype)
        };
        self.exact(g.search_sorted(sorted, x, SearchSorted { right, ..SearchSorted::default() }), 7.0)
    }

    /// The sum of as many first rows as exact numbers are positive: an extent that the run finds.
    pub(super) fn found_rows(&mut self) -> Option<Item> {
        let g = self.g;
        let counted = self.find(|s, i| i.exact && i.size <= 100.0 && s.ty(i.value).dtype() == DType::F32)?;
        let rows = |s: &Self, i: &Item| {
            let ty = s.ty(i.value);
            ty.dtype() == DType::F32 && ty.rank() == 2 && ty.shape[0].as_extent().is_some_and(|n| n > 0)
        };
        let x = self.find(rows)?;
        let most = self.ty(x.value).shape[0].as_extent()?;
        let axes: Vec<i64> = (0..self.ty(counted.value).rank() as i64).collect();
        let positive = g.greater(counted.value, g.constant_scalar(DType::F32, 0.0));
        let count = g.reduce_sum(g.cast(positive, DType::I32), &axes, false);
        let few = g.min(&[count, g.constant_scalar(DType::I32, most as f64)]);
        self.finds = true;
        let first = |count: Value| g.narrow(x.value, 0, 0u64, g.extent_of(count, 0..=most));
        let rows = match self.below(4) {
            // As many by another count.
            0 | 1 => g.max(&[first(few), first(g.max(&[few, g.constant_scalar(DType::I32, 0.0)]))]),
            2 if self.depth < 2 => g.join_branches(&self.choice()?, first(few), x.value),
            _ => first(few),
        };
        let sum = g.reduce_sum(rows, &[0], false);
        Some(self.about(sum, most as f64 * x.size))
    }

    fn cumulated(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let (exclusive, reverse) = (self.below(2) == 0, self.below(2) == 0);
        let axis = if self.ty(x.value).rank() > 1 && self.below(2) == 0 { -2 } else { -1 };
        let (value, size) = match self.below(4) {
            0 | 1 => (g.cum_sum(x.value, CumSum { axis, exclusive, reverse }), 8.0 * x.size),
            2 => (g.cum_prod(g.tanh(x.value), CumProd { axis, exclusive, reverse }), 1.0),
            _ => {
                let op = ScanRuns { axis, run: 2, product: false, exclusive, reverse, totals: false };
                (g.scan_runs(x.value, None, op), 2.0 * x.size)
            }
        };
        Some(self.about(value, size))
    }

    /// Rows of a matrix added where indices say, as one op and by its parts.
    fn scattered_rows(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.find(|s, i| {
            let ty = s.ty(i.value);
            ty.dtype() == DType::F32 && ty.rank() == 2 && ty.shape[0].as_const() == Some(3)
        })?;
        let x = self.calm(x);
        let rows: Vec<i32> = (0..3).map(|_| self.below(4) as i32).collect();
        let indices = g.constant(Tensor::new(&rows, &[3]).ok()?);
        if self.below(2) == 0 {
            return Some(self.about(g.scatter_add(x.value, indices, 4), 3.0 * x.size));
        }
        let zeros = g.scatter_add(x.value, indices, 4);
        let tuples = g.unsqueeze(indices, &[1]);
        let extents = self.ty(zeros).shape.to_vec();
        let places = g.scatter_places(tuples, ScatterPlaces { extents, elements: false, axis: 0 });
        let order = g.cast(g.arg_sort(places, 0, false), DType::I32);
        let places = g.gather_elements(places, order, 0);
        let add = ScatterReduction::Add;
        let first = g.scatter_partials(places, x.value, Some(order), add, 1);
        let value = g.scatter_sorted([zeros, places, order, x.value], [Some(first), None], add);
        Some(self.about(value, 6.0 * x.size))
    }

    /// The last two columns put where a position says; distances of rows.
    fn placed_rows(&mut self) -> Option<Item> {
        let g = self.g;
        let x = self.real();
        let c = self.width(x.value);
        if self.below(2) == 0 && self.ty(x.value).rank() == 2 && c <= 16 {
            let metric = [Metric::SquaredEuclidean, Metric::Manhattan][self.below(2)];
            let p = self.param(&[4, c]);
            return Some(self.about(g.pairwise_distance(x.value, p, metric), 8.0 * x.size.max(3.0)));
        }
        let rows = g.narrow(x.value, -1, 0u64, c.min(2));
        let pos = g.constant_scalar(DType::I32, self.below(9) as f64);
        let op = TensorScatter { axis: -1, mode: AppendMode::Circular };
        Some(Item { value: g.tensor_scatter(x.value, rows, Some(pos), op), ..x })
    }
}
