//! Entry points that take any bytes, a generator of damaged files to feed them, and the bound on what they allocate.
//!
//! Each entry point must return for every input, without a panic and with memory bounded by the input's size.

use crate::gguf;
use crate::safetensors::Reader;
use crate::sharded::ShardIndex;
use crate::source::WeightSource;
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Opens the bytes as a safetensors file and reads every tensor.
pub fn fuzz_safetensors(data: &[u8]) {
    let path = PathBuf::from("fuzzed.safetensors");
    let Ok(reader) = Reader::new(path, Cursor::new(data), data.len() as u64) else {
        return;
    };
    let mut total = 0;
    for name in reader.names() {
        if let Ok(info) = reader.describe(name) {
            total += info.bytes.0;
            assert!(reader.load(name).is_ok(), "a tensor of a sound file is read");
        }
    }
    assert!(total <= data.len() as u64, "tensors of a sound file do not overlap");
}

/// Opens the bytes as a GGUF file, looks at all metadata and reads every tensor of a type that is read.
pub fn fuzz_gguf(data: &[u8]) {
    let path = PathBuf::from("fuzzed.gguf");
    let Ok(reader) = gguf::Reader::new(path, Cursor::new(data), data.len() as u64) else {
        return;
    };
    let metadata = reader.metadata();
    for (key, value) in metadata.iter() {
        let _ = (value.to_string(), metadata.u64(key), metadata.str(key));
        if let Ok(strings) = metadata.strings(key) {
            assert_eq!(strings.iter().count(), strings.len());
        }
    }
    let mut total = 0;
    for (name, tensor) in reader.tensors() {
        match reader.load(name) {
            Ok(read) => total += read.bytes().len() as u64,
            Err(_) => assert!(tensor.bytes.is_none(), "a tensor of a sound file is read"),
        }
    }
    assert!(total <= data.len() as u64, "tensors of a sound file do not overlap");
}

/// Parses the bytes as an index of shards.
pub fn fuzz_index(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = ShardIndex::parse(Path::new("fuzzed.json"), text);
    }
}

/// Runs `work` and checks that this process's peak of resident memory grew by less than `limit_kib` meanwhile, where
/// the system tells it. Work that another thread does counts too.
pub fn within_memory(limit_kib: u64, work: impl FnOnce()) {
    let before = peak_kib();
    work();
    if let (Some(before), Some(after)) = (before, peak_kib()) {
        // The kernel counts pages of threads in batches: a peak may be told a little lower than before.
        let grown = after.saturating_sub(before);
        assert!(grown < limit_kib, "peak memory grew by {grown} KiB, {limit_kib} KiB are allowed");
    }
}

/// Peak resident memory of this process in KiB, where the system tells it.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Makes damaged copies of sound inputs: bits flipped, numbers replaced by extreme ones, parts cut, doubled, swapped
/// with parts of other inputs. The sequence depends on the seed alone.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
    corpus: Vec<Vec<u8>>,
    dictionary: Vec<Vec<u8>>,
    numbers: Numbers,
}

/// How the numbers of an input are written.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    /// In decimal digits.
    Text,
    /// In 1, 2, 4 or 8 little-endian bytes.
    Binary,
}

/// Numbers that readers are asked to hold, as text.
const EXTREME: [&[u8]; 10] = [
    b"0",
    b"-1",
    b"1",
    b"255",
    b"4294967295",
    b"9223372036854775807",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e308",
    b"null",
];

impl Mutator {
    /// A generator over sound inputs and words worth inserting.
    pub fn new(seed: u64, corpus: Vec<Vec<u8>>, dictionary: &[&str]) -> Mutator {
        let dictionary = dictionary.iter().map(|w| w.as_bytes().to_vec()).collect();
        Mutator { state: seed, corpus, dictionary, numbers: Numbers::Text }
    }

    /// The same for inputs whose numbers are little-endian bytes, not digits.
    pub fn binary(seed: u64, corpus: Vec<Vec<u8>>, dictionary: &[&str]) -> Mutator {
        Mutator { numbers: Numbers::Binary, ..Mutator::new(seed, corpus, dictionary) }
    }

    fn next(&mut self) -> u64 {
        // xorshift64* (Marsaglia 2003, Vigna 2016); the state must not be 0.
        let mut x = self.state | u64::from(self.state == 0);
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.state = x;
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() >> 11) as usize % n }
    }

    /// The next input.
    pub fn generate(&mut self) -> Vec<u8> {
        if self.corpus.is_empty() {
            return Vec::new();
        }
        let pick = self.below(self.corpus.len());
        let mut data = self.corpus[pick].clone();
        for _ in 0..=self.below(4) {
            self.mutate(&mut data);
        }
        data
    }

    fn mutate(&mut self, data: &mut Vec<u8>) {
        let at = self.below(data.len());
        match self.below(9) {
            0 if !data.is_empty() => data[at] ^= 1 << self.below(8),
            1 if !data.is_empty() => data[at] = self.next() as u8,
            2 => data.truncate(at),
            3 => {
                let end = (at + 1 + self.below(16)).min(data.len());
                data.drain(at.min(end)..end);
            }
            4 => self.repeat(data, at),
            5 => self.replace_number(data, at, EXTREME[at % EXTREME.len()]),
            6 if !self.dictionary.is_empty() => {
                let pick = self.below(self.dictionary.len());
                let word = self.dictionary[pick].clone();
                data.splice(at..at, word);
            }
            7 => self.splice_another(data, at),
            _ => {
                let extreme = EXTREME[self.below(EXTREME.len())];
                self.replace_number(data, at, extreme);
            }
        }
    }

    /// Copies a part to another place.
    fn repeat(&mut self, data: &mut Vec<u8>, at: usize) {
        let end = (at + 1 + self.below(64)).min(data.len());
        let part = data[at.min(end)..end].to_vec();
        let to = self.below(data.len() + 1);
        data.splice(to..to, part);
    }

    /// Puts a part of another input of the corpus in the place of one.
    fn splice_another(&mut self, data: &mut Vec<u8>, at: usize) {
        let pick = self.below(self.corpus.len());
        let other = self.corpus[pick].clone();
        let from = self.below(other.len());
        let to = (from + self.below(128)).min(other.len());
        let end = (at + self.below(128)).min(data.len());
        data.splice(at.min(end)..end, other[from..to].iter().copied());
    }

    /// Replaces the first run of digits after a position, or the bytes there.
    fn replace_number(&mut self, data: &mut Vec<u8>, at: usize, by: &[u8]) {
        if let Numbers::Binary = self.numbers {
            return self.replace_bytes(data, at);
        }
        let Some(begin) = data.iter().skip(at).position(u8::is_ascii_digit).map(|i| i + at) else {
            return;
        };
        let digits = data[begin..].iter().take_while(|b| b.is_ascii_digit()).count();
        data.splice(begin..begin + digits, by.iter().copied());
    }
    /// Overwrites 1, 2, 4 or 8 bytes with a small number or one near the limit of a width.
    fn replace_bytes(&mut self, data: &mut [u8], at: usize) {
        const WIDTHS: [u32; 8] = [0, 7, 8, 16, 31, 32, 63, 64];
        let limit = 1u128 << WIDTHS[self.below(WIDTHS.len())];
        let number = match self.below(3) {
            0 => self.below(48) as u64,
            1 => (limit - 1) as u64,
            _ => (limit as u64).wrapping_add(self.below(64) as u64).wrapping_sub(32),
        };
        let width = 1 << self.below(4);
        let end = (at + width).min(data.len());
        let begin = at.min(end);
        data[begin..end].copy_from_slice(&number.to_le_bytes()[..end - begin]);
    }
}
