//! Random convolutions and pools: one op with attributes, extents, symbols, views and dtypes drawn, and what may follow
//! it in a layer.
//!
//! In: a seed and a device. Out: nothing, or what is wrong. Never here: how results are compared.

use super::trial::{Depth, Rig};
use crate::draws::Draws;
use crate::op_suite::{Case, Outcome, Runner, kernels};
use pumice_ir::ops::average_pool::AveragePool;
use pumice_ir::ops::conv::Conv;
use pumice_ir::ops::conv_transpose::ConvTranspose;
use pumice_ir::ops::max_pool::MaxPool;
use pumice_ir::ops::min_pool::MinPool;
use pumice_ir::ops::pool_places::PoolPlaces;
use pumice_ir::ops::pool_spread::PoolSpread;
use pumice_ir::ops::sum_pool::SumPool;
use pumice_ir::shape::DimSpec;
use pumice_ir::{GraphBuilder, Sample, Value, sym, tensor};
use pumice_runtime::Device;
use pumice_types::{DType, Target};
use std::sync::Arc;

/// Products that an op may take, so that the evaluator is quick.
const MOST_WORK: u64 = 1 << 21;

/// The op of a program, without its operands.
#[derive(Clone, Debug)]
enum Drawn {
    Conv(Conv),
    Transposed(ConvTranspose),
    Max(MaxPool),
    Min(MinPool),
    Sum(SumPool),
    Average(AveragePool),
    Spread(MaxPool, Spread),
}

/// What of the values of windows goes back to the elements under them.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Sum,
    Mean,
    PaddedMean,
    Largest,
    Smallest,
}

/// A program: its op and the extents.
#[derive(Clone, Debug)]
struct Program {
    op: Drawn,
    dtype: DType,
    batch: u64,
    channels: u64,
    /// Outputs in all; of a pool, its channels.
    outputs: u64,
    groups: u64,
    extents: Vec<u64>,
    kernel: Vec<u64>,
    /// Which of batch and extents are symbols.
    symbols: Vec<bool>,
    bias: bool,
    /// Weights are an input, not a param.
    late: bool,
    /// Channels of the operand lie last in memory.
    last: bool,
    relu: bool,
    /// What is added to the result: nothing, one number for each channel, a whole tensor.
    added: u64,
}

/// What the devices of a suite are asked with.
pub struct Asked {
    /// The op alone: each sum within what its terms allow, each extremum the same bits.
    pub alone: Runner,
    /// What may stand after it in a layer, within what perturbing each result does.
    pub followed: Rig,
}

impl Asked {
    /// Of a device, or of the kernels that another one selects there.
    pub fn of(device: Arc<dyn Device>, selecting_as: Option<&Target>) -> Asked {
        match selecting_as {
            None => {
                Asked { alone: Runner::new(Arc::clone(&device), u64::MAX), followed: Rig::device(device) }
            }
            Some(other) => Asked {
                alone: Runner::selecting_as(Arc::clone(&device), other, u64::MAX),
                followed: Rig::selecting_as(device, other),
            },
        }
    }

    /// What is wrong with the program of a seed.
    ///
    /// # Errors
    /// A sentence with the program.
    pub fn try_seed(&self, seed: u64) -> Result<(), String> {
        let program = program(seed);
        let of = |why: String| format!("seed {seed}, {program:?}: {why}");
        if let Outcome::Failed(why) = self.alone.run(&Case::new("windows", program.sample(false))) {
            return Err(of(why));
        }
        if !program.is_followed() {
            return Ok(());
        }
        self.followed.try_sample(program.sample(true), Depth::Plain).map(drop).map_err(of)
    }

    /// The kernels of the plans of a seed.
    pub fn kernels(&self, seed: u64) -> Vec<String> {
        let program = program(seed);
        let samples = [Some(program.sample(false)), program.is_followed().then(|| program.sample(true))];
        let graphs = samples.into_iter().flatten().filter_map(|sample| sample.graph.ok());
        graphs.filter_map(|graph| self.alone.plan(&graph).ok()).flat_map(|plan| kernels(&plan)).collect()
    }
}

/// The program of a seed.
fn program(seed: u64) -> Program {
    let mut d = Draws(seed ^ 0x9e37_79b9_7f4a_7c15);
    loop {
        let program = draw(&mut d);
        if program.work() <= MOST_WORK {
            return program;
        }
    }
}

fn draw(d: &mut Draws) -> Program {
    let rank = d.of(&[1, 1, 2, 2, 2, 3]);
    let kind = d.below(10);
    let is_pool = kind >= 7;
    let most = [40, 13, 6][rank - 1];
    let groups = if is_pool { 1 } else { d.of(&[1, 1, 1, 1, 2, 3, 8]) };
    let (in_group, out_group) = (d.of(&[1, 1, 2, 3, 4, 16, 17, 40]), d.of(&[1, 1, 2, 4, 8, 9, 33, 70]));
    let deep = d.below(4) == 0;
    let (in_group, out_group) =
        if deep { (in_group, out_group) } else { (in_group.min(6), out_group.min(16)) };
    let kernel: Vec<u64> = (0..rank).map(|_| d.of(&[1, 2, 3, 3, 4, 5, [31, 7, 3][rank - 1]])).collect();
    let strides: Vec<u64> = (0..rank).map(|_| d.of(&[1, 1, 1, 2, 2, 3, 4, 6])).collect();
    let dilations: Vec<u64> = (0..rank).map(|_| d.of(&[1, 1, 1, 1, 1, 2, 2, 3, 8, 17])).collect();
    let reach: Vec<u64> = kernel.iter().zip(&dilations).map(|(k, d)| (k - 1) * d + 1).collect();
    // Pads of pools are smaller than the window.
    let most_pad = |axis: usize| if is_pool { (reach[axis] - 1).min(3) } else { reach[axis].min(4) };
    let pads: Vec<u64> = (0..2 * rank).map(|i| d.below(most_pad(i % rank) as usize + 1) as u64).collect();
    let mut extents: Vec<u64> = (0..rank).map(|_| 1 + d.below(most) as u64).collect();
    let transposed = kind >= 4 && !is_pool;
    let output_padding: Vec<u64> =
        (0..rank).map(|i| d.below(strides[i].max(dilations[i]) as usize).min(d.below(3)) as u64).collect();
    for (i, extent) in extents.iter_mut().enumerate() {
        // As large as the window, or with a result that the pads leave something of.
        let needed = match transposed {
            false => reach[i].saturating_sub(pads[i] + pads[rank + i]),
            true => (pads[i] + pads[rank + i] + 1).saturating_sub(reach[i]).div_ceil(strides[i]) + 1,
        };
        *extent = (*extent).max(needed).max(1);
    }
    let given = transposed && d.below(4) == 0;
    let op = match kind {
        0..4 => Drawn::Conv(Conv { strides, pads, dilations, groups, ..Conv::default() }),
        4..7 => {
            let whole = |i: usize| (extents[i] - 1) * strides[i] + reach[i] + output_padding[i];
            let output_shape =
                (0..rank).map(|i| whole(i) - d.below(whole(i) as usize).min(d.below(5)) as u64);
            let output_shape: Vec<u64> = if given { output_shape.collect() } else { Vec::new() };
            let cut_end = d.below(2) == 0;
            let (output_padding, groups) = (output_padding.clone(), groups);
            Drawn::Transposed(ConvTranspose {
                strides: strides.clone(),
                pads: if given { Vec::new() } else { pads },
                dilations,
                groups,
                output_padding,
                output_shape,
                cut_end,
                ..ConvTranspose::default()
            })
        }
        _ => {
            let (kernel, ceil_mode) = (kernel.clone(), d.below(2) == 0);
            match d.below(6) {
                0 => Drawn::Max(MaxPool { kernel, strides, pads, dilations, ceil_mode }),
                1 => Drawn::Min(MinPool { kernel, strides, pads, dilations, ceil_mode }),
                2 => Drawn::Sum(SumPool { kernel, strides, pads, dilations, ceil_mode }),
                4 | 5 => {
                    let op = MaxPool { kernel, strides, pads, dilations, ceil_mode };
                    let of =
                        [Spread::Largest, Spread::Smallest, Spread::Sum, Spread::Mean, Spread::PaddedMean];
                    Drawn::Spread(op, d.of(&of))
                }
                _ => {
                    let count_include_pad = d.below(2) == 0;
                    Drawn::Average(AveragePool {
                        kernel,
                        strides,
                        pads,
                        dilations,
                        ceil_mode,
                        count_include_pad,
                    })
                }
            }
        }
    };
    let channels = groups * in_group;
    Program {
        op,
        dtype: d.of(&[DType::F32, DType::F32, DType::F32, DType::F16, DType::BF16]),
        batch: d.of(&[0, 1, 1, 1, 2, 2, 3, 5]),
        channels,
        outputs: if is_pool { channels } else { groups * out_group },
        groups,
        symbols: (0..=rank).map(|_| d.below(5) == 0).collect(),
        extents,
        kernel,
        bias: d.below(2) == 0,
        late: d.below(5) == 0,
        last: d.below(6) == 0,
        relu: d.below(3) == 0,
        added: d.below(4) as u64,
    }
}

impl Program {
    fn work(&self) -> u64 {
        let over: u64 = match &self.op {
            Drawn::Transposed(_) => self.extents.iter().product(),
            _ => self.extents.iter().map(|n| n + 4).product(),
        };
        let taps: u64 = self.kernel.iter().product();
        let of_each = if self.is_pool() { 1 } else { self.outputs / self.groups };
        self.batch.max(1) * self.channels * of_each * over * taps
    }

    fn is_followed(&self) -> bool {
        self.dtype == DType::F32
            && !matches!(self.op, Drawn::Spread(..))
            && (self.relu || matches!(self.added, 1 | 2))
    }

    fn is_pool(&self) -> bool {
        !matches!(self.op, Drawn::Conv(_) | Drawn::Transposed(_))
    }

    fn sample(&self, followed: bool) -> Sample {
        let mut sample = Sample::graph("windows", |g| {
            let x = self.operand(g);
            let y = self.apply(g, x);
            g.output("y", if followed { self.followed(g, y) } else { y });
        });
        for (i, _) in self.symbols.iter().enumerate().filter(|s| *s.1) {
            sample = sample.bind(NAMES[i], if i == 0 { self.batch } else { self.extents[i - 1] });
        }
        sample
    }

    fn operand(&self, g: &GraphBuilder) -> Value {
        // Symbols begin at what the window needs where nothing else is known to fit.
        let dim = |i: usize, n: u64| -> DimSpec {
            if !self.symbols[i] {
                return n.into();
            }
            let least = if i == 0 { n.min(1) } else { n.min(2) };
            sym(NAMES[i], least..=n + 3)
        };
        let mut shape = vec![dim(0, self.batch), self.channels.into()];
        shape.extend(self.extents.iter().enumerate().map(|(i, n)| dim(i + 1, *n)));
        if !self.last {
            return g.input("x", tensor(self.dtype, shape));
        }
        shape[1..].rotate_left(1);
        let x = g.input("x", tensor(self.dtype, shape));
        let rank = self.extents.len() as i64;
        let order: Vec<i64> = [0, rank + 1].into_iter().chain(1..=rank).collect();
        g.transpose(x, &order)
    }

    fn apply(&self, g: &GraphBuilder, x: Value) -> Value {
        let (first, second) = match &self.op {
            Drawn::Transposed(_) => (self.channels, self.outputs / self.groups),
            _ => (self.outputs, self.channels / self.groups),
        };
        let weights = || {
            let shape = [first, second].into_iter().chain(self.kernel.iter().copied());
            let ty = tensor(self.dtype, shape);
            if self.late { g.input("w", ty) } else { g.param("w", ty) }
        };
        let bias = || self.bias.then(|| g.param("bias", tensor(self.dtype, [self.outputs])));
        match self.op.clone() {
            Drawn::Conv(op) => g.conv(x, weights(), bias(), op),
            Drawn::Transposed(op) => g.conv_transpose(x, weights(), bias(), op),
            Drawn::Max(op) => g.max_pool(x, op),
            Drawn::Min(op) => g.min_pool(x, op),
            Drawn::Sum(op) => g.sum_pool(x, op),
            Drawn::Average(op) => g.average_pool(x, op),
            Drawn::Spread(op, spread) => spread.apply(g, x, op),
        }
    }

    /// With what may stand after it in a layer.
    fn followed(&self, g: &GraphBuilder, mut y: Value) -> Value {
        if self.added == 1 {
            let ones = self.kernel.iter().map(|_| 1);
            let scale = g.param("scale", tensor(self.dtype, [self.outputs].into_iter().chain(ones)));
            y = g.mul(y, scale);
        }
        if self.added == 2 {
            y = g.add(y, g.tanh(y));
        }
        if self.relu { g.relu(y) } else { y }
    }
}

impl Spread {
    /// The largest elements of windows over x, in f32, spread over its extents.
    fn apply(self, g: &GraphBuilder, x: Value, op: MaxPool) -> Value {
        let v = g.cast(g.max_pool(x, op.clone()), DType::F32);
        let MaxPool { kernel, strides, pads, dilations, ceil_mode } = op;
        let places = |smallest| {
            let (kernel, strides) = (kernel.clone(), strides.clone());
            let (pads, dilations) = (pads.clone(), dilations.clone());
            g.pool_places(x, PoolPlaces { kernel, strides, pads, dilations, ceil_mode, smallest })
        };
        let places = match self {
            Spread::Largest => Some(places(false)),
            Spread::Smallest => Some(places(true)),
            _ => None,
        };
        let extents = g.type_of(x).map(|ty| ty.shape[2..].to_vec()).unwrap_or_default();
        let mean = matches!(self, Spread::Mean | Spread::PaddedMean);
        let count_include_pad = matches!(self, Spread::PaddedMean);
        let op = PoolSpread { kernel, strides, pads, dilations, ceil_mode, extents, mean, count_include_pad };
        g.pool_spread(v, places, op)
    }
}

/// Symbols of batch and extents.
const NAMES: [&str; 4] = ["b", "d", "h", "w"];
