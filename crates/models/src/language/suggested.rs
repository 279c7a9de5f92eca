//! How a model's makers suggest to choose its tokens: `generation_config.json` of a folder, `general.sampling.*` of a
//! GGUF file.

use crate::error::ModelError;
use crate::text::Sampler;
use serde_json::Value;

/// Suggestions, those that there are.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SuggestedSampling {
    /// What logits are divided by.
    pub temperature: Option<f32>,
    /// Tokens to draw from.
    pub top_k: Option<usize>,
    /// Probability of the tokens to draw from, together.
    pub top_p: Option<f32>,
    /// Least share of the largest probability.
    pub min_p: Option<f32>,
    /// Probability of typical tokens, together.
    pub typical: Option<f32>,
    /// What logits of tokens that were there are divided by.
    pub repeat_penalty: Option<f32>,
}

/// What a `generation_config.json` and a GGUF file call them.
const NAMES: [[&str; 2]; 6] = [
    ["temperature", "general.sampling.temp"],
    ["top_k", "general.sampling.top_k"],
    ["top_p", "general.sampling.top_p"],
    ["min_p", "general.sampling.min_p"],
    ["typical_p", "general.sampling.typical_p"],
    ["repetition_penalty", "general.sampling.penalty_repeat"],
];

/// Whether a key of a GGUF file is one of them.
pub(super) fn is_name(key: &str) -> bool {
    NAMES.iter().any(|[_, file]| *file == key)
}

impl SuggestedSampling {
    /// Of what stands under the file's names, as JSON; null is nothing. `which` is 0 for a `generation_config.json`, 1
    /// for a GGUF file; `wrong` makes the error of what cannot be.
    ///
    /// # Errors
    /// Those of `wrong`: what is no number, or out of its range.
    pub(super) fn read(
        which: usize,
        value: impl Fn(&str) -> Value,
        wrong: impl Fn(&str, String) -> ModelError,
    ) -> Result<SuggestedSampling, ModelError> {
        let number = |i: usize| match value(NAMES[i][which]) {
            Value::Null => Ok(None),
            other => match other.as_f64() {
                Some(x) => Ok(Some(x)),
                None => Err(wrong(NAMES[i][which], format!("is {other}, not a number"))),
            },
        };
        let of = |i: usize| -> Result<Option<f32>, ModelError> { Ok(number(i)?.map(|x| x as f32)) };
        let top_k = match number(1)? {
            Some(k) if k.fract() != 0.0 => {
                return Err(wrong(NAMES[1][which], format!("is {k}, not a whole number")));
            }
            // -1 and 0 stand for all.
            k => k.map(|k| k.max(0.0) as usize),
        };
        let suggested = SuggestedSampling {
            temperature: of(0)?,
            top_k,
            top_p: of(2)?,
            min_p: of(3)?,
            typical: of(4)?,
            repeat_penalty: of(5)?,
        };
        let field = |option: &str| {
            let i =
                ["temperature", "top_k", "top_p", "min_p", "typical"].iter().position(|name| *name == option);
            NAMES[i.unwrap_or(5)][which]
        };
        match suggested.sampler(Sampler::default()).check() {
            Err(crate::text::TextError::Sampling { option, value, range }) => {
                Err(wrong(field(option), format!("is {value}; it must be {range}")))
            }
            _ => Ok(suggested),
        }
    }

    /// A sampler with these in place of its own.
    #[must_use]
    pub fn sampler(&self, mut sampler: Sampler) -> Sampler {
        let set = |own: &mut f32, given: Option<f32>| *own = given.unwrap_or(*own);
        set(&mut sampler.temperature, self.temperature);
        set(&mut sampler.top_p, self.top_p);
        set(&mut sampler.min_p, self.min_p);
        set(&mut sampler.typical, self.typical);
        set(&mut sampler.repeat_penalty, self.repeat_penalty);
        sampler.top_k = self.top_k.unwrap_or(sampler.top_k);
        sampler
    }

    /// Whether nothing is suggested.
    pub fn is_empty(&self) -> bool {
        *self == SuggestedSampling::default()
    }
}

impl std::fmt::Display for SuggestedSampling {
    /// `temperature 0.7, top-p 0.8`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |name: &str, x: Option<f32>| x.map(|x| format!("{name} {x}"));
        let all = [
            number("temperature", self.temperature),
            self.top_k.map(|k| format!("top-k {k}")),
            number("top-p", self.top_p),
            number("min-p", self.min_p),
            number("typical", self.typical),
            number("repeat penalty", self.repeat_penalty),
        ];
        f.write_str(&all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}
