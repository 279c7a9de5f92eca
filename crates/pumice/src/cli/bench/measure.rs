//! Times of tests: a conversation of random tokens reads prompts and makes tokens, again and again from one depth.

use super::args::{Kind, Test};
use crate::error::Error;
use crate::generate::{Conversation, Generator};
use std::time::{Duration, Instant};

/// Tokens a second of each repetition.
#[derive(Clone, Debug)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    pub fn of(samples: Vec<f64>) -> Samples {
        Samples(samples)
    }

    pub fn all(&self) -> &[f64] {
        &self.0
    }

    /// The middle one, or the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
    }

    pub fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn most(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Random tokens, the same each time.
struct Random {
    state: u64,
    vocab: u64,
}

impl Random {
    fn tokens(&mut self, n: u64) -> Vec<u32> {
        let mut next = || {
            // Knuth's multiplier and increment of MMIX; the upper half is random enough.
            self.state =
                self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.state >> 33) % self.vocab.max(1)) as u32
        };
        (0..n).map(|_| next()).collect()
    }
}

/// A conversation on which all tests run.
pub(super) struct Bench {
    conversation: Conversation,
    random: Random,
}

impl Bench {
    pub fn new(generator: &Generator, vocab: u64) -> Result<Bench, Error> {
        Ok(Bench { conversation: generator.conversation()?, random: Random { state: 1, vocab } })
    }

    /// One token is read: kernels are there then.
    pub fn first_token(&mut self) -> Result<(), Error> {
        self.conversation.reset();
        self.conversation.push(&self.random.tokens(1))?;
        self.conversation.read_to_next()?;
        self.conversation.check_last()
    }

    /// Times a test; `done` hears of every repetition, the one before all that are timed included.
    pub fn test(&mut self, test: &Test, times: usize, mut done: impl FnMut()) -> Result<Samples, Error> {
        self.go_to(test.depth as usize)?;
        let mut samples = Vec::with_capacity(times);
        for repetition in 0..=times {
            let took = self.once(test)?;
            if repetition > 0 {
                samples.push(test.tokens as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE));
            }
            done();
        }
        Ok(Samples::of(samples))
    }

    /// The caches hold so many tokens; those that they hold already stay.
    fn go_to(&mut self, depth: usize) -> Result<(), Error> {
        let kept = self.conversation.rows_read().min(depth);
        self.conversation.rewind(kept)?;
        if depth > kept {
            self.conversation.push(&self.random.tokens((depth - kept) as u64))?;
            self.conversation.read_to_next()?;
            self.conversation.rewind(depth)?;
        }
        Ok(())
    }

    /// One repetition from the depth at which the conversation is, and back.
    fn once(&mut self, test: &Test) -> Result<Duration, Error> {
        let talk = &mut self.conversation;
        let took = match test.kind {
            Kind::Prompt => {
                talk.push(&self.random.tokens(test.tokens))?;
                let begun = Instant::now();
                talk.read_to_next()?;
                begun.elapsed()
            }
            Kind::Decode => {
                talk.push(&self.random.tokens(1))?;
                talk.read_to_next()?;
                let begun = Instant::now();
                talk.likeliest(test.tokens as usize)?;
                begun.elapsed()
            }
        };
        // What weights that are no numbers cost says nothing of a model.
        talk.check_last()?;
        talk.rewind(test.depth as usize)?;
        Ok(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let of = |all: &[f64]| Samples::of(all.to_vec()).median();
        assert_eq!([of(&[3.0]), of(&[9.0, 1.0, 2.0]), of(&[4.0, 1.0, 2.0, 8.0])], [3.0, 2.0, 3.0]);
        let samples = Samples::of(vec![3.0, 1.0, 2.0]);
        assert_eq!([samples.least(), samples.most()], [1.0, 3.0]);
    }

    #[test]
    fn tokens_are_of_the_vocabulary() {
        let tokens = Random { state: 1, vocab: 7 }.tokens(1000);
        assert!((0..7).all(|id| tokens.contains(&id)) && tokens.iter().all(|&id| id < 7));
    }
}
