//! Encodings in the names of GGUF files: `SmolLM2-135M-Instruct.Q4_K_M.gguf`, `q8_0/m-q8_0-00001-of-00003.gguf`.
//!
//! In: names of files. Out: models, each of one file or of shards in their order, with the encoding that the name
//! has. Never here: what a file holds.

use std::collections::BTreeMap;

/// A GGUF model by the names of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GgufSet {
    /// Without the number of the shard and the ending.
    pub stem: String,
    /// In the order of the shards.
    pub files: Vec<String>,
    /// Shards by the names' own count; 1 of a file without a number.
    pub count: u32,
}

impl GgufSet {
    /// The encoding that the name has, as it is written there.
    pub fn encoding(&self) -> Option<&str> {
        encoding(&self.stem)
    }

    /// Whether this is what `quant` names, case aside: its encoding, or the end of its name, where that has an
    /// encoding.
    pub fn is_of(&self, quant: &str) -> bool {
        if self.encoding().is_some_and(|own| own.eq_ignore_ascii_case(quant)) {
            return true;
        }
        let (stem, quant) = (self.stem.to_ascii_lowercase(), quant.to_ascii_lowercase());
        let before = stem.strip_suffix(&quant);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['-', '.', '_', '/']))
            && encoding(&quant).is_some()
    }

    /// Names of shards that are not among the files.
    pub fn missing(&self) -> Vec<String> {
        let shard = |n: u32| format!("{}-{n:05}-of-{:05}.gguf", self.stem, self.count);
        match self.count {
            1 => Vec::new(),
            count => (1..=count).map(shard).filter(|name| !self.files.contains(name)).collect(),
        }
    }
}

/// The GGUF models among these names, in the order of their stems. Projectors of images (`mmproj…`) and matrices of
/// importance are files beside a model.
pub(super) fn sets(names: &[String]) -> Vec<GgufSet> {
    let mut sets: BTreeMap<(String, u32), Vec<(u32, String)>> = BTreeMap::new();
    for name in names.iter().filter(|name| is_model(name)) {
        let whole = name[..name.len() - GGUF.len()].to_owned();
        let (stem, number, count) = shard(&whole).unwrap_or((&whole, 1, 1));
        sets.entry((stem.to_owned(), count)).or_default().push((number, name.clone()));
    }
    let set = |((stem, count), mut files): ((String, u32), Vec<(u32, String)>)| {
        files.sort();
        GgufSet { stem, count, files: files.into_iter().map(|(_, name)| name).collect() }
    };
    sets.into_iter().map(set).collect()
}

const GGUF: &str = ".gguf";
/// The most shards that a model may have here.
pub(super) const MOST_SHARDS: u32 = 512;

fn is_model(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    name.ends_with(GGUF) && !last.starts_with("mmproj") && !last.starts_with("imatrix")
}

/// A name without its ending and the number of its shard.
pub(super) fn stem(name: &str) -> &str {
    let name = name.strip_suffix(GGUF).unwrap_or(name);
    shard(name).map_or(name, |(stem, ..)| stem)
}

/// Stem, number and count of `STEM-00001-of-00003`.
fn shard(name: &str) -> Option<(&str, u32, u32)> {
    let (rest, count) = name.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| {
        let five = text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
        five.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (number, count) = (digits(number)?, digits(count)?);
    (1..=count).contains(&number).then_some((stem, number, count))
}

/// The last encoding in a name's last part, as it is written there.
fn encoding(stem: &str) -> Option<&str> {
    let last = stem.rsplit('/').next().unwrap_or(stem);
    let found = |token: &'_ str| -> Option<usize> {
        let begins = token.match_indices('_').map(|(at, _)| at + 1);
        [0].into_iter().chain(begins).find(|&at| is_encoding(&token[at..]))
    };
    last.split(['-', '.']).rev().find_map(|token| found(token).map(|at| &token[at..]))
}

/// Whether a word is an encoding's name: `Q4_K_M`, `IQ3_M`, `TQ1_0`, `BF16`, `MXFP4_MOE`.
fn is_encoding(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    let (first, more) = word.split_once('_').unwrap_or((&word, ""));
    let is_plain = more.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let digit = |prefix: &str| {
        first.strip_prefix(prefix).is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    let blocks = ["Q", "IQ", "TQ"].into_iter().any(digit) && !more.is_empty();
    let floats = ["MXFP4", "NVFP4"].contains(&first);
    let plain = ["F16", "F32", "FP16", "FP32", "BF16"].contains(&word.as_str());
    is_plain && (blocks || floats || plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<GgufSet> {
        sets(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn an_encoding_is_found_in_a_name() {
        let cases = [
            ("SmolLM2-135M-Instruct.Q4_K_M", Some("Q4_K_M")),
            ("ggml-model-q4_0", Some("q4_0")),
            ("model_q8_0", Some("q8_0")),
            ("mistral-7b-v0.1.IQ3_M", Some("IQ3_M")),
            ("m-UD-Q4_K_XL", Some("Q4_K_XL")),
            ("m-Q4_K_M-imat", Some("Q4_K_M")),
            ("BF16/m-bf16", Some("bf16")),
            ("m-MXFP4_MOE", Some("MXFP4_MOE")),
            ("Q8_0/model", None),
            ("QwQ-32B", None),
            ("Q4", None),
            ("model", None),
        ];
        for (stem, expected) in cases {
            assert_eq!(encoding(stem), expected, "{stem}");
        }
    }

    #[test]
    fn shards_are_together_and_missing_ones_are_named() {
        let sets = of(&[
            "m-q8_0-00002-of-00003.gguf",
            "m-q8_0-00001-of-00003.gguf",
            "m-q4_0.gguf",
            "mmproj-F16.gguf",
        ]);
        assert_eq!(sets.len(), 2);
        assert_eq!((sets[0].stem.as_str(), sets[0].missing().len()), ("m-q4_0", 0));
        assert_eq!(sets[1].files, ["m-q8_0-00001-of-00003.gguf", "m-q8_0-00002-of-00003.gguf"]);
        assert_eq!(sets[1].missing(), ["m-q8_0-00003-of-00003.gguf"]);
        // What is numbered otherwise is a model of its own.
        assert_eq!(of(&["m-1-of-2.gguf", "m-00003-of-00002.gguf"]).len(), 2);
    }

    #[test]
    fn a_quant_is_an_encoding_or_the_end_of_a_name() {
        let sets = of(&["m-Q4_K_M.gguf", "m-UD-Q4_K_M.gguf"]);
        let found = |quant: &str| {
            sets.iter().filter(|set| set.is_of(quant)).map(|set| set.stem.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(found("q4_k_m"), ["m-Q4_K_M", "m-UD-Q4_K_M"]);
        assert_eq!(found("ud-q4_k_m"), ["m-UD-Q4_K_M"]);
        assert_eq!(found("m-q4_k_m"), ["m-Q4_K_M"]);
        for none in ["K_M", "4_K_M", "Q4_K", "M", ""] {
            assert!(found(none).is_empty(), "{none}");
        }
    }
}
