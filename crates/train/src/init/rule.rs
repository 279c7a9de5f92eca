//! What a rule draws for a param of these extents.

use crate::held::{in_f32, shown};
use pumice_types::philox::Philox;

/// Which of a param's connections are counted: of \[out, in, k…\] the inputs of an output are in·k…, the outputs of an
/// input out·k….
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fan {
    /// Inputs of an output, so that values keep their size.
    #[default]
    In,
    /// Outputs of an input, so that gradients do.
    Out,
}

/// How a param begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
    /// All this number.
    Constant(f64),
    /// Uniform from the one to below the other.
    Uniform(f64, f64),
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Deviation.
        deviation: f64,
    },
    /// Uniform with deviation gain/√fan (He et al. 2015): gain √2 before a relu.
    KaimingUniform {
        /// What the deviation is multiplied by.
        gain: f64,
        /// Which connections count.
        fan: Fan,
    },
    /// As [`Rule::KaimingUniform`], normal.
    KaimingNormal {
        /// What the deviation is multiplied by.
        gain: f64,
        /// Which connections count.
        fan: Fan,
    },
    /// Uniform with deviation gain·√(2/(inputs + outputs)) (Glorot, Bengio 2010).
    XavierUniform {
        /// What the deviation is multiplied by.
        gain: f64,
    },
    /// As [`Rule::XavierUniform`], normal.
    XavierNormal {
        /// What the deviation is multiplied by.
        gain: f64,
    },
    /// As PyTorch's linear and convolution layers: uniform within ±1/√inputs; ones where there is one axis, as of a
    /// norm.
    LayerWeight,
    /// The same of the bias beside such a weight, by the weight's inputs; zeros beside one with one axis.
    LayerBias,
}

/// A distribution.
#[derive(Clone, Copy)]
pub(super) enum Draw {
    Constant(f64),
    Uniform(f64, f64),
    Normal(f64, f64),
}

impl Draw {
    /// Element `i`.
    pub(super) fn value(&self, words: &Philox, i: u64) -> f64 {
        match *self {
            Draw::Constant(value) => value,
            Draw::Uniform(low, high) => low + (high - low) * words.uniform(i),
            Draw::Normal(mean, deviation) => mean + deviation * words.normal(i),
        }
    }

    /// Uniform around 0 with this deviation.
    fn even(deviation: f64) -> Draw {
        let bound = 3f64.sqrt() * deviation;
        Draw::Uniform(-bound, bound)
    }
}

impl Rule {
    /// What is wrong with its numbers, whatever the param.
    pub(super) fn mistake(&self) -> Option<String> {
        match *self {
            Rule::Zeros | Rule::Ones | Rule::LayerWeight | Rule::LayerBias => None,
            Rule::Constant(value) => infinite("the number", value),
            Rule::Uniform(low, high) => {
                let falls = (high < low).then(|| format!("it ends at {}, below its begin", shown(high)));
                infinite("the begin", low).or_else(|| infinite("the end", high)).or(falls)
            }
            Rule::Normal { mean, deviation } => {
                infinite("the mean", mean).or_else(|| below_zero("the deviation", deviation))
            }
            Rule::KaimingUniform { gain, .. }
            | Rule::KaimingNormal { gain, .. }
            | Rule::XavierUniform { gain }
            | Rule::XavierNormal { gain } => below_zero("the gain", gain),
        }
    }

    /// What is drawn for these extents; `weight` are those of the weight beside a bias.
    pub(super) fn draw(&self, shape: &[u64], weight: Option<&[u64]>) -> Result<Draw, String> {
        Ok(match *self {
            Rule::Zeros => Draw::Constant(0.0),
            Rule::Ones => Draw::Constant(1.0),
            Rule::Constant(value) => Draw::Constant(value),
            Rule::Uniform(low, high) => Draw::Uniform(low, high),
            Rule::Normal { mean, deviation } => Draw::Normal(mean, deviation),
            Rule::KaimingUniform { gain, fan } => Draw::even(gain / fan_of(shape, fan)?.sqrt()),
            Rule::KaimingNormal { gain, fan } => Draw::Normal(0.0, gain / fan_of(shape, fan)?.sqrt()),
            Rule::XavierUniform { gain } => Draw::even(xavier(shape, gain)?),
            Rule::XavierNormal { gain } => Draw::Normal(0.0, xavier(shape, gain)?),
            Rule::LayerWeight if shape.len() == 1 => Draw::Constant(1.0),
            Rule::LayerWeight => within(shape)?,
            Rule::LayerBias => match weight {
                Some([_]) => Draw::Constant(0.0),
                Some(weight) => within(weight)?,
                None => return Err("there is no `weight` beside it".to_owned()),
            },
        })
    }
}

/// That a number is not finite in f32.
fn infinite(name: &str, number: f64) -> Option<String> {
    let is_finite = in_f32(number).is_finite();
    (!is_finite).then(|| format!("{name} is {}, which is not finite in f32", shown(number)))
}

/// That a number is below 0, or not finite in f32.
fn below_zero(name: &str, number: f64) -> Option<String> {
    let is_below = number < 0.0;
    infinite(name, number).or_else(|| is_below.then(|| format!("{name} is {}, below 0", shown(number))))
}

/// Within ±1/√inputs.
fn within(weight: &[u64]) -> Result<Draw, String> {
    let bound = 1.0 / fan_of(weight, Fan::In)?.sqrt();
    Ok(Draw::Uniform(-bound, bound))
}

/// gain·√(2/(inputs + outputs)).
fn xavier(shape: &[u64], gain: f64) -> Result<f64, String> {
    Ok(gain * (2.0 / (fan_of(shape, Fan::In)? + fan_of(shape, Fan::Out)?)).sqrt())
}

/// How many connections count; 1 of a param without elements.
fn fan_of(shape: &[u64], fan: Fan) -> Result<f64, String> {
    let [out, input, window @ ..] = shape else {
        return Err(format!("connections are those of two axes or more, it has {}", shape.len()));
    };
    let of = match fan {
        Fan::In => input,
        Fan::Out => out,
    };
    Ok(window.iter().fold(*of as f64, |n, &k| n * k as f64).max(1.0))
}
