//! Convolutions, pools and batch norms in random programs: over columns of rows, and over rows whose number is a
//! symbol.

use super::{Garden, Item};
use pumice_ir::Value;
use pumice_ir::ops::average_pool::AveragePool;
use pumice_ir::ops::batch_norm_training::BatchNormTraining;
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::conv_transpose::ConvTranspose;
use pumice_ir::ops::group_norm::GroupNorm;
use pumice_ir::ops::instance_norm::InstanceNorm;
use pumice_ir::ops::lp_normalization::{LengthNorm, LpNormalization};
use pumice_ir::ops::max_pool::MaxPool;
use pumice_ir::ops::mean_variance_normalization::MeanVarianceNormalization;
use pumice_ir::ops::min_pool::MinPool;
use pumice_ir::ops::pool_places::PoolPlaces;
use pumice_ir::ops::pool_spread::PoolSpread;
use pumice_ir::ops::prod_pool::ProdPool;
use pumice_ir::ops::sum_pool::SumPool;
use pumice_types::{DimExpr, Tensor};

impl Garden<'_> {
    /// x\[rows, c\] as rows of two channels, or as c channels of rows, under a window; and back.
    pub(super) fn windowed(&mut self) -> Option<Item> {
        let x = self.rows_of_heads()?;
        let (g, c, rows) = (self.g, self.width(x.value), self.ty(x.value).shape[0].clone());
        if self.below(4) == 0 {
            let columns = g.transpose(x.value, &[1, 0]);
            let seen = g.reshape_to(columns, vec![DimExpr::constant(1), DimExpr::from(c), rows.clone()]);
            let (w, bias) = (self.param(&[4, c, 3]), self.param(&[4]));
            let y = g.conv(seen, w, Some(bias), Conv { pads: vec![1, 1], ..Conv::default() });
            let back = g.reshape_to(g.relu(y), vec![DimExpr::constant(4), rows]);
            return Some(self.about(g.transpose(back, &[1, 0]), 4.0 * x.size));
        }
        let seen = g.reshape_to(x.value, vec![rows.clone(), DimExpr::constant(2), DimExpr::from(c / 2)]);
        let y = self.under_window(seen);
        let width: Option<u64> = self.ty(y).shape[1..].iter().map(DimExpr::as_extent).product();
        let flat = g.reshape_to(y, vec![rows, DimExpr::from(width?)]);
        Some(self.about(flat, 4.0 * x.size))
    }

    /// Something with a window over x\[rows, 2, n\], of at least two columns.
    fn under_window(&mut self, x: Value) -> Value {
        let g = self.g;
        let (kernel, strides) = (vec![2], vec![1 + self.below(2) as u64]);
        match self.below(12) {
            0 | 1 => self.convolved(x),
            2 => {
                let w = self.param(&[2, 2, 3]);
                let op = ConvTranspose { strides: vec![2], pads: vec![1, 1], ..ConvTranspose::default() };
                g.conv_transpose(x, w, None, op)
            }
            3 => g.max_pool(x, MaxPool { kernel, strides, pads: vec![1, 0], ..MaxPool::default() }),
            4 if self.below(2) == 0 => self.spread_again(x, kernel, strides),
            4 => g.min_pool(x, MinPool { kernel, strides, ..MinPool::default() }),
            5 if self.below(2) == 0 => g.prod_pool(x, ProdPool { kernel, strides, ..ProdPool::default() }),
            5 => g.sum_pool(x, SumPool { kernel, strides, ceil_mode: true, ..SumPool::default() }),
            6 => {
                let count_include_pad = self.below(2) == 0;
                let op = AveragePool {
                    kernel,
                    strides,
                    pads: vec![0, 1],
                    count_include_pad,
                    ..AveragePool::default()
                };
                g.average_pool(x, op)
            }
            7 => {
                let [gamma, beta, mean] = [(); 3].map(|()| self.param(&[2]));
                let variance = g.square(self.param(&[2]));
                g.batch_norm(x, gamma, beta, mean, variance, 0.1)
            }
            _ => self.normalized(x),
        }
    }

    /// Sums of windows over x\[rows, 2, n\] where these are, as means, or where other numbers are the largest. (Those
    /// are nothing rounded: places are the same everywhere.)
    fn spread_again(&mut self, x: Value, kernel: Vec<u64>, strides: Vec<u64>) -> Value {
        let (g, shape) = (self.g, self.ty(x).shape.to_vec());
        let mean = self.below(2) == 0;
        let places = (!mean).then(|| {
            let columns = shape[2].as_extent().unwrap_or(1);
            let numbers = g.expand_to(self.param(&[1, 2, columns]), shape.clone());
            let (kernel, strides) = (kernel.clone(), strides.clone());
            g.pool_places(numbers, PoolPlaces { kernel, strides, ..PoolPlaces::default() })
        });
        let (k, s) = (kernel.clone(), strides.clone());
        let v = g.sum_pool(x, SumPool { kernel: k, strides: s, ..SumPool::default() });
        let extents = shape[2..].to_vec();
        g.pool_spread(v, places, PoolSpread { kernel, strides, extents, mean, ..PoolSpread::default() })
    }

    /// x\[rows, 2, n\] by its own statistics, or those of the batch; an ε that keeps what was rounded from growing.
    fn normalized(&mut self, x: Value) -> Value {
        let g = self.g;
        let [gamma, beta] = [(); 2].map(|()| self.param(&[2]));
        match self.below(6) {
            4 => g.mean_variance_normalization(self.apart(x), MeanVarianceNormalization { axes: vec![1] }),
            5 => {
                let p = self.pick(&LengthNorm::ALL);
                g.lp_normalization(self.apart(x), LpNormalization { axis: 1, p })
            }
            0 => g.group_norm(x, gamma, beta, GroupNorm { num_groups: self.pick(&[1, 2]), epsilon: 0.1 }),
            1 => g.instance_norm(x, gamma, beta, InstanceNorm { epsilon: 0.1 }),
            2 => g.layer_norm2d(x, gamma, beta, 0.1),
            // A loop writes no state.
            _ if self.looping => g.layer_norm2d(x, gamma, beta, 0.1),
            _ => {
                let unbiased_running = self.below(2) == 0;
                let op = BatchNormTraining { epsilon: 0.1, momentum: 0.5, unbiased_running };
                let [mean, variance] = [(); 2].map(|()| {
                    let name = self.name("s");
                    g.state(&name, pumice_ir::f32([2]))
                });
                g.batch_norm_training(x, gamma, beta, mean, variance, op)
            }
        }
    }

    /// x\[rows, 2, n\] with two rows that are far from each other and from 0: what was rounded does not grow where they
    /// are divided by their deviation or length.
    fn apart(&self, x: Value) -> Value {
        let far = Tensor::new(&[-8.0f32, 8.0], &[2, 1]).expect("two elements");
        self.g.add(self.g.tanh(x), self.g.constant(far))
    }

    /// A convolution of x\[rows, 2, n\] that keeps its extents, with what may follow it in a layer.
    fn convolved(&mut self, x: Value) -> Value {
        let g = self.g;
        let groups = self.pick(&[1, 2]);
        let (w, bias) = (self.param(&[2, 2 / groups, 3]), self.param(&[2]));
        let bias = (self.below(2) == 0).then_some(bias);
        let y = g.conv(x, w, bias, Conv { pads: vec![1, 1], groups, ..Conv::default() });
        match self.below(3) {
            0 => y,
            1 => g.relu(g.add(y, x)),
            _ => g.add(x, g.tanh(y)),
        }
    }
}
