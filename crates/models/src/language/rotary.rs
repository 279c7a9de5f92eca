//! Rotary settings, which transformers 4 and 5 spell differently: `rope_theta` and `rope_scaling` beside each other, or
//! `rope_parameters`. Formulas: Hugging Face, `modeling_rope_utils`; YaRN (Peng et al. 2023).

use super::keys::Keys;
use crate::decoder::{Factors, Growth, Rotation};
use crate::error::ModelError;
use pumice_ir::FloatRange;
use std::f64::consts::TAU;

/// How many elements of a head rotate, which GGUF files count; a `config.json` has their share, and no such key.
pub(super) const ROTATED: &str = "rotated elements";

/// How a family writes positions where the file does not say.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Whether neighbours rotate as pairs.
    pub interleaved: bool,
    /// Base of the angles.
    pub theta: f64,
    /// Share of a head that rotates.
    pub share: f64,
}

impl Style {
    /// Halves of the whole head, of base 10,000.
    pub const HALVES: Style = Style { interleaved: false, theta: 10_000.0, share: 1.0 };
    /// Neighbours, likewise.
    pub const PAIRS: Style = Style { interleaved: true, ..Style::HALVES };
}

/// What rotary positions are of.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Width of a head.
    pub width: u64,
    /// Tokens that the model takes.
    pub trained: u64,
    /// Tokens that the caches hold.
    pub planned: u64,
}

/// Rotary positions of a layer.
pub(crate) struct Rotary {
    pub rotation: Rotation,
    /// Factor of queries by position, which is one of these settings.
    pub growth: Option<Growth>,
}

/// The settings of a model, in which all layers rotate alike.
///
/// # Errors
/// A kind that is not known, numbers that are missing or not in range.
pub(crate) fn rotary(keys: &Keys<'_>, sizes: Sizes, style: Style) -> Result<Rotary, ModelError> {
    let parameters = keys.object("rope_parameters")?;
    of_object(keys, parameters.as_ref(), sizes, style)
}

/// The settings of one kind of layer, where each kind has its own; none where the file has one for all.
///
/// # Errors
/// As [`rotary`].
pub(crate) fn rotary_of_kind(
    keys: &Keys<'_>,
    kind: &str,
    sizes: Sizes,
    style: Style,
) -> Result<Option<Rotary>, ModelError> {
    let Some(kinds) = keys.object("rope_parameters")? else { return Ok(None) };
    let Some(own) = kinds.object(kind)? else { return Ok(None) };
    Ok(Some(of_object(keys, Some(&own), sizes, style)?))
}

/// Settings under `rope_parameters`, or beside each other.
fn of_object<'k>(
    keys: &Keys<'k>,
    parameters: Option<&Keys<'k>>,
    sizes: Sizes,
    style: Style,
) -> Result<Rotary, ModelError> {
    let scaling = keys.object("rope_scaling")?;
    if parameters.is_some() && scaling.is_some() && keys.get("rope_scaling") != keys.get("rope_parameters") {
        let problem = "stands beside `rope_parameters` and says something else";
        return Err(keys.wrong("rope_scaling", problem, "leave the one that holds"));
    }
    let place = parameters.or(scaling.as_ref());
    let number = |key: &str, otherwise: f64| -> Result<f64, ModelError> {
        let own = place.map_or(Ok(None), |place| place.number(key, FloatRange::POSITIVE))?;
        let beside = keys.number(key, FloatRange::POSITIVE)?;
        Ok(own.or(beside).unwrap_or(otherwise))
    };
    let (theta, share) = (number("rope_theta", style.theta)?, number("partial_rotary_factor", style.share)?);
    let rotated = rotated(keys, sizes.width, share)?;
    let mut rotation = Rotation::new(theta as f32, rotated, style.interleaved);
    let Some(place) = place else { return Ok(Rotary { rotation, growth: None }) };
    // Older files call it `type`, and some have both.
    let (kind, older) = (place.text("rope_type")?, place.text("type")?);
    let frequencies = Frequencies { theta, rotated, sizes };
    match kind.or(older).unwrap_or("default") {
        "default" => {}
        "linear" => rotation.freq_scale = (1.0 / required(place, "factor")?) as f32,
        "llama3" => rotation.factors = frequencies.llama3(place)?,
        "yarn" => frequencies.yarn(place, &mut rotation)?,
        "longrope" | "su" => frequencies.long(keys, place, &mut rotation)?,
        other => {
            let remedy = "default, linear, llama3, yarn and longrope are supported";
            return Err(place.wrong("rope_type", format!("is \"{other}\""), remedy));
        }
    }
    let growth = growth(place)?;
    place.refuse_others(IGNORED)?;
    Ok(Rotary { rotation, growth })
}

/// How many elements of a head rotate: as many as are counted, else this share of them.
fn rotated(keys: &Keys<'_>, width: u64, share: f64) -> Result<u64, ModelError> {
    let (key, rotated, is_more) = match keys.count_if_any(ROTATED)? {
        Some(counted) => (ROTATED, counted, counted > width),
        None => ("partial_rotary_factor", (width as f64 * share) as u64, share > 1.0),
    };
    if is_more || !rotated.is_multiple_of(2) {
        let problem = format!("makes {rotated} of {width} elements of a head rotate, which must be even");
        return Err(keys.wrong(key, problem, "use another model"));
    }
    Ok(rotated)
}

/// What else the settings may have.
const IGNORED: &[(&str, &str)] = &[
    ("max_position_embeddings", "the context of the model counts"),
    ("original_max_position_embeddings", "the context before scaling, where the kind does not use it"),
];

fn required(place: &Keys<'_>, key: &str) -> Result<f64, ModelError> {
    let given = place.number(key, FloatRange::POSITIVE)?;
    given.ok_or_else(|| place.wrong(key, "is missing", "get the file again from where the model comes from"))
}

fn growth(place: &Keys<'_>) -> Result<Option<Growth>, ModelError> {
    let Some(beta) = place.number("llama_4_scaling_beta", FloatRange::FINITE)?.filter(|beta| *beta != 0.0)
    else {
        return Ok(None);
    };
    let original = place.count("original_max_position_embeddings")?;
    Ok(Some(Growth { beta: beta as f32, original }))
}

/// The frequencies of pairs: θ^(−2i/rotated).
struct Frequencies {
    theta: f64,
    rotated: u64,
    sizes: Sizes,
}

impl Frequencies {
    fn all(&self) -> impl Iterator<Item = f64> {
        let rotated = self.rotated as f64;
        (0..self.rotated / 2).map(move |i| self.theta.powf(-2.0 * i as f64 / rotated))
    }

    /// Llama 3.1: frequencies that turn seldom within the original context are divided by a factor, those that turn
    /// often stay, and between them there is a ramp.
    fn llama3(&self, place: &Keys<'_>) -> Result<Factors, ModelError> {
        let [factor, low, high, original] =
            ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]
                .map(|key| required(place, key));
        let (factor, low, high, original) = (factor?, low?, high?, original?);
        if low >= high {
            let problem = format!("is {low}, not below high_freq_factor = {high}");
            return Err(place.wrong("low_freq_factor", problem, "use another model"));
        }
        let of_pair = |frequency: f64| {
            let turns = original * frequency / TAU;
            let stays = ((turns - low) / (high - low)).clamp(0.0, 1.0);
            1.0 / ((1.0 - stays) / factor + stays)
        };
        Ok(Factors::Given(self.all().map(|frequency| of_pair(frequency) as f32).collect()))
    }

    /// YaRN, with its magnitude.
    fn yarn(&self, place: &Keys<'_>, rotation: &mut Rotation) -> Result<(), ModelError> {
        let original = required(place, "original_max_position_embeddings")?;
        let factor = match place.number("factor", FloatRange::POSITIVE)? {
            Some(factor) => factor,
            None => self.sizes.trained as f64 / original,
        };
        let or = |key: &str, otherwise: f64| -> Result<f64, ModelError> {
            Ok(place.number(key, FloatRange::POSITIVE)?.unwrap_or(otherwise))
        };
        let (fast, slow) = (or("beta_fast", 32.0)?, or("beta_slow", 1.0)?);
        let (rotated, pairs) = (self.rotated as f64, self.rotated / 2);
        let pair_of = |turns: f64| rotated * (original / (turns * TAU)).ln() / (2.0 * self.theta.ln());
        let (mut low, mut high) = (pair_of(fast), pair_of(slow));
        if place.flag("truncate", true)? {
            (low, high) = (low.floor(), high.ceil());
        }
        let (low, mut high) = (low.max(0.0), high.min(rotated - 1.0));
        if low == high {
            high += 0.001;
        }
        let of_pair = |i: u64| {
            let scaled = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
            1.0 / (scaled / factor + 1.0 - scaled)
        };
        rotation.factors = Factors::Given((0..pairs).map(|i| of_pair(i) as f32).collect());
        rotation.magnitude = yarn_magnitude(place, factor)?;
        Ok(())
    }

    /// LongRoPE: factors of short contexts or of long ones, by the context that is planned for, and a magnitude.
    fn long(&self, keys: &Keys<'_>, place: &Keys<'_>, rotation: &mut Rotation) -> Result<(), ModelError> {
        let beside = keys.count_if_any("original_max_position_embeddings")?;
        let own = place.count_if_any("original_max_position_embeddings")?.or(beside);
        let original = own.map_or_else(|| place.count("original_max_position_embeddings"), Ok)?;
        let ratio = self.sizes.trained as f64 / original as f64;
        let factor = place.number("factor", FloatRange::POSITIVE)?.unwrap_or(ratio);
        let mut lists = [None, None];
        for (list, key) in lists.iter_mut().zip(["short_factor", "long_factor"]) {
            let factors = place.numbers(key, FloatRange::POSITIVE)?;
            let factors = factors.ok_or_else(|| place.wrong(key, "is missing", "use another model"))?;
            if factors.len() as u64 != self.rotated / 2 {
                let problem = format!("has {} numbers, and {} pairs rotate", factors.len(), self.rotated / 2);
                return Err(place.wrong(key, problem, "use another model"));
            }
            *list = Some(factors.into_iter().map(|x| x as f32).collect());
        }
        let [short, long]: [Option<Vec<f32>>; 2] = lists;
        let chosen = if self.sizes.planned > original { long } else { short };
        rotation.factors = chosen.map_or(Factors::None, Factors::Given);
        let by_context =
            if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / (original as f64).ln()).sqrt() };
        let own = place.number("attention_factor", FloatRange::POSITIVE)?;
        rotation.magnitude = own.unwrap_or(by_context) as f32;
        Ok(())
    }
}

/// The magnitude of YaRN for a context that is `factor` times the original one.
fn yarn_magnitude(place: &Keys<'_>, factor: f64) -> Result<f32, ModelError> {
    let magnitude = |scale: f64| if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 };
    let [one, all] = ["mscale", "mscale_all_dim"].map(|key| place.number(key, FloatRange::FINITE));
    let own = place.number("attention_factor", FloatRange::POSITIVE)?;
    let computed = match (one?, all?) {
        (Some(one), Some(all)) if one != 0.0 && all != 0.0 => magnitude(one) / magnitude(all),
        _ => magnitude(1.0),
    };
    Ok(own.unwrap_or(computed) as f32)
}
