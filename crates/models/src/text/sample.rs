//! Logits to the next token: temperature, top-k, softmax, top-p, one draw.
//!
//! The same seed and logits give the same token on every machine: sums have a fixed order, the exponential is our own,
//! and of two tokens with one logit the one with the smaller id comes first.

use super::error::TextError;
use super::exp::exp;
use super::random::SplitMix64;
use std::cmp::Ordering;

/// How tokens are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the most probable token always.
    pub temperature: f32,
    /// Only so many of the most probable tokens are drawn from; 0 is all of them.
    pub top_k: usize,
    /// Only the fewest most probable tokens are drawn from whose probability together reaches it; 1 is all of them.
    pub top_p: f32,
    /// Where the random numbers begin.
    pub seed: u64,
}

impl Default for Sampling {
    /// The most probable token always.
    fn default() -> Sampling {
        Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, seed: 0 }
    }
}

impl Sampling {
    /// Finds an option out of its range.
    pub fn check(&self) -> Result<(), TextError> {
        let wrong = |option, value, range| Err(TextError::Sampling { option, value, range });
        if !self.temperature.is_finite() || self.temperature < 0.0 {
            return wrong(
                "temperature",
                self.temperature,
                "0 (the most probable token) or a number above it",
            );
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return wrong("top_p", self.top_p, "above 0 and at most 1 (off)");
        }
        Ok(())
    }
}

/// A token that may be drawn.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    logit: f32,
    id: u32,
    /// Its probability times what is common to all.
    weight: f64,
}

/// Draws tokens, one after the other.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    random: SplitMix64,
    /// Kept between draws for its memory.
    candidates: Vec<Candidate>,
}

impl Sampler {
    /// Begins the sequence of draws that the seed gives.
    ///
    /// # Errors
    /// As [`Sampling::check`].
    pub fn new(sampling: Sampling) -> Result<Sampler, TextError> {
        sampling.check()?;
        Ok(Sampler { sampling, random: SplitMix64::new(sampling.seed), candidates: Vec::new() })
    }

    /// Draws a token by its logits, one per id. Minus infinity is a token that is never drawn.
    ///
    /// # Errors
    /// A logit that is NaN or plus infinity, and logits that leave no token. No random number is used up then.
    pub fn next(&mut self, logits: &[f32]) -> Result<u32, TextError> {
        let best = most_probable(logits)?;
        if self.sampling.temperature == 0.0 {
            return Ok(best.id);
        }
        self.collect(logits);
        keep_top_k(&mut self.candidates, self.sampling.top_k);
        weigh(&mut self.candidates, best.logit, self.sampling.temperature);
        keep_top_p(&mut self.candidates, self.sampling.top_p);
        Ok(draw(&self.candidates, self.random.uniform()).unwrap_or(best.id))
    }

    fn collect(&mut self, logits: &[f32]) {
        self.candidates.clear();
        let drawable = logits.iter().enumerate().filter(|(_, logit)| **logit > f32::NEG_INFINITY);
        self.candidates.extend(drawable.map(|(id, &logit)| Candidate { logit, id: id as u32, weight: 0.0 }));
    }
}

/// The largest logit, and that every logit is a number or minus infinity.
fn most_probable(logits: &[f32]) -> Result<Candidate, TextError> {
    let mut best = Candidate { logit: f32::NEG_INFINITY, id: 0, weight: 0.0 };
    for (token, &logit) in logits.iter().enumerate() {
        if logit.is_nan() || logit == f32::INFINITY {
            return Err(TextError::Logit { token, value: logit });
        }
        if logit > best.logit {
            best = Candidate { logit, id: token as u32, weight: 0.0 };
        }
    }
    if best.logit == f32::NEG_INFINITY {
        return Err(TextError::NoToken { count: logits.len() });
    }
    Ok(best)
}

/// The most probable first; no logit is NaN.
fn order(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.partial_cmp(&a.logit).unwrap_or(Ordering::Equal).then(a.id.cmp(&b.id))
}

fn keep_top_k(candidates: &mut Vec<Candidate>, k: usize) {
    if k == 0 || k >= candidates.len() {
        return;
    }
    candidates.select_nth_unstable_by(k - 1, order);
    candidates.truncate(k);
    // Sums must not depend on how the standard library selects.
    candidates.sort_unstable_by(order);
}

/// Softmax without its division: the weights' sum stands for one.
fn weigh(candidates: &mut [Candidate], best: f32, temperature: f32) {
    for candidate in candidates {
        let below = f64::from(candidate.logit) - f64::from(best);
        candidate.weight = exp(below / f64::from(temperature));
    }
}

/// Sorts only as far as the probability asks: of a large vocabulary that is a small part.
fn keep_top_p(candidates: &mut Vec<Candidate>, p: f32) {
    if p == 1.0 {
        return;
    }
    let needed = f64::from(p) * candidates.iter().map(|c| c.weight).sum::<f64>();
    let (mut sorted, mut width, mut reached) = (0, 64, 0.0);
    while sorted < candidates.len() {
        let end = candidates.len().min(sorted + width);
        if end < candidates.len() {
            candidates[sorted..].select_nth_unstable_by(end - sorted - 1, order);
        }
        candidates[sorted..end].sort_unstable_by(order);
        for index in sorted..end {
            reached += candidates[index].weight;
            if reached >= needed {
                candidates.truncate(index + 1);
                return;
            }
        }
        (sorted, width) = (end, width * 4);
    }
}

/// The candidate at this part of the sum of all weights.
fn draw(candidates: &[Candidate], uniform: f64) -> Option<u32> {
    let target = uniform * candidates.iter().map(|c| c.weight).sum::<f64>();
    let mut reached = 0.0;
    let hit = candidates.iter().find(|candidate| {
        reached += candidate.weight;
        reached > target
    });
    // Rounding can leave the target at the sum itself.
    hit.or_else(|| candidates.iter().rev().find(|c| c.weight > 0.0)).map(|c| c.id)
}

#[cfg(test)]
mod tests;
