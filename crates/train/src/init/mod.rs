//! First values of params: rules by name, drawn on the host.
//!
//! What a param begins as depends on its rule, its name, its extents and the seed alone: not on other params, their
//! order or the machine.

mod rule;

pub use rule::{Fan, Rule};

use crate::error::{TrainError, TrainErrors};
use crate::pattern::Pattern;
use pumice_types::Tensor;
use pumice_types::philox::Philox;
use std::collections::BTreeMap;

/// Rules by patterns of names, in which `*` stands for any characters; a pattern that is the name of a param, stars
/// included, is of that param alone. Of those that match the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Init {
    rules: Vec<(String, Rule)>,
}

impl Init {
    /// No rule yet.
    pub fn new() -> Init {
        Init::default()
    }

    /// One more rule, which counts before all others.
    #[must_use]
    pub fn rule(mut self, pattern: &str, rule: Rule) -> Init {
        self.rules.push((pattern.to_owned(), rule));
        self
    }

    /// `weight` and `bias` as linear and convolution layers of PyTorch begin: uniform within ±1/√n, n being the
    /// inputs of an output, for the bias those of the `weight` beside it. A `weight` with one axis is a norm's: ones,
    /// and zeros beside it. Embeddings are not told from linear layers: give them a rule of their own, in PyTorch
    /// [`Rule::Normal`] of deviation 1.
    pub fn torch() -> Init {
        let weight = ["weight", "*.weight"].map(|p| (p.to_owned(), Rule::LayerWeight));
        let bias = ["bias", "*.bias"].map(|p| (p.to_owned(), Rule::LayerBias));
        Init { rules: weight.into_iter().chain(bias).collect() }
    }

    /// First values of params of these names and extents, in their order, as f32.
    ///
    /// # Errors
    /// Every rule with numbers that cannot be; then every param that no rule is for, or whose rule does not fit its
    /// extents or draws what is not finite in f32.
    pub fn tensors(&self, params: &[(&str, &[u64])], seed: u64) -> Result<Vec<Tensor>, TrainErrors> {
        self.tensors_beside(params, &[], seed)
    }

    /// As [`Init::tensors`], beside others that have their values: what is drawn for a bias depends on its weight.
    ///
    /// # Errors
    /// As of [`Init::tensors`].
    pub fn tensors_beside(
        &self,
        params: &[(&str, &[u64])],
        others: &[(&str, &[u64])],
        seed: u64,
    ) -> Result<Vec<Tensor>, TrainErrors> {
        let (mut made, mut wrong) = (Vec::new(), self.mistakes());
        if !wrong.is_empty() {
            return Err(TrainErrors(wrong));
        }
        let all: BTreeMap<&str, &[u64]> = params.iter().chain(others).copied().collect();
        let names = || all.keys().copied();
        let rules: Vec<(Pattern<'_>, Rule)> =
            self.rules.iter().map(|(pattern, rule)| (Pattern::among(pattern, names()), *rule)).collect();
        for &(name, shape) in params {
            let found = rules.iter().rev().find(|(pattern, _)| pattern.matches(name));
            let rule =
                found.map(|(_, rule)| rule).ok_or_else(|| TrainError::NoRule { param: name.to_owned() });
            match rule.and_then(|rule| values(rule, &all, (name, shape), seed)) {
                Ok(tensor) => made.push(tensor),
                Err(error) => wrong.push(error),
            }
        }
        if wrong.is_empty() { Ok(made) } else { Err(TrainErrors(wrong)) }
    }

    /// Rules whose own numbers are wrong, be they of a param or not.
    fn mistakes(&self) -> Vec<TrainError> {
        let wrong = self.rules.iter().filter_map(|rule| Some((rule, rule.1.mistake()?)));
        wrong
            .map(|((pattern, rule), reason)| TrainError::Rule {
                pattern: pattern.clone(),
                rule: *rule,
                reason,
            })
            .collect()
    }
}

/// What a rule draws for one of these params.
fn values(
    rule: &Rule,
    params: &BTreeMap<&str, &[u64]>,
    (name, shape): (&str, &[u64]),
    seed: u64,
) -> Result<Tensor, TrainError> {
    let wrong = |reason: String| TrainError::Init { param: name.to_owned(), reason };
    let beside = name.strip_suffix("bias").map(|stem| format!("{stem}weight"));
    let weight = beside.and_then(|name| params.get(name.as_str()).copied());
    let draw = rule.draw(shape, weight).map_err(wrong)?;
    let count = pumice_types::tensor::element_count(shape).map_err(|e| wrong(e.to_string()))?;
    let [stream, step] = stream(name);
    let words = Philox { key: [seed as u32, (seed >> 32) as u32], stream, step };
    let values: Vec<f32> = (0..count).map(|i| draw.value(&words, i) as f32).collect();
    if values.iter().any(|value| !value.is_finite()) {
        return Err(wrong("what it draws is not finite in f32".to_owned()));
    }
    Tensor::new(&values, shape).map_err(|e| wrong(e.to_string()))
}

/// The stream of a name, and its step there, by FNV-1a in 64 bits (Fowler, Noll, Vo): of 32, two names of a large model
/// may well have the same.
fn stream(name: &str) -> [u32; 2] {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    [hash as u32, (hash >> 32) as u32]
}
