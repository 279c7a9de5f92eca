//! `Pad`.

use crate::array::Array;
use crate::eval::{Eval, EvalCx};
use crate::index::{offsets, strides};
use crate::ops::elementwise::exact;
use pumice_ir::ops::Pad;
use pumice_ir::ops::pad::PadMode;

impl Eval for Pad {
    /// Axis by axis: of every place the one it is read from, if there is one.
    fn eval(&self, cx: &EvalCx<'_>) -> Vec<Array> {
        let mut x = cx.arg(0).clone();
        let sides = self.sides(x.shape.len()).expect("inference has accepted the lists");
        for side in sides {
            let n = x.shape[side.axis] as i64;
            let mut shape = x.shape.clone();
            shape[side.axis] = (n + side.before + side.after) as u64;
            let from = (0..shape[side.axis] as i64).map(|i| source(self.mode, i - side.before, n));
            x = picked(&x, side.axis, &from.collect::<Vec<_>>(), cx.opt(1), &shape);
        }
        vec![x]
    }
    exact!();
}

/// The element that place i of an axis of n elements has; none: the value.
fn source(mode: PadMode, i: i64, n: i64) -> Option<i64> {
    match mode {
        PadMode::Constant => (0..n).contains(&i).then_some(i),
        PadMode::Edge => Some(i.clamp(0, n - 1)),
        PadMode::Wrap => Some(i.rem_euclid(n)),
        PadMode::Reflect if i < 0 => Some(-i),
        PadMode::Reflect if i >= n => Some(2 * (n - 1) - i),
        PadMode::Reflect => Some(i),
    }
}

/// Elements of x by the place along one axis, the value where there is none.
fn picked(x: &Array, axis: usize, from: &[Option<i64>], value: Option<&Array>, shape: &[u64]) -> Array {
    let (walk, own) = (strides(&x.shape), strides(shape));
    let mut base = walk.clone();
    base[axis] = 0;
    let base = offsets(shape, &base, 0);
    let source = |i: usize| {
        let place = (i as i64 / own[axis].max(1)) as usize % from.len();
        from[place].map(|at| base[i] + (at * walk[axis]) as usize)
    };
    let (to, read): (Vec<usize>, Vec<usize>) = (0..base.len()).filter_map(|i| Some((i, source(i)?))).unzip();
    let mut y = value.unwrap_or(x).gathered(shape, |_| 0);
    y.scatter(&to, x, &read);
    y
}
