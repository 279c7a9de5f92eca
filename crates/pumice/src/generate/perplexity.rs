//! Perplexity of a text as llama.cpp's `llama-perplexity` takes it: windows that do not overlap, of each the second
//! half scored, so that every scored token has half a window of text before it.

use super::Scorer;
use crate::error::Error;

/// How surprised a model is by tokens: e to the mean of -ln p.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Perplexity {
    tokens: usize,
    sum: f64,
    squares: f64,
}

impl Perplexity {
    /// Adds what a window's second half came to.
    ///
    /// # Errors
    /// Those of [`Scorer::log_probs`].
    pub fn add_window(&mut self, scorer: &mut Scorer, window: &[u32]) -> Result<(), Error> {
        self.add(&scorer.log_probs(window, first_scored(window.len()))?);
        Ok(())
    }

    /// Adds log probabilities of tokens.
    pub fn add(&mut self, log_probs: &[f32]) {
        self.tokens += log_probs.len();
        for &p in log_probs {
            let surprise = -f64::from(p);
            self.sum += surprise;
            self.squares += surprise * surprise;
        }
    }

    /// Tokens that were scored.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The perplexity; NaN where nothing was scored.
    pub fn value(&self) -> f64 {
        self.mean().exp()
    }

    /// Its standard error, as if tokens were independent: that of the mean, times the perplexity. None of fewer than
    /// two tokens.
    pub fn standard_error(&self) -> Option<f64> {
        if self.tokens < 2 {
            return None;
        }
        let n = self.tokens as f64;
        let variance = (self.squares / n - self.mean() * self.mean()).max(0.0);
        Some((variance / (n - 1.0)).sqrt() * self.value())
    }

    fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }
}

/// The first token of a window that is scored: the one after its first half and one more, as llama.cpp has it.
fn first_scored(window: usize) -> usize {
    window / 2 + 1
}

/// Windows of a text, whole ones alone; each begins with `before`, the tokens before every prompt, in place of what the
/// text has there.
pub fn perplexity_windows<'w>(
    ids: &'w [u32],
    size: usize,
    before: &'w [u32],
) -> impl ExactSizeIterator<Item = Vec<u32>> + 'w {
    ids.chunks_exact(size.max(1)).map(move |window| {
        let mut window = window.to_vec();
        window.iter_mut().zip(before).for_each(|(id, &first)| *id = first);
        window
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_with_what_stands_before_prompts() {
        let ids: Vec<u32> = (0..10).collect();
        let all: Vec<Vec<u32>> = perplexity_windows(&ids, 4, &[99]).collect();
        assert_eq!(all, [[99, 1, 2, 3], [99, 5, 6, 7]]);
        assert_eq!(perplexity_windows(&ids, 5, &[]).next(), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(
            (perplexity_windows(&ids, 11, &[1]).len(), first_scored(512), first_scored(4)),
            (0, 257, 3)
        );
    }

    /// Of probabilities 1/2 and 1/8 the perplexity is 4; the deviation of ln 2 and ln 8 is ln 2.
    #[test]
    fn the_mean_is_that_of_logarithms() {
        let mut perplexity = Perplexity::default();
        assert!(perplexity.value().is_nan());
        perplexity.add(&[0.5f32.ln()]);
        perplexity.add(&[0.125f32.ln()]);
        assert!((perplexity.value() - 4.0).abs() < 1e-6, "{perplexity:?}");
        assert!((perplexity.standard_error().expect("two") - 4.0 * 2f64.ln()).abs() < 1e-6, "{perplexity:?}");
        assert_eq!(perplexity.tokens(), 2);
    }
}
