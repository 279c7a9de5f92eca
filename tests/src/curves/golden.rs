//! What `tests/reference/curves.py` wrote: the tensors of a model and how they begin, losses, gradients, distances.

use crate::files;
use pumice_types::philox::Philox;
use serde::Deserialize;
use std::path::PathBuf;

/// The stream that batches are drawn from.
const BATCHES: u32 = 1000;
/// Digits that there are, and bytes of an image.
const DIGITS: usize = 1024;
const PIXELS: usize = 64;

/// A param: its name, its extents, the middle of its first values and how far they lie from it.
#[derive(Deserialize)]
pub struct Param(pub String, pub Vec<u64>, pub f64, pub f64);

/// What the script wrote of a model.
#[derive(Deserialize)]
pub struct Golden {
    /// The model's name.
    #[serde(skip)]
    pub name: String,
    /// Rows of a batch.
    pub rows: usize,
    seed: u32,
    /// The params, in the script's order.
    pub tensors: Vec<Param>,
    /// Tensors whose gradient is 0 by algebra; the lists of gradients leave them out.
    #[serde(default)]
    pub zero: Vec<String>,
    /// Of each tensor's gradient one element of so many is kept.
    pub every: Vec<usize>,
    /// How far gradients of PyTorch in f32 lie from f64's, of their size.
    pub gradients_apart: Vec<f64>,
    /// How far losses of PyTorch in f32 lie from f64's, at most.
    pub first_10_apart: f64,
    /// The same over all steps.
    pub apart: f64,
    /// In f64, before each step.
    pub losses: Vec<f64>,
    /// The characters of a text, in order.
    #[serde(default)]
    pub letters: String,
}

fn file(name: &str) -> PathBuf {
    files::data().join("curves").join(name)
}

impl Golden {
    /// The committed file of a model.
    pub fn read(name: &str) -> Golden {
        let text = std::fs::read_to_string(file(&format!("{name}.json"))).expect("committed");
        let golden: Golden = serde_json::from_str(&text).expect("what the script wrote");
        Golden { name: name.to_owned(), ..golden }
    }

    fn stream(&self, stream: u32, step: u32) -> Philox {
        Philox { key: [self.seed, 0], stream, step }
    }

    /// The first values of each tensor.
    pub fn first_values(&self) -> Vec<Vec<f32>> {
        let of = |(i, Param(_, shape, middle, reach)): (u32, &Param)| {
            let draws = self.stream(i, 0);
            let value = |k| (middle + reach * (2.0 * draws.uniform(k) - 1.0)) as f32;
            (0..shape.iter().product::<u64>()).map(value).collect()
        };
        (0..).zip(&self.tensors).map(of).collect()
    }

    /// The tensors whose gradients are compared.
    pub fn judged(&self) -> impl Iterator<Item = &Param> {
        self.tensors.iter().filter(|tensor| !self.zero.contains(&tensor.0))
    }

    /// What is kept of the gradient of each tensor before the first step, of f64.
    pub fn gradients(&self) -> Vec<Vec<f32>> {
        let bytes = std::fs::read(file(&format!("{}.bin", self.name))).expect("committed");
        let mut words = bytes.as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word));
        let mut next = |(Param(_, shape, ..), every): (&Param, &usize)| {
            let count = shape.iter().product::<u64>() as usize;
            words.by_ref().take(count.div_ceil(*every)).collect::<Vec<f32>>()
        };
        let all = self.judged().zip(&self.every).map(&mut next).collect();
        assert_eq!(words.next(), None, "as many as the tensors have");
        all
    }

    /// The words that the batch of a step is made of.
    pub fn words(&self, step: u32, count: usize) -> Vec<u32> {
        let draws = self.stream(BATCHES, step);
        (0..count as u64).map(|i| draws.word(i)).collect()
    }

    /// The places that the batch of a step is made of.
    pub fn places(&self, step: u32, among: usize) -> Vec<usize> {
        self.words(step, self.rows).into_iter().map(|word| word as usize % among).collect()
    }
}

/// Images of digits in rows of 64 numbers from 0 to 1, and their classes.
pub fn digits(places: &[usize]) -> (Vec<f32>, Vec<i32>) {
    let bytes = std::fs::read(file("digits.bin")).expect("committed");
    let (images, classes) = bytes.split_at(DIGITS * PIXELS);
    let pixels = places.iter().flat_map(|at| &images[at * PIXELS..][..PIXELS]);
    (
        pixels.map(|p| f32::from(*p) / 16.0).collect(),
        places.iter().map(|at| i32::from(classes[*at])).collect(),
    )
}

pub const DIGITS_THERE_ARE: usize = DIGITS;

/// The text as numbers of its characters.
pub fn text(letters: &str) -> Vec<i32> {
    let text = std::fs::read_to_string(files::data().join("text/shakespeare.txt")).expect("committed");
    let place = |c: char| letters.chars().position(|l| l == c).expect("every character is a letter") as i32;
    text.chars().map(place).collect()
}
