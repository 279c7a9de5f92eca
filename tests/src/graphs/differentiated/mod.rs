//! Random programs with a loss and its gradients, tried on a device.
//!
//! In: seeds, and a [`Rig`]. Out: what is wrong with the gradients of a program, and how many could be judged. The
//! slopes of the evaluator's unrounded loss are the truth of gradients; the evaluator of the program with its
//! gradients is that of devices.

mod judge;
mod loss;
mod place;

pub use judge::{Judged, judge};
pub use loss::{Differentiated, differentiated};

use super::trial::{Depth, Rig, Trial, Verdict, without_panic};
use std::sync::Mutex;

/// Which derivatives are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Gradients of a loss.
    First,
    /// Gradients of a loss of gradients.
    Second,
}

/// The random program of a seed with its gradients, if it has any.
///
/// # Errors
/// What is wrong with them.
pub fn of_seed(seed: u64, order: Order) -> Result<Option<Differentiated>, String> {
    differentiated(&Trial::drawn(seed).0, order)
}

/// How many programs were judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Their gradients are what differences say, along two directions.
    pub judged: u64,
    /// Along one direction; every other one that was drawn meets a kink.
    pub judged_once: u64,
    /// Every direction that was drawn meets a kink.
    pub kinks: u64,
    /// No loss of them has a gradient.
    pub without: u64,
    /// Leaves by which the others are differentiated, all together.
    pub leaves: u64,
}

/// Tries programs with their gradients on one device.
pub struct Gradients<'a> {
    rig: &'a Rig,
    order: Order,
    counts: Mutex<Counts>,
}

impl Gradients<'_> {
    /// On a device.
    pub fn new(rig: &Rig, order: Order) -> Gradients<'_> {
        Gradients { rig, order, counts: Mutex::default() }
    }

    /// How many programs were judged so far.
    pub fn counts(&self) -> Counts {
        *self.lock()
    }

    /// Tries the program of a seed: its gradients against slopes, then all of it on the device.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn try_seed(&self, seed: u64, depth: Depth) -> Result<Verdict, String> {
        without_panic(|| {
            let (sample, options) = Trial::drawn(seed);
            let Some(program) = differentiated(&sample, self.order)? else {
                self.lock().without += 1;
                return Ok(Verdict::default());
            };
            let judged = judge(&program, seed)?;
            self.lock().add(judged, program.wanted.len());
            Trial::of(program.sample, options)?.run(self.rig, depth)
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Counts {
    fn add(&mut self, judged: Judged, leaves: usize) {
        self.leaves += leaves as u64;
        match judged {
            Judged::Right { directions: 2.. } => self.judged += 1,
            Judged::Right { .. } => self.judged_once += 1,
            Judged::Kinks => self.kinks += 1,
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { judged, judged_once, kinks, without, leaves } = self;
        write!(
            f,
            "gradients by {leaves} leaves: {judged} programs judged along two directions, {judged_once} along one, {kinks} \
             meet a kink in every direction, {without} have no loss with a gradient"
        )
    }
}
