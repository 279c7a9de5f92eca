//! A conversation in a file, and back. What is read is untrusted: lengths are compared with what the plan holds before
//! anything is made from them.
//!
//! The form, numbers little-endian: `pumice conversation`, a line end, the version as u32, the model's fingerprint in
//! 32 bytes, the length of a JSON object as u64, the object (tokens, turns, draws), then of each cache, in the plan's
//! order, the rows that are in use, and at the end the sha256 of everything before it. Nothing follows.

use super::conversation::Conversation;
use super::loaded::{CACHE_ROWS, LoadedModel};
use super::summed::Summed;
use crate::error::Error;
use crate::opened;
use crate::save::Destination;
use pumice_models::{Draws, Fingerprint, Message, ModelError, Sampler};
use pumice_types::{Encoding, Tensor};
use serde::{Deserialize, Serialize};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 20] = b"pumice conversation\n";
const VERSION: u32 = 2;
/// A context of 2²⁴ tokens and turns of as many bytes stay below it.
const OBJECT_LIMIT: u64 = 512 << 20;

/// Why a conversation is not saved or loaded.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The file cannot be written or read; one that ends too early is damaged.
    #[error("a saved conversation: {0}")]
    Io(#[from] io::Error),
    /// Something else.
    #[error("this is no saved conversation")]
    Other,
    /// A form that this version does not read.
    #[error("a saved conversation of form {0}; this version reads form {VERSION}")]
    Version(u32),
    /// One of another model.
    #[error(
        "a saved conversation of another model, or of this one with caches of another type (--kv), other encodings \
         (--quantize), or a context that chooses other rotary factors (--context): open the model as it was then"
    )]
    OtherModel,
    /// Contents that are not those that were written: their sum is not the one at the end.
    #[error(
        "a saved conversation is damaged: its bytes are not those that were saved (the sha256 at its end is another)"
    )]
    Sum,
    /// Contents that contradict each other or the model.
    #[error("a saved conversation is damaged: {0}")]
    Damaged(String),
}

pumice_types::debug_as_display!(SavedError);

/// The object.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    /// Tokens whose rows follow.
    read: Vec<u32>,
    /// Tokens after them.
    unread: Vec<u32>,
    messages: Vec<Message>,
    draws: Option<SavedDraws>,
}

/// A sampler, and where its random numbers are. Floats by their bits: a bias may be minus infinity.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedDraws {
    /// Repeat, presence and frequency penalty, temperature, typical, top-p, min-p.
    numbers: [u32; 7],
    repeat_last_n: usize,
    top_k: usize,
    bias: Vec<(u32, u32)>,
    seed: u64,
    state: u64,
}

impl SavedDraws {
    fn of(draws: &Draws) -> SavedDraws {
        let s = draws.sampler();
        let numbers = [
            s.repeat_penalty,
            s.presence_penalty,
            s.frequency_penalty,
            s.temperature,
            s.typical,
            s.top_p,
            s.min_p,
        ];
        SavedDraws {
            numbers: numbers.map(f32::to_bits),
            repeat_last_n: s.repeat_last_n,
            top_k: s.top_k,
            bias: s.bias.iter().map(|&(id, bias)| (id, bias.to_bits())).collect(),
            seed: s.seed,
            state: draws.state(),
        }
    }

    fn draws(self) -> Result<Draws, SavedError> {
        let [repeat, presence, frequency, temperature, typical, top_p, min_p] =
            self.numbers.map(f32::from_bits);
        let sampler = Sampler::default()
            .repeat_penalty(repeat)
            .repeat_last_n(self.repeat_last_n)
            .presence_penalty(presence)
            .frequency_penalty(frequency)
            .bias(self.bias.into_iter().map(|(id, bias)| (id, f32::from_bits(bias))).collect())
            .temperature(temperature)
            .top_k(self.top_k)
            .typical(typical)
            .top_p(top_p)
            .min_p(min_p)
            .seed(self.seed);
        Draws::resume(sampler, self.state).map_err(|e| SavedError::Damaged(e.to_string()))
    }
}

pub(super) fn save(conversation: &mut Conversation, to: &mut dyn Write) -> Result<(), Error> {
    let saved = Saved {
        read: conversation.read.clone(),
        unread: conversation.unread.clone(),
        messages: conversation.messages.clone(),
        draws: conversation.draws.as_ref().map(SavedDraws::of),
    };
    let object = serde_json::to_vec(&saved).map_err(|e| SavedError::Io(e.into()))?;
    let head = [
        &MAGIC[..],
        &VERSION.to_le_bytes(),
        &conversation.model.about.fingerprint,
        &(object.len() as u64).to_le_bytes(),
        &object,
    ];
    let mut summed = Summed::new(to);
    head.iter().try_for_each(|part| summed.write_all(part)).map_err(SavedError::Io)?;
    let rows = saved.read.len() as u64;
    for name in conversation.model.caches() {
        let cache = conversation.session.state(name)?.read_range(CACHE_ROWS, 0..rows)?;
        summed.write_all(cache.bytes()).map_err(SavedError::Io)?;
    }
    let (to, sum) = summed.finish();
    Ok(to.write_all(&sum).and_then(|()| to.flush()).map_err(SavedError::Io)?)
}

pub(super) fn save_file(conversation: &mut Conversation, path: &Path) -> Result<(), Error> {
    let place = Destination::look(path).map_err(|e| of_file(path, e))?;
    let mut saved = Ok(());
    let written = place.save(|to| {
        saved = save(conversation, to);
        // Nothing takes the place of what is there then.
        if saved.is_ok() { Ok(()) } else { Err(io::Error::other("it could not be read from the device")) }
    });
    saved?;
    Ok(written.map_err(|e| of_file(path, e))?)
}

/// Whether a file may hold something else than a saved conversation: what [`save_file`] would take the place of.
#[cfg(feature = "cli")]
pub(super) fn is_other(path: &Path) -> bool {
    // Devices and pipes are written into, and a folder is never replaced.
    let is_no_file = std::fs::metadata(path).is_ok_and(|known| !known.is_file());
    !is_no_file && begins_otherwise(opened::file(path).and_then(|mut file| magic(&mut file)))
}

/// Whether what was read of a file's beginning may be of something else. What cannot be read may be anything.
#[cfg(feature = "cli")]
fn begins_otherwise(begin: io::Result<Vec<u8>>) -> bool {
    match begin {
        Ok(begin) => !begin.is_empty() && begin != *MAGIC,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// As many bytes as a saved conversation begins with, or fewer where there are no more.
fn magic(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut magic = Vec::new();
    from.take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    Ok(magic)
}

pub(super) fn load_file(model: &Arc<LoadedModel>, path: &Path) -> Result<Conversation, Error> {
    let file = opened::file(path).map_err(|e| of_file(path, e))?;
    load(model, &mut BufReader::new(file))
}

fn of_file(path: &Path, source: io::Error) -> SavedError {
    SavedError::Io(io::Error::new(source.kind(), format!("{}: {source}", path.display())))
}

pub(super) fn load(model: &Arc<LoadedModel>, from: &mut dyn Read) -> Result<Conversation, Error> {
    let mut from = Summed::new(from);
    let saved = object(&mut from, &model.about.fingerprint)?;
    check(model, &saved)?;
    let mut conversation = Conversation::new(Arc::clone(model))?;
    let rows = saved.read.len() as u64;
    for name in model.caches() {
        let mut state = conversation.session.state(name)?;
        let mut shape = state.shape().to_vec();
        shape[CACHE_ROWS] = rows;
        let dtype = state.dtype();
        let damaged = |e: pumice_types::TensorError| SavedError::Damaged(e.to_string());
        let bytes = Encoding::from(dtype).bytes(&shape).map_err(damaged)?.0;
        // At most the cache itself.
        let mut all = vec![0; bytes as usize];
        from.read_exact(&mut all).map_err(SavedError::Io)?;
        let rows = Tensor::from_bytes(dtype, &shape, all).map_err(damaged)?;
        state.write_range(CACHE_ROWS, 0, rows.view())?;
    }
    end(from)?;
    (conversation.read, conversation.unread) = (saved.read, saved.unread);
    conversation.messages = saved.messages;
    conversation.draws = saved.draws.map(SavedDraws::draws).transpose()?;
    Ok(conversation)
}

/// That all that was read is what was written, and nothing follows.
fn end(read: Summed<&mut dyn Read>) -> Result<(), SavedError> {
    let (from, sum) = read.finish();
    let mut told = [0; 32];
    from.read_exact(&mut told)?;
    if told != sum {
        return Err(SavedError::Sum);
    }
    if from.read(&mut [0])? > 0 {
        return Err(SavedError::Damaged("something follows its end".to_owned()));
    }
    Ok(())
}

/// What stands before the rows.
fn object(from: &mut dyn Read, fingerprint: &Fingerprint) -> Result<Saved, SavedError> {
    if magic(from)? != *MAGIC {
        return Err(SavedError::Other);
    }
    let (mut version, mut own, mut length) = ([0; 4], [0; 32], [0; 8]);
    from.read_exact(&mut version)?;
    match u32::from_le_bytes(version) {
        VERSION => {}
        other => return Err(SavedError::Version(other)),
    }
    from.read_exact(&mut own)?;
    if own != *fingerprint {
        return Err(SavedError::OtherModel);
    }
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > OBJECT_LIMIT {
        return Err(SavedError::Damaged(format!(
            "{length} bytes of tokens and turns, at most {OBJECT_LIMIT} are read"
        )));
    }
    let mut object = Vec::new();
    // What is there, not what is told, takes memory.
    from.take(length).read_to_end(&mut object)?;
    serde_json::from_slice(&object).map_err(|e| SavedError::Damaged(e.to_string()))
}

/// That the tokens are ones of the model, and fit.
fn check(model: &LoadedModel, saved: &Saved) -> Result<(), Error> {
    let (count, context) = (saved.read.len() + saved.unread.len(), model.about.context);
    if count > context {
        let problem = format!(
            "its tokens are {count}, and {context} are planned: open the model with a larger context"
        );
        return Err(ModelError::Option { option: "context", problem }.into());
    }
    let vocab = model.vocab();
    match saved.read.iter().chain(&saved.unread).find(|&&id| u64::from(id) >= vocab) {
        Some(id) => Err(SavedError::Damaged(format!("token {id} where the vocabulary has {vocab}")).into()),
        None => Ok(()),
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    /// A file without the right to read it was replaced.
    #[test]
    fn what_cannot_be_read_may_be_anything() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::TimedOut, ErrorKind::Other] {
            assert!(begins_otherwise(Err(kind.into())), "{kind}");
        }
        assert!(!begins_otherwise(Err(ErrorKind::NotFound.into())));
        for (begin, expected) in
            [(&b""[..], false), (&MAGIC[..], false), (&MAGIC[..9], true), (&b"a diary"[..], true)]
        {
            assert_eq!(begins_otherwise(Ok(begin.to_vec())), expected, "{begin:?}");
        }
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (path, expected) in [("Cargo.toml", true), ("src", false), ("no/such/file", false)] {
            assert_eq!(is_other(&own.join(path)), expected, "{path}");
        }
    }
}
