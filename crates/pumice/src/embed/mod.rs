//! Texts to vectors: a sentence encoder on a device, fed in batches of texts of similar length.
//!
//! [`Embedder`] is the library's way, [`cli`] the command's. What the model is comes from `pumice-models`; what runs
//! it is an ordinary session.

#[cfg(feature = "cli")]
pub mod cli;
mod error;
mod lines;
mod npy;
mod similarity;

pub use error::EmbedError;
pub use lines::read_lines;
pub use npy::write_npy;
pub use pumice_models::{EncoderOptions, Note, SentenceOverrides};
pub use similarity::similarity_table;

use crate::device::Device;
use crate::error::Error;
use crate::model::{Loaded, PlanSource};
use pumice_compile::Options;
use pumice_import::Model;
use pumice_models::offline::OfflineEncoder;
use pumice_models::{EncoderFolder, SentenceTokenizer, TokenBatch, specialize};
use pumice_plan::CheckedPlan;
use pumice_runtime::{Executable, OutputBuffer, Session};
use pumice_types::TensorView;
use std::path::Path;

/// Choices for an [`Embedder`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EmbedOptions {
    /// Shape of the graph: the largest batch.
    pub encoder: EncoderOptions,
    /// What to do otherwise than the model's folder says.
    pub overrides: SentenceOverrides,
    /// Compilation. Without specializations, the encoder's own suggestions are used.
    pub compile: Options,
    /// A plan of the model that was made before: nothing is compiled then, and the largest batch is the plan's.
    pub plan: Option<CheckedPlan>,
}

impl EmbedOptions {
    /// Shape of the graph.
    #[must_use]
    pub fn encoder(mut self, encoder: EncoderOptions) -> Self {
        self.encoder = encoder;
        self
    }

    /// What to do otherwise than the model's folder says.
    #[must_use]
    pub fn overrides(mut self, overrides: SentenceOverrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Compilation.
    #[must_use]
    pub fn compile(mut self, compile: Options) -> Self {
        self.compile = compile;
        self
    }

    /// A plan of the model that was made before.
    #[must_use]
    pub fn plan(mut self, plan: impl Into<Option<CheckedPlan>>) -> Self {
        self.plan = plan.into();
        self
    }

    fn plan_source(&self) -> PlanSource<'_> {
        PlanSource { plan: self.plan.as_ref(), compile: &self.compile, suggested: specialize::encoder }
    }

    /// Shape of the graph; with a plan, the plan's.
    fn shape(&self) -> EncoderOptions {
        let encoder = self.encoder.clone();
        let symbols = self.plan.as_ref().map(|p| &p.symbols);
        match symbols.and_then(|s| s.get(s.find("batch")?)) {
            Some(batch) => encoder.max_batch(batch.max),
            None => encoder,
        }
    }
}

/// One vector per text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embeddings {
    /// All rows, one after the other.
    pub values: Vec<f32>,
    /// Components of a row.
    pub width: usize,
    /// Texts that are longer than the model's limit: their vectors do not know of the rest.
    pub cut: Vec<Cut>,
}

/// A text of which only the beginning was embedded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(serde::Serialize))]
pub struct Cut {
    /// Which text, from 0.
    pub text: usize,
    /// Tokens that were embedded, the model's own specials included.
    pub kept: usize,
    /// Tokens that were left out.
    pub left_out: usize,
}

impl Embeddings {
    /// The rows in the order of the texts.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.width.max(1))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// A sentence encoder, compiled and filled, with a session of its own.
pub struct Embedder {
    exe: Executable,
    session: Session,
    tokenizer: SentenceTokenizer,
    width: usize,
    max_batch: usize,
    notes: Vec<Note>,
}

impl Embedder {
    /// Opens a model folder in Hugging Face layout, compiles it for a device and uploads its weights. `progress` hears
    /// of every tensor: how many are done, of how many.
    ///
    /// # Errors
    /// Whatever is wrong with the folder, by file and field, before the device is touched; then those of compiling.
    pub fn open(
        path: &Path,
        device: &Device,
        options: &EmbedOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Embedder, Error> {
        let folder = EncoderFolder::open(path, &options.overrides)?;
        let tokenizer = folder.tokenizer()?;
        let model = folder.model(&options.shape())?;
        Embedder::new(&model, tokenizer, folder.config.hidden, folder.notes, device, options, progress)
    }

    /// The small model that needs no file, with the weights of a seed: MiniLM's shape, vectors of no meaning beyond
    /// words in common.
    ///
    /// # Errors
    /// Those of compiling and of the device.
    pub fn offline(seed: u64, device: &Device, options: &EmbedOptions) -> Result<Embedder, Error> {
        let OfflineEncoder { config, model, tokenizer, .. } = OfflineEncoder::new(seed, &options.encoder)?;
        let note = Note("a small model with seeded weights is used: the vectors mean little".to_owned());
        Embedder::new(&model, tokenizer, config.hidden, vec![note], device, options, |_, _| {})
    }

    fn new(
        model: &Model,
        tokenizer: SentenceTokenizer,
        width: u64,
        notes: Vec<Note>,
        device: &Device,
        options: &EmbedOptions,
        progress: impl FnMut(usize, usize),
    ) -> Result<Embedder, Error> {
        let exe = Loaded::by(options.plan_source(), model, device, progress)?.exe;
        let session = exe.session()?;
        let max_batch = usize::try_from(options.shape().max_batch).unwrap_or(usize::MAX);
        // The configuration bounds the width far below 2³².
        Ok(Embedder { exe, session, tokenizer, width: width as usize, max_batch, notes })
    }

    /// What the user should know about the model.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The executable: its plan, its memory.
    pub fn executable(&self) -> &Executable {
        &self.exe
    }

    /// Components of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One vector per text, in order. `progress` hears how many texts are done.
    ///
    /// # Errors
    /// A text that the tokenizer cannot encode, by its number; those of a run.
    pub fn embed<S: AsRef<str>>(
        &mut self,
        texts: &[S],
        mut progress: impl FnMut(usize),
    ) -> Result<Embeddings, Error> {
        let (rows, cut) = self.encode(texts)?;
        let mut values = vec![0.0; rows.len() * self.width];
        let mut done = 0;
        for group in groups(&rows, self.max_batch) {
            let members: Vec<&[i32]> = group.iter().map(|&i| rows[i].as_slice()).collect();
            let result = self.run(&TokenBatch::pack(&members, self.tokenizer.pad()))?;
            for (&row, vector) in group.iter().zip(result.chunks_exact(self.width)) {
                values[row * self.width..(row + 1) * self.width].copy_from_slice(vector);
            }
            done += group.len();
            progress(done);
        }
        Ok(Embeddings { values, width: self.width, cut })
    }

    /// Token ids of every text, and which texts were cut.
    fn encode<S: AsRef<str>>(&self, texts: &[S]) -> Result<(Vec<Vec<i32>>, Vec<Cut>), Error> {
        let (mut rows, mut cut) = (Vec::with_capacity(texts.len()), Vec::new());
        for (i, text) in texts.iter().enumerate() {
            let encoded = self.tokenizer.encode_counted(i, text.as_ref())?;
            if encoded.cut > 0 {
                cut.push(Cut { text: i, kept: encoded.ids.len(), left_out: encoded.cut });
            }
            rows.push(encoded.ids);
        }
        Ok((rows, cut))
    }

    fn run(&mut self, tokens: &TokenBatch) -> Result<Vec<f32>, Error> {
        let (batch, seq) = (tokens.batch as u64, tokens.seq as u64);
        let inputs = [
            ("ids", TensorView::i32(&tokens.ids, [batch, seq])),
            ("lengths", TensorView::i32(&tokens.lengths, [batch])),
        ];
        let mut result = vec![0.0f32; tokens.batch * self.width];
        self.session.run_into(&inputs, &mut [OutputBuffer::numbers(0, &mut result)])?;
        Ok(result)
    }
}

/// Lengths below this share a group whatever they are: such runs cost the same.
const SHORT: usize = 32;

/// Rows in groups of at most `max_batch`, longest first, so that the first group shows at once whether the device can
/// hold the largest. A group's shortest row is at least half as long as its longest, or both are short: what is padded
/// is computed for nothing.
fn groups(rows: &[Vec<i32>], max_batch: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(rows[i].len()), i));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in order {
        let fits = |group: &Vec<usize>| {
            let longest = rows[group[0]].len();
            group.len() < max_batch && (longest <= SHORT || 2 * rows[i].len() >= longest)
        };
        match groups.last_mut().filter(|g| fits(g)) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_every_row_once_and_similar_lengths() {
        let rows: Vec<Vec<i32>> = [3, 9, 1, 9, 4, 0, 2].iter().map(|&n| vec![0; n]).collect();
        assert_eq!(groups(&rows, 3), [vec![1, 3, 4], vec![0, 6, 2], vec![5]]);
        assert!(groups(&[], 3).is_empty());
        let rows: Vec<Vec<i32>> = [30, 200, 90, 100, 40, 1, 60].iter().map(|&n| vec![0; n]).collect();
        assert_eq!(groups(&rows, 9), [vec![1, 3], vec![2, 6], vec![4, 0], vec![5]]);
    }
}
