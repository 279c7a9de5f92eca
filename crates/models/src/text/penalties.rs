//! What changes logits before anything is chosen by them: penalties of tokens that were there, and a bias.

use super::error::TextError;
use super::sampler::Sampler;
use std::collections::BTreeMap;

/// Writes the logits as a sampler changes them to `changed`. `before` are the tokens of prompt and answer.
///
/// # Errors
/// A bias of a token that has no logit.
pub(super) fn changed(
    sampler: &Sampler,
    logits: &[f32],
    before: &[u32],
    changed: &mut Vec<f32>,
) -> Result<(), TextError> {
    changed.clear();
    changed.extend_from_slice(logits);
    if sampler.has_penalties() {
        for (id, count) in counts(sampler, before) {
            // A token that the model gives no logit, as those before a change of model.
            let Some(logit) = changed.get_mut(id as usize) else { continue };
            let factor = sampler.repeat_penalty;
            *logit = if *logit > 0.0 { *logit / factor } else { *logit * factor };
            *logit -= count as f32 * sampler.frequency_penalty + sampler.presence_penalty;
        }
    }
    for &(id, bias) in &sampler.bias {
        let count = changed.len();
        let logit = changed.get_mut(id as usize).ok_or(TextError::Bias { id, count })?;
        *logit += bias;
    }
    Ok(())
}

/// How often each of the last tokens is there.
fn counts(sampler: &Sampler, before: &[u32]) -> BTreeMap<u32, usize> {
    let last = &before[before.len().saturating_sub(sampler.repeat_last_n)..];
    let mut counts = BTreeMap::new();
    last.iter().for_each(|&id| *counts.entry(id).or_default() += 1);
    counts
}
