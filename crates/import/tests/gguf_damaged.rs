//! GGUF files that are damaged: each fault is named, nothing is allocated for what a file only claims to hold.

use pumice_import::fuzz::within_memory;
use pumice_import::gguf::Reader;
use pumice_import::{FileKind, GgufPlace, GgufProblem as P, GgufWriter, ImportError};
use pumice_types::{DType, Scheme, TensorError};
use std::io::Cursor;
use std::path::PathBuf;

fn problem(file: Vec<u8>) -> Option<P> {
    let len = file.len() as u64;
    match Reader::new(PathBuf::from("x.gguf"), Cursor::new(file), len) {
        Ok(_) => None,
        Err(ImportError::Gguf { problem, .. }) => Some(problem),
        Err(other) => panic!("{other}"),
    }
}

/// Little-endian bytes one after the other.
macro_rules! bytes {
    ($($part:expr),* $(,)?) => {{
        let mut out = Vec::new();
        $(out.extend_from_slice(&Piece::piece(&$part));)*
        out
    }};
}

trait Piece {
    fn piece(&self) -> Vec<u8>;
}

impl Piece for u8 {
    fn piece(&self) -> Vec<u8> {
        vec![*self]
    }
}

impl Piece for u32 {
    fn piece(&self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
}

impl Piece for u64 {
    fn piece(&self) -> Vec<u8> {
        self.to_le_bytes().to_vec()
    }
}

/// A string with its length.
impl Piece for &str {
    fn piece(&self) -> Vec<u8> {
        bytes![self.len() as u64, self.as_bytes().to_vec()]
    }
}

impl Piece for Vec<u8> {
    fn piece(&self) -> Vec<u8> {
        self.clone()
    }
}

/// A file of `tensors` and `values` with what follows the counts.
fn file(tensors: u64, values: u64, rest: Vec<u8>) -> Vec<u8> {
    bytes![b"GGUF".to_vec(), 3u32, tensors, values, rest]
}

/// An entry of the tensor table.
fn entry(name: &str, extents: &[u64], ty: u32, offset: u64) -> Vec<u8> {
    let mut out = bytes![name, extents.len() as u32];
    extents.iter().for_each(|e| out.extend_from_slice(&e.to_le_bytes()));
    bytes![out, ty, offset]
}

/// Entries of F32 tensors `a`, `b`, ... in a file with padding and 128 bytes of data.
fn with_data(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = file(entries.len() as u64, 0, entries.concat());
    out.resize(out.len().next_multiple_of(32) + 128, 0);
    out
}

#[test]
fn truncated_at_every_byte() {
    let mut writer = GgufWriter::new();
    writer.metadata("a.name", "n\u{e4}me").expect("new");
    writer.metadata("a.scores", vec![0.5f32, 1.0]).expect("new");
    writer.tensor("w", DType::F32, &[2, 3]).expect("new");
    writer.tensor("q", Scheme::Q4_0, &[2, 32]).expect("new");
    writer.tensor("h", DType::F16, &[16]).expect("fills the alignment");
    let mut whole = Vec::new();
    writer.write(&mut whole, |_, _, _| Ok(())).expect("into memory");
    assert_eq!(problem(whole.clone()), None);
    for len in 0..whole.len() {
        let found = problem(whole[..len].to_vec()).unwrap_or_else(|| panic!("{len} bytes are read"));
        assert!(matches!(found, P::Truncated { .. } | P::Outside { .. }), "{len}: {found}");
        assert!(found.remedy().contains("get it again"));
    }
}

#[test]
fn other_files_versions_and_byte_orders_are_refused_by_name() {
    let begins = |magic: &[u8; 4], version: u32| bytes![magic.to_vec(), version, 0u64, 0u64];
    let cases = [
        (begins(b"ggml", 3), P::OtherFile(FileKind::Unknown), "give a GGUF file"),
        (begins(b"GGUF", 1), P::Version(1), "versions 2 and 3 are read"),
        (begins(b"GGUF", 0), P::Version(0), "versions 2 and 3 are read"),
        (begins(b"GGUF", 4), P::Version(4), "versions 2 and 3 are read"),
        (begins(b"GGUF", 3 << 24), P::BigEndian { version: 3 }, "little-endian GGUF version 3"),
    ];
    for (bytes, expected, says) in cases {
        assert_eq!(problem(bytes), Some(expected.clone()));
        assert!(format!("{expected}; {}", expected.remedy()).contains(says), "{expected}");
    }
    assert_eq!(problem(begins(b"GGUF", 3)), None, "no metadata and no tensor is a file");
}

/// Lengths and counts that no file holds, under a reader that would have to allocate 64 MiB and more for them.
#[test]
fn declared_lengths_allocate_nothing() {
    let zeros = vec![0u8; 64];
    within_memory(16 << 10, || {
        for count in [u64::MAX, u64::MAX / 8 + 1, 1 << 40, 1 << 26] {
            let key = |ty: u32| bytes!["k", ty];
            let array = |ty: u32| bytes![key(9), ty, count, zeros.clone()];
            let mut files = vec![
                file(count, 0, zeros.clone()),
                file(0, count, zeros.clone()),
                file(0, 1, bytes![key(8), count, zeros.clone()]),
                file(1, 0, bytes![count, zeros.clone()]),
            ];
            files.extend((0..=12).filter(|ty| *ty != 9).map(|ty| file(0, 1, array(ty))));
            for bytes in files {
                let found = problem(bytes).expect("nothing holds that");
                assert!(matches!(found, P::Truncated { .. } | P::NameTooLong { .. }), "{found}");
            }
        }
    });
}

/// A long file does not make its metadata believable.
#[test]
fn metadata_has_a_limit_of_its_own() {
    let start = Cursor::new(file(0, 1, bytes!["k", 9u32, 0u32, 1u64 << 40]));
    let error = Reader::new(PathBuf::from("long.gguf"), start, 2 << 40).expect_err("a tebibyte of metadata");
    let place = GgufPlace::Value("k".into());
    assert!(
        matches!(error, ImportError::Gguf { problem: P::HeaderTooLarge { place: p, .. }, .. } if p == place)
    );
}

#[test]
fn faults_of_metadata_are_named() {
    let k = || "k".to_owned();
    let value = || GgufPlace::Value(k());
    let one = |rest: Vec<u8>| file(0, 1, bytes!["k", rest]);
    let bad = vec![0xFFu8];
    let alignment = |ty: u32, value: Vec<u8>| file(0, 1, bytes!["general.alignment", ty, value]);
    let cases = [
        (file(0, 2, bytes!["k", 0u32, 1u8, "k", 0u32, 1u8]), P::DuplicateKey(k())),
        (one(bytes![13u32, 0u64]), P::ValueType { key: k(), number: 13 }),
        (one(bytes![9u32, 13u32, 0u64]), P::ValueType { key: k(), number: 13 }),
        (one(bytes![9u32, 9u32, 1u64, 9u32, 0u32, 0u64]), P::NestedArray(k())),
        (one(bytes![7u32, 2u8]), P::Bool { key: k(), byte: 2 }),
        (one(bytes![9u32, 7u32, 2u64, 1u8, 3u8]), P::Bool { key: k(), byte: 3 }),
        (one(bytes![8u32, 1u64, bad.clone()]), P::Utf8 { place: value() }),
        (one(bytes![9u32, 8u32, 2u64, "a", 1u64, bad.clone()]), P::Utf8 { place: value() }),
        (file(0, 1, bytes![1u64, bad.clone(), 0u32, 1u8]), P::Utf8 { place: GgufPlace::Key(0) }),
        (
            file(0, 1, bytes!["x".repeat(65_536).as_str(), 0u32, 1u8]),
            P::NameTooLong { place: GgufPlace::Key(0), bytes: 65_536, limit: 65_535 },
        ),
        (alignment(4, bytes![0u32]), P::Alignment("u32 0".into())),
        (alignment(4, bytes![48u32]), P::Alignment("u32 48".into())),
        (alignment(10, bytes![32u64]), P::Alignment("u64 32".into())),
    ];
    for (bytes, expected) in cases {
        assert_eq!(problem(bytes), Some(expected));
    }
    // A character that two strings share is in neither.
    let split = one(bytes![9u32, 8u32, 2u64, 1u64, 0xC3u8, 1u64, 0xA4u8]);
    assert_eq!(problem(split), Some(P::Utf8 { place: value() }));
}

#[test]
fn faults_of_the_tensor_table_are_named() {
    let t = |name: &str| name.to_owned();
    let a = |offset: u64| entry("a", &[8], 0, offset);
    let b = |offset: u64| entry("b", &[8], 0, offset);
    let outside = |offset: u64, bytes: u64| P::Outside { tensor: t("a"), offset, bytes, available: 128 };
    let too_large = |shape: &[u64]| TensorError::TooLarge { shape: shape.to_vec() };
    let cut = TensorError::CutBlock { encoding: Scheme::Q4_0.into(), shape: vec![32, 8] };
    let cases = [
        (vec![a(0), a(32)], P::DuplicateTensor(t("a"))),
        (vec![entry("a", &[1; 9], 0, 0)], P::Rank { tensor: t("a"), rank: 9, limit: 8 }),
        (vec![a(33)], P::Misaligned { tensor: t("a"), offset: 33, alignment: 32 }),
        (vec![a(128)], outside(128, 32)),
        (vec![a(u64::MAX - 31)], outside(u64::MAX - 31, 32)),
        (vec![entry("a", &[33], 0, 0)], outside(0, 132)),
        (vec![entry("a", &[33], 28, 128)], outside(128, 1)),
        (vec![a(32), b(32)], P::Overlap { tensor: t("b"), other: t("a"), offset: 32 }),
        (vec![entry("b", &[16], 0, 0), a(32)], P::Overlap { tensor: t("a"), other: t("b"), offset: 32 }),
        (vec![a(0), entry("x", &[1], 28, 0)], P::Overlap { tensor: t("a"), other: t("x"), offset: 0 }),
        (
            vec![entry("a", &[u64::MAX, 2], 0, 0)],
            P::Extents { tensor: t("a"), source: too_large(&[2, u64::MAX]) },
        ),
        (
            vec![entry("a", &[u64::MAX, 2], 28, 0)],
            P::Extents { tensor: t("a"), source: too_large(&[2, u64::MAX]) },
        ),
        (vec![entry("a", &[u64::MAX], 0, 0)], P::Extents { tensor: t("a"), source: too_large(&[u64::MAX]) }),
        (vec![entry("a", &[8, 32], 2, 0)], P::Extents { tensor: t("a"), source: cut }),
    ];
    for (entries, expected) in cases {
        assert_eq!(problem(with_data(&entries)), Some(expected));
    }
    // Any order, gaps, and empty tensors are sound.
    assert_eq!(problem(with_data(&[b(96), a(0), entry("e", &[0, 9], 0, 96)])), None);
}
