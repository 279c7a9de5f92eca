//! Logits to the next token: penalties, bias, temperature, top-k, typical, top-p, min-p, one draw.
//!
//! The same seed and logits give the same token on every machine: sums have a fixed order, the exponential is our own,
//! and of two tokens with one logit the one with the smaller id comes first.

use super::error::TextError;
use super::exp::exp;
use super::penalties;
use super::random::SplitMix64;
use super::sampler::Sampler;
use std::cmp::Ordering;

/// A token that may be drawn.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    logit: f32,
    id: u32,
    /// Its probability times what is common to all.
    weight: f64,
}

/// Draws tokens by a [`Sampler`], one after the other.
#[derive(Clone, Debug)]
pub struct Draws {
    sampler: Sampler,
    random: SplitMix64,
    /// Kept between draws for their memory.
    candidates: Vec<Candidate>,
    changed: Vec<f32>,
}

impl Draws {
    /// Begins the sequence of draws that the sampler's seed gives.
    ///
    /// # Errors
    /// As [`Sampler::check`].
    pub fn new(sampler: Sampler) -> Result<Draws, TextError> {
        sampler.check()?;
        let random = SplitMix64::new(sampler.seed);
        Ok(Draws { sampler, random, candidates: Vec::new(), changed: Vec::new() })
    }

    /// Goes on with the sequence of draws where it was left: `state` is what [`Draws::state`] gave.
    ///
    /// # Errors
    /// As [`Sampler::check`].
    pub fn resume(sampler: Sampler, state: u64) -> Result<Draws, TextError> {
        Ok(Draws { random: SplitMix64::new(state), ..Draws::new(sampler)? })
    }

    /// Where the sequence of random numbers is.
    pub fn state(&self) -> u64 {
        self.random.state()
    }

    /// How tokens are chosen.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Chooses a token by its logits, one per id. Minus infinity is a token that is never chosen. `before` are the
    /// tokens of prompt and answer so far, for penalties.
    ///
    /// # Errors
    /// A logit that is NaN or plus infinity, logits that leave no token, a bias of a token that there is not. No random
    /// number is used up then.
    pub fn next(&mut self, logits: &[f32], before: &[u32]) -> Result<u32, TextError> {
        let mut best = most_probable(logits)?;
        if self.sampler.is_of_raw_logits() {
            return Ok(self.draw(logits, best));
        }
        let mut changed = std::mem::take(&mut self.changed);
        let drawn = penalties::changed(&self.sampler, logits, before, &mut changed).and_then(|()| {
            best = most_probable(&changed)?;
            Ok(self.draw(&changed, best))
        });
        self.changed = changed;
        drawn
    }

    fn draw(&mut self, logits: &[f32], best: Candidate) -> u32 {
        if self.sampler.is_greedy() {
            return best.id;
        }
        self.collect(logits);
        let Draws { sampler, candidates, .. } = self;
        keep_top_k(candidates, sampler.top_k);
        weigh(candidates, best.logit, sampler.temperature);
        keep_typical(candidates, sampler);
        keep_top_p(candidates, sampler.top_p);
        keep_min_p(candidates, sampler.min_p);
        draw(candidates, self.random.uniform()).unwrap_or(best.id)
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

/// Of those whose information, −ln p, is closest to what is expected, Σ −p ln p, the fewest that reach the share. With
/// p = eˣ/Σeˣ both have the same ln Σeˣ, so that the distance is |x − Σ p x|.
fn keep_typical(candidates: &mut Vec<Candidate>, sampler: &Sampler) {
    if sampler.typical == 1.0 {
        return;
    }
    // The order of the sums is the ids', or the likeliest first.
    let scaled = |c: &Candidate| f64::from(c.logit) / f64::from(sampler.temperature);
    let sum: f64 = candidates.iter().map(|c| c.weight).sum();
    let weighed = candidates.iter().filter(|c| c.weight > 0.0);
    let expected: f64 = weighed.map(|c| c.weight / sum * scaled(c)).sum();
    let apart = |c: &Candidate| (scaled(c) - expected).abs();
    candidates.sort_unstable_by(|a, b| apart(a).total_cmp(&apart(b)).then(order(a, b)));
    let mut reached = 0.0;
    let last = candidates.iter().position(|c| {
        reached += c.weight;
        reached >= f64::from(sampler.typical) * sum
    });
    candidates.truncate(last.map_or(candidates.len(), |last| last + 1));
}

fn keep_min_p(candidates: &mut Vec<Candidate>, min_p: f32) {
    if min_p == 0.0 {
        return;
    }
    let largest = candidates.iter().map(|c| c.weight).fold(0.0, f64::max);
    candidates.retain(|c| c.weight >= f64::from(min_p) * largest);
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
