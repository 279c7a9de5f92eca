//! A language model to a GGUF file in another encoding. In: a model and an encoding; out: the description of the file,
//! and its bytes as they are asked for.

use crate::error::{ModelError, Note};
use crate::language::{LanguageModel, LanguageOptions, Written};
use crate::quantization::{check, choose};
use pumice_import::{
    EncodedWeights, GgufModel, GgufValue, GgufWriteError, GgufWriter, WeightInfo, WeightSource,
};
use pumice_types::{DType, Encoding, Scheme};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A tensor as it is read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertedTensor {
    /// Its name in the file.
    pub name: String,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// How it is stored in the model.
    pub from: Encoding,
    /// How it is written.
    pub to: Encoding,
    /// Why a matrix is not written as asked.
    pub why: Option<&'static str>,
    /// Its bytes in the file.
    pub bytes: u64,
}

/// A conversion that has been planned: every name, extent and encoding is known to fit; no value has been read.
///
/// ```no_run
/// use pumice_models::Conversion;
/// use pumice_types::Scheme;
///
/// let conversion = Conversion::open("model-bf16.gguf", Scheme::Q4_K.into())?;
/// let mut file = std::io::BufWriter::new(std::fs::File::create("model-q4_k.gguf")?);
/// conversion.write(&mut file, |done, all| println!("{done} of {all}"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Conversion {
    weights: EncodedWeights,
    reads: Vec<PathBuf>,
    metadata: Vec<(String, GgufValue)>,
    tensors: Vec<ConvertedTensor>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// Keys that are about the file that was read, and not about the model.
const OF_THE_FILE: [&str; 2] = [FILE_TYPE, QUANTIZATION_VERSION];
/// How such keys begin: which of several files it was, by what importance its encodings were chosen.
const BEGINNINGS: [&str; 2] = ["split.", "quantize.imatrix."];
const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION_VERSION: &str = "general.quantization_version";
/// The version of the layouts of blocks (ggml/docs/gguf.md).
const VERSION: u32 = 2;

impl Conversion {
    /// Plans to write a language model with its matrices in `to`, one of [`QUANTIZATIONS`](crate::QUANTIZATIONS). The
    /// model is a GGUF file, the first of several, or a folder in Hugging Face layout.
    ///
    /// # Errors
    /// What [`LanguageModel::open`] refuses, and tensors that are missing or of a type that is not read; an encoding
    /// that is not written ([`ModelError::Option`]).
    pub fn open(path: impl AsRef<Path>, to: Encoding) -> Result<Conversion, ModelError> {
        let path = path.as_ref();
        check(to)?;
        // The model is one that runs: its tensors are those that its settings ask for.
        LanguageModel::open(path, &LanguageOptions::default())?.model()?;
        let model = LanguageModel::open(path, &LanguageOptions::default())?;
        if let Some(Written { metadata, weights, notes }) = model.written()? {
            let mut this = Conversion::of(weights, vec![path.to_owned()], metadata, to)?;
            this.notes.extend(notes);
            return Ok(this);
        }
        let file = GgufModel::open(path)?;
        let kept = |key: &str| {
            !OF_THE_FILE.contains(&key) && !BEGINNINGS.iter().any(|beginning| key.starts_with(beginning))
        };
        let metadata = file.metadata().iter().filter(|(key, _)| kept(key));
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        let reads = file.paths().into_iter().map(Path::to_owned).collect();
        Conversion::of(Box::new(file), reads, metadata, to)
    }

    fn of(
        source: Box<dyn WeightSource>,
        reads: Vec<PathBuf>,
        mut metadata: Vec<(String, GgufValue)>,
        to: Encoding,
    ) -> Result<Conversion, ModelError> {
        metadata.push((FILE_TYPE.to_owned(), file_type(to).into()));
        metadata.push((QUANTIZATION_VERSION.to_owned(), VERSION.into()));
        let tensor = |name: &str| -> Result<ConvertedTensor, ModelError> {
            let WeightInfo { encoding: from, shape, .. } = source.describe(name)?;
            let choice = choose(name, &shape, to);
            let bytes = choice.encoding.bytes(&shape).map_or(0, |bytes| bytes.0);
            Ok(ConvertedTensor {
                name: name.to_owned(),
                shape,
                from,
                to: choice.encoding,
                why: choice.why,
                bytes,
            })
        };
        let tensors = source.names().into_iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
        let notes = notes(&tensors);
        let mut weights = EncodedWeights::of(source);
        tensors.iter().try_for_each(|t| weights.want(&t.name, t.to))?;
        Ok(Conversion { weights, reads, metadata, tensors, notes })
    }

    /// The tensors, in the order of the file.
    pub fn tensors(&self) -> &[ConvertedTensor] {
        &self.tensors
    }

    /// The files and folders that are read while the conversion is written.
    pub fn reads(&self) -> &[PathBuf] {
        &self.reads
    }

    /// Writes the file; `heard` is told how many tensors are written, of how many.
    ///
    /// # Errors
    /// What `out` reports, tensors that cannot be read, values that the encoding does not hold; an unfinished file is
    /// left.
    pub fn write(&self, out: &mut dyn Write, heard: impl FnMut(usize, usize)) -> Result<(), GgufWriteError> {
        self.write_shard((0, 1), out, heard)
    }

    /// Writes a shard by its number from 0, of so many. The first has the metadata; each has a tensor at least, where
    /// there are as many.
    ///
    /// # Errors
    /// As [`Conversion::write`]; a number that is not below the count ([`GgufWriteError::NoShard`]).
    pub fn write_shard(
        &self,
        (shard, count): (u16, u16),
        mut out: &mut dyn Write,
        mut heard: impl FnMut(usize, usize),
    ) -> Result<(), GgufWriteError> {
        if shard >= count {
            return Err(GgufWriteError::NoShard { number: shard, count });
        }
        let mut writer = GgufWriter::new();
        let of_first = self.metadata.iter().filter(|_| shard == 0);
        of_first.into_iter().try_for_each(|(key, value)| writer.metadata(key, value.clone()))?;
        if count > 1 {
            writer.metadata("split.no", shard)?;
            writer.metadata("split.count", count)?;
            writer.metadata("split.tensors.count", i32::try_from(self.tensors.len()).unwrap_or(i32::MAX))?;
        }
        let bounds = self.bounds(usize::from(count));
        let (first, end) = (bounds[usize::from(shard)], bounds[usize::from(shard) + 1]);
        let own = &self.tensors[first..end];
        own.iter().try_for_each(|t| writer.tensor(&t.name, t.to, &t.shape))?;
        let (mut done, all) = (first, self.tensors.len());
        writer.write(&mut out, |name, offset, piece| {
            if offset == 0 {
                heard(done, all);
                done += 1;
            }
            self.weights.read_at(name, offset, piece)
        })?;
        heard(done, all);
        Ok(())
    }

    /// Where the tensors of each shard begin, and the end: shards have equal bytes as far as tensors are whole, and
    /// each a tensor as far as there are as many.
    fn bounds(&self, count: usize) -> Vec<usize> {
        let (all, tensors) = (self.bytes(), self.tensors.len());
        let (mut bounds, mut next, mut before) = (vec![0], 0, 0u128);
        for shard in 1..count {
            let limit = u128::from(all) * shard as u128 / count as u128;
            let least = (bounds[shard - 1] + 1).min(tensors);
            let most = tensors.saturating_sub(count - shard).max(least);
            while next < tensors && (next < least || before < limit) && next < most {
                before += u128::from(self.tensors[next].bytes);
                next += 1;
            }
            bounds.push(next);
        }
        bounds.push(tensors);
        bounds
    }

    /// Bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.tensors.iter().map(|t| t.bytes).sum()
    }
}

/// The number by which files say what most of their tensors are (ggml/docs/gguf.md).
fn file_type(encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Plain(DType::F16) => 1,
        Encoding::Blocks(Scheme::Q4_0) => 2,
        Encoding::Blocks(Scheme::Q8_0) => 7,
        Encoding::Blocks(Scheme::Q4_K) => 14,
        Encoding::Blocks(Scheme::Q5_K) => 16,
        Encoding::Blocks(Scheme::Q6_K) => 18,
        Encoding::Plain(DType::BF16) => 32,
        _ => 0,
    }
}

/// What is lost twice: matrices that are in blocks already, and get into others.
fn notes(tensors: &[ConvertedTensor]) -> Vec<Note> {
    let twice = |t: &&ConvertedTensor| t.from.scheme().is_some() && t.to.scheme().is_some() && t.from != t.to;
    let again: Vec<&ConvertedTensor> = tensors.iter().filter(twice).collect();
    let Some(first) = again.first() else { return Vec::new() };
    vec![Note(format!(
        "{} tensors are quantized already ({} is {}): their errors add up; f16 or bf16 weights give a better file",
        again.len(),
        first.name,
        first.from
    ))]
}
