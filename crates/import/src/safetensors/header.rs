//! The header: bytes and a data length in, checked entries out. No file is touched here.
//!
//! A header that is accepted describes every byte of the data exactly once: entries neither overlap nor leave holes,
//! each spans what its dtype and shape need, and none ends past the file.

use super::file_type::FileType;
use crate::ENTRIES_LIMIT;
use crate::error::FormatProblem;
use indexmap::IndexMap;
use indexmap::map::Entry as MapEntry;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The largest header that the format allows.
pub const HEADER_LIMIT: u64 = 100_000_000;

/// The name that stands for what is no tensor.
const METADATA: &str = "__metadata__";

/// More axes than any tensor in use; keeps a hostile shape from growing.
const RANK_LIMIT: usize = 64;

/// Where a tensor lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Element type in the file's words.
    pub dtype: FileType,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// First byte, counted from the end of the header.
    pub begin: u64,
    /// One past the last byte.
    pub end: u64,
}

/// A checked header. It takes at most 8 bytes of memory for each byte of the file's header, while it is read and after.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Tensors in the order in which the header lists them.
    pub entries: IndexMap<String, Entry>,
}

impl Header {
    /// Parses and checks a header against the number of data bytes that follow it in the file.
    pub fn parse(bytes: &[u8], data_len: u64) -> Result<Header, FormatProblem> {
        if bytes.first() != Some(&b'{') {
            return Err(not_a_header("it does not begin with `{`"));
        }
        let text = std::str::from_utf8(bytes).map_err(not_a_header)?;
        let RawHeader { mut entries, count, duplicate } = serde_json::from_str(text).map_err(not_a_header)?;
        if let Some(name) = duplicate {
            return Err(FormatProblem::Duplicate(name));
        }
        if count > ENTRIES_LIMIT {
            return Err(FormatProblem::TooMany { count, limit: ENTRIES_LIMIT });
        }
        entries.iter().try_for_each(|(name, entry)| check_entry(name, entry, data_len))?;
        check_cover(&entries, data_len)?;
        entries.shrink_to_fit();
        Ok(Header { entries })
    }
}

/// Messages may quote the header; a hostile one is long.
fn not_a_header(reason: impl fmt::Display) -> FormatProblem {
    FormatProblem::Header(reason.to_string().chars().take(400).collect())
}

/// Whether an entry's offsets span what its dtype and shape need, inside the data.
fn check_entry(name: &str, entry: &Entry, data_len: u64) -> Result<(), FormatProblem> {
    let tensor = || name.to_owned();
    let Entry { dtype, shape, begin, end } = entry;
    let (begin, end) = (*begin, *end);
    if shape.len() > RANK_LIMIT {
        return Err(FormatProblem::Rank { tensor: tensor(), rank: shape.len() });
    }
    let bits = if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(dtype.bits, |n, &d| n.checked_mul(d))
    };
    let Some(bits) = bits else {
        return Err(FormatProblem::Overflow { tensor: tensor(), shape: shape.clone() });
    };
    if bits % 8 != 0 {
        return Err(FormatProblem::PartialByte { tensor: tensor(), shape: shape.clone() });
    }
    if end.checked_sub(begin) != Some(bits / 8) {
        return Err(FormatProblem::Span { tensor: tensor(), expected: bits / 8, begin, end });
    }
    if end > data_len {
        return Err(FormatProblem::Truncated { tensor: tensor(), end, available: data_len });
    }
    Ok(())
}

/// Whether the entries cover the data, each byte once.
fn check_cover(entries: &IndexMap<String, Entry>, data_len: u64) -> Result<(), FormatProblem> {
    let mut order: Vec<(&String, &Entry)> = entries.iter().collect();
    order.sort_by_key(|(_, e)| (e.begin, e.end));
    let mut position = 0;
    let mut previous = "";
    for (name, entry) in order {
        if entry.begin > position {
            return Err(FormatProblem::Hole { begin: position, end: entry.begin });
        }
        if entry.begin < position {
            let (tensor, other) = (name.clone(), previous.to_owned());
            return Err(FormatProblem::Overlap { tensor, other, begin: entry.begin });
        }
        position = entry.end;
        previous = name;
    }
    if position != data_len {
        return Err(FormatProblem::Hole { begin: position, end: data_len });
    }
    Ok(())
}

/// An entry as written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    dtype: FileType,
    shape: Shape,
    data_offsets: (u64, u64),
}

/// Extents; one more than the limit is kept, so that the entry can be refused with its name.
struct Shape(Vec<u64>);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        struct Extents;
        impl<'de> Visitor<'de> for Extents {
            type Value = Shape;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of extents")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                let mut extents = Vec::new();
                while let Some(extent) = seq.next_element::<u64>()? {
                    if extents.len() <= RANK_LIMIT {
                        extents.push(extent);
                    }
                }
                extents.shrink_to_fit();
                Ok(Shape(extents))
            }
        }
        deserializer.deserialize_seq(Extents)
    }
}

/// The header as written; the first name that appears twice is kept apart, and what passes the limit is counted alone.
#[derive(Default)]
struct RawHeader {
    entries: IndexMap<String, Entry>,
    /// Tensors described.
    count: usize,
    duplicate: Option<String>,
}

impl RawHeader {
    fn add(&mut self, name: String, raw: RawEntry) {
        self.count += 1;
        if self.count > ENTRIES_LIMIT {
            return;
        }
        let (begin, end) = raw.data_offsets;
        let entry = Entry { dtype: raw.dtype, shape: raw.shape.0, begin, end };
        match self.entries.entry(name) {
            MapEntry::Occupied(twice) => {
                self.duplicate.get_or_insert_with(|| twice.key().clone());
            }
            MapEntry::Vacant(place) => {
                place.insert(entry);
            }
        }
    }
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawHeader, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = RawHeader;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let (mut header, mut metadata) = (RawHeader::default(), false);
                while let Some(name) = map.next_key::<String>()? {
                    let named = |e: A::Error| de::Error::custom(format!("`{name}`: {e}"));
                    if name == METADATA {
                        map.next_value::<Metadata>().map_err(named)?;
                        if std::mem::replace(&mut metadata, true) {
                            header.duplicate.get_or_insert(name);
                        }
                        continue;
                    }
                    let entry = map.next_value::<RawEntry>().map_err(named)?;
                    header.add(name, entry);
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// The metadata: an object of strings, of which nothing is kept.
struct Metadata;

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
        struct Strings;
        impl<'de> Visitor<'de> for Strings {
            type Value = Metadata;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_unit<E>(self) -> Result<Metadata, E> {
                Ok(Metadata)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
                while map.next_entry::<String, String>()?.is_some() {}
                Ok(Metadata)
            }
        }
        deserializer.deserialize_any(Strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, data_len: u64) -> Result<Header, FormatProblem> {
        Header::parse(text.as_bytes(), data_len)
    }

    #[test]
    fn sound_headers() {
        let two = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[4,16]},
            "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[16,16]}}   "#;
        let header = parse(two, 16).expect("sound");
        assert_eq!(header.entries.keys().collect::<Vec<_>>(), ["b", "a", "e"]);
        assert_eq!(header.entries["b"].shape, [2, 3]);
        assert_eq!(parse("{}", 0), Ok(Header::default()));
    }

    #[test]
    fn each_fault_is_named() {
        use FormatProblem as P;
        let one = |dtype: &str, shape: &str, begin: u64, end: u64| {
            format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}}}"#)
        };
        let t = || "t".to_owned();
        let max = u64::MAX;
        let cases: Vec<(String, u64, P)> = vec![
            (one("F32", "[2]", 0, 7), 7, P::Span { tensor: t(), expected: 8, begin: 0, end: 7 }),
            (one("F32", "[2]", 8, 0), 8, P::Span { tensor: t(), expected: 8, begin: 8, end: 0 }),
            (one("F32", "[2]", 0, 8), 7, P::Truncated { tensor: t(), end: 8, available: 7 }),
            (one("F32", "[2]", 0, 8), 9, P::Hole { begin: 8, end: 9 }),
            (one("F32", "[2]", 1, 9), 9, P::Hole { begin: 0, end: 1 }),
            (one("F4", "[3]", 0, 1), 1, P::PartialByte { tensor: t(), shape: vec![3] }),
            (one("U8", &format!("[{max},2]"), 0, 1), 1, P::Overflow { tensor: t(), shape: vec![max, 2] }),
            (one("U8", &format!("[{}]", "1,".repeat(99) + "1"), 0, 1), 1, P::Rank { tensor: t(), rank: 65 }),
            (
                r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}}"#.into(),
                6,
                P::Overlap { tensor: "b".into(), other: "a".into(), begin: 2 },
            ),
            (
                r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#.into(),
                0,
                P::Duplicate("a".into()),
            ),
        ];
        for (text, data_len, expected) in cases {
            assert_eq!(parse(&text, data_len), Err(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused_with_the_name() {
        for text in [
            "",
            "[]",
            "{",
            " {}",
            "null",
            r#"{"a":1}"#,
            r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
        ] {
            assert!(matches!(parse(text, 4), Err(FormatProblem::Header(_))), "{text}");
        }
        let unknown = parse(r#"{"some.weight":{"dtype":"Q9","shape":[1],"data_offsets":[0,1]}}"#, 1);
        assert!(unknown.is_err_and(|e| e.to_string().contains("some.weight")));
        let extra = parse(r#"{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":0}}"#, 1);
        assert!(extra.is_err_and(|e| e.to_string().contains("`x`")));
    }
}
