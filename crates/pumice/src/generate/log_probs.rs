//! Log probabilities of tokens: softmax of the model's logits.

use super::request::{Token, TokenLogProb};

/// A token with its log probability and those of the most probable tokens.
pub(super) fn token(logits: &[f32], id: u32, most: usize) -> Token {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|&x| (f64::from(x) - f64::from(largest)).exp()).sum();
    let log_prob = |id: u32| {
        let logit = logits.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
        (f64::from(logit) - f64::from(largest) - sum.ln()) as f32
    };
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    let by_logit = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
    let most = most.min(ids.len());
    if most > 0 && most < ids.len() {
        ids.select_nth_unstable_by(most - 1, by_logit);
    }
    ids.truncate(most);
    ids.sort_unstable_by(by_logit);
    let likeliest = ids.into_iter().map(|id| TokenLogProb { id, log_prob: log_prob(id) }).collect();
    Token { id, log_prob: Some(log_prob(id)), likeliest }
}

#[cfg(test)]
mod tests {
    use super::token;

    #[test]
    fn probabilities_are_those_of_softmax() {
        let logits = [1.0f32, 3.0, 2.0, f32::NEG_INFINITY];
        let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
        let made = token(&logits, 2, 3);
        let p = |id: usize| (f64::from(logits[id]).exp() / sum).ln() as f32;
        assert!((made.log_prob.expect("asked for") - p(2)).abs() < 1e-6);
        let ids: Vec<u32> = made.likeliest.iter().map(|t| t.id).collect();
        assert_eq!(ids, [1, 2, 0]);
        assert!(made.likeliest.iter().all(|t| (t.log_prob - p(t.id as usize)).abs() < 1e-6));
        assert!(token(&logits, 1, 0).likeliest.is_empty());
        assert_eq!(token(&logits, 1, 9).likeliest.len(), 4);
    }
}
