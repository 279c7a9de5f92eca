//! How likely a text is: log probabilities of its tokens, each given those before it.

use super::LanguageOptions;
use super::reading::tensor;
use crate::device::Device;
use crate::error::Error;
use crate::model::Loaded;
use pumice_compile::Options;
use pumice_models::{LanguageModel, ModelError, Note, TextError, specialize};
use pumice_runtime::{Executable, RunOptions, Session};
use pumice_types::TensorView;
use std::path::Path;

/// A language model that says how likely given tokens are. It keeps keys and values as a conversation does.
///
/// ```no_run
/// use pumice::generate::{CacheType, LanguageOptions, Scorer};
/// use pumice::{Device, Options};
///
/// let options = LanguageOptions::default().context(512).cache(CacheType::F32);
/// let mut scorer = Scorer::open("model.gguf", &Device::best(), &options, &Options::default(), |_done, _of| {})?;
/// // Of all tokens but the first.
/// let ids = [504, 2365, 6354, 16438];
/// for (id, log_prob) in ids[1..].iter().zip(scorer.log_probs(&ids, 1)?) {
///     println!("{id} {log_prob:.3}");
/// }
/// # Ok::<(), pumice::Error>(())
/// ```
pub struct Scorer {
    exe: Executable,
    session: Session,
    output: usize,
    context: usize,
    most_new: usize,
    vocab: u64,
    notes: Vec<Note>,
}

impl Scorer {
    /// Opens a language model (a GGUF file, or a Hugging Face folder), compiles it for a device and uploads its
    /// weights. `progress` hears of every tensor: how many are done, of how many. Without specializations, those of
    /// [`specialize::scores`] are used. No vocabulary is read.
    ///
    /// # Errors
    /// Whatever is wrong with the file, by key and tensor; those of compiling and of the device.
    pub fn open(
        path: impl AsRef<Path>,
        device: &Device,
        language: &LanguageOptions,
        compile: &Options,
        progress: impl FnMut(usize, usize),
    ) -> Result<Scorer, Error> {
        Scorer::of(LanguageModel::open(path, language)?, device, compile, progress)
    }

    /// As [`Scorer::open`], of a model that was opened.
    pub(crate) fn of(
        model: LanguageModel,
        device: &Device,
        options: &Options,
        progress: impl FnMut(usize, usize),
    ) -> Result<Scorer, Error> {
        let (context, most_new, vocab) = (model.config.capacity, model.config.max_new, model.config.vocab);
        let notes = model.notes.clone();
        let mut options = options.clone();
        if options.specializations.is_empty() {
            options.specializations = specialize::scores();
        }
        let exe = Loaded::new(&model.score_model()?, device, &options, progress)?.exe;
        let (session, output) = (exe.session()?, exe.output_index("log_probs")?);
        // Both are at most 2²⁴.
        Ok(Scorer {
            exe,
            session,
            output,
            context: context as usize,
            most_new: most_new as usize,
            vocab,
            notes,
        })
    }

    /// The executable: its plan, its memory.
    pub fn executable(&self) -> &Executable {
        &self.exe
    }

    /// What the user should know of the model.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The most tokens of one text.
    pub fn context(&self) -> usize {
        self.context
    }

    /// ln p of the tokens from place `from` on, each given all before it. The first token is never scored.
    ///
    /// # Errors
    /// No token to score, a place of 0, more tokens than the context holds, a number that is no token; log
    /// probabilities that are no numbers, with the place of the token; those of a run.
    pub fn log_probs(&mut self, ids: &[u32], from: usize) -> Result<Vec<f32>, Error> {
        self.check(ids, from)?;
        let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        self.session.set_scalar("position", 0)?;
        let mut scored = Vec::with_capacity(ids.len() - from);
        // The last token is told, and not read.
        for begin in (0..ids.len() - 1).step_by(self.most_new) {
            let end = (begin + self.most_new).min(ids.len() - 1);
            // A token is scored at the place before it.
            let first = begin.max(from - 1);
            self.piece(&ids, begin..end, first.min(end), &mut scored)?;
        }
        match scored.iter().position(|p| p.is_nan()) {
            None => Ok(scored),
            Some(at) => {
                let source = TextError::Logit { token: ids[from + at] as usize, value: f32::NAN };
                Err(ModelError::Logits { position: from + at, source }.into())
            }
        }
    }

    /// Reads a piece of the text, and scores what follows its tokens from `first` on; nothing where that is its end.
    fn piece(
        &mut self,
        ids: &[i32],
        piece: std::ops::Range<usize>,
        first: usize,
        scored: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let begin = piece.start as i32;
        let is_scored = first < piece.end;
        let places: Vec<i32> = (first as i32..piece.end as i32).collect();
        let (rows, targets): (Vec<i32>, _) = if is_scored {
            (places.iter().map(|place| place - begin).collect(), &ids[first + 1..=piece.end])
        } else {
            // A run scores something; nobody looks at it.
            (vec![0], &ids[..1])
        };
        let shape = [rows.len() as u64];
        let inputs = [
            ("ids", TensorView::i32(&ids[piece.clone()], [1, piece.len() as u64])),
            ("rows", TensorView::i32(&rows, shape)),
            ("targets", TensorView::i32(targets, shape)),
        ];
        if is_scored {
            let out = self.session.run_read(&inputs, &[self.output])?.pop();
            scored
                .extend(out.map(|out| out.to_vec::<f32>()).transpose().map_err(tensor)?.unwrap_or_default());
        } else {
            self.session.execute(&inputs, &RunOptions::default())?;
        }
        Ok(())
    }

    fn check(&self, ids: &[u32], from: usize) -> Result<(), Error> {
        let wrong = |problem| Err(ModelError::Option { option: "from", problem }.into());
        if from == 0 || from >= ids.len() {
            return wrong(format!("{from} is no place from 1 to {}", ids.len().saturating_sub(1)));
        }
        if ids.len() > self.context {
            return wrong(format!("its tokens are {}, and the context holds {}", ids.len(), self.context));
        }
        match ids.iter().position(|&id| u64::from(id) >= self.vocab) {
            Some(position) => {
                Err(ModelError::PromptToken { position, id: ids[position], count: self.vocab }.into())
            }
            None => Ok(()),
        }
    }
}
