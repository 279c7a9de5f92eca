//! GGUF files that are sound: what was written is read back; typed getters; types that are not read; files on disk.

use pumice_import::gguf::Reader;
use pumice_import::{
    GgmlType, GgufFile, GgufProblem, GgufStrings, GgufValue, GgufWriteError, GgufWriter, ImportError,
    SeededWeights, WeightSource,
};
use pumice_types::{DType, Encoding, Scheme};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

fn open(file: Vec<u8>) -> Result<Reader<Cursor<Vec<u8>>>, ImportError> {
    let len = file.len() as u64;
    Reader::new(PathBuf::from("x.gguf"), Cursor::new(file), len)
}

/// A file with the metadata and the tensors of a source.
fn file_of(metadata: &[(&str, GgufValue)], weights: &SeededWeights) -> Vec<u8> {
    let mut writer = GgufWriter::new();
    for (key, value) in metadata {
        writer.metadata(key, value.clone()).expect("new keys");
    }
    for name in weights.names() {
        let info = weights.describe(name).expect("there");
        writer.tensor(name, info.encoding, &info.shape).expect("new names");
    }
    let mut file = Vec::new();
    writer.write(&mut file, |name, at, piece| weights.read_at(name, at, piece)).expect("into memory");
    file
}

/// A value of every type.
fn every_value() -> Vec<(&'static str, GgufValue)> {
    vec![
        ("u8", u8::MAX.into()),
        ("i8", i8::MIN.into()),
        ("u16", u16::MAX.into()),
        ("i16", i16::MIN.into()),
        ("u32", u32::MAX.into()),
        ("i32", i32::MIN.into()),
        ("f32", 1.5f32.into()),
        ("bool", true.into()),
        ("string", "gr\u{fc}n".into()),
        ("u64", u64::MAX.into()),
        ("i64", i64::MIN.into()),
        ("f64", 1e300f64.into()),
        ("u8s", vec![0u8, 255].into()),
        ("i8s", vec![-1i8].into()),
        ("u16s", vec![1u16].into()),
        ("i16s", vec![-1i16].into()),
        ("u32s", vec![1u32].into()),
        ("i32s", vec![-1i32, 7].into()),
        ("f32s", vec![0.25f32, -1.0].into()),
        ("bools", vec![true, false].into()),
        ("strings", ["", "a", "\u{2581}b", ""].iter().collect::<GgufStrings>().into()),
        ("u64s", vec![u64::MAX].into()),
        ("i64s", vec![-1i64].into()),
        ("f64s", Vec::<f64>::new().into()),
    ]
}

#[test]
fn every_metadata_type_comes_back_in_order() {
    let written = every_value();
    let file = open(file_of(&written, &SeededWeights::new(0))).expect("sound");
    let read: Vec<_> = file.metadata().iter().map(|(key, value)| (key, value.clone())).collect();
    assert_eq!(read, written);
    assert_eq!((file.header().version, file.header().alignment), (3, 32));
    let strings = file.metadata().strings("strings").expect("there");
    assert_eq!(strings.iter().collect::<Vec<_>>(), ["", "a", "\u{2581}b", ""]);
    assert_eq!((strings.get(2), strings.get(4)), (Some("\u{2581}b"), None));
}

#[test]
fn every_encoding_comes_back() {
    for alignment in [1u32, 8, 32, 4096] {
        let mut weights = SeededWeights::new(5);
        for encoding in Encoding::all().filter(|e| GgmlType::of(*e).is_some()) {
            weights.add(&format!("{encoding}.weight"), encoding, &[3, 2, 256]).expect("whole blocks");
        }
        weights.add("none", DType::F16, &[0, 7]).expect("empty");
        weights.add("scalar", DType::F32, &[]).expect("one element");
        weights.add("last", DType::I8, &[5]).expect("odd");
        let bytes = file_of(&[("general.alignment", alignment.into())], &weights);
        let file = open(bytes).expect("sound");
        assert_eq!(file.names(), weights.names());
        for name in weights.names() {
            assert_eq!(file.describe(name).expect("there"), weights.describe(name).expect("there"));
            assert_eq!(file.load(name).expect("there"), weights.load(name).expect("there"), "{name}");
        }
        let aligned = |offset: u64| (offset + file.header().data_begin).is_multiple_of(u64::from(alignment));
        assert!(file.tensors().all(|(_, t)| aligned(t.offset)));
    }
}

/// Version 2 has the same form.
#[test]
fn version_2_is_read() {
    let mut file = file_of(&every_value(), &SeededWeights::new(0));
    file[4] = 2;
    assert_eq!(open(file).expect("sound").header().version, 2);
}

#[test]
fn getters_say_key_expected_and_found() {
    let file = open(file_of(&every_value(), &SeededWeights::new(0))).expect("sound");
    let m = file.metadata();
    let unsigned = ["u8", "u16", "u32", "u64"].map(|key| m.u64(key).expect("unsigned"));
    assert_eq!(unsigned, [u8::MAX.into(), u16::MAX.into(), u32::MAX.into(), u64::MAX]);
    assert_eq!(
        (m.f32("f32").ok(), m.bool("bool").ok(), m.str("string").ok()),
        (Some(1.5), Some(true), Some("gr\u{fc}n"))
    );
    assert_eq!(m.i32s("i32s").expect("there"), [-1, 7]);
    assert_eq!(m.f32s("f32s").expect("there"), [0.25, -1.0]);
    assert!(matches!(m.u64_if_any("none"), Ok(None)) && matches!(m.strings_if_any("none"), Ok(None)));
    assert!(matches!(m.str("none"), Err(ImportError::MissingKey { key, .. }) if key == "none"));
    let wrong: [(Result<(), ImportError>, &str, &str); 7] = [
        (m.u64("i64").map(|_| ()), "i64", "i64 -9223372036854775808"),
        (m.u64("f32").map(|_| ()), "f32", "f32 1.5"),
        (m.f32("f64").map(|_| ()), "f64", "f64 1"),
        (m.bool("u8").map(|_| ()), "u8", "u8 255"),
        (m.str_if_any("strings").map(|_| ()), "strings", "array of 4 string"),
        (m.strings("string").map(|_| ()), "string", "string \"gr\u{fc}n\""),
        (m.f32s("i32s").map(|_| ()), "i32s", "array of 2 i32"),
    ];
    for (result, key, what) in wrong {
        let error = result.expect_err("another type");
        assert!(
            matches!(&error, ImportError::WrongValue { key: k, found, .. }
            if k == key && found.starts_with(what)),
            "{error}"
        );
        assert!(error.to_string().contains("is needed"), "{error}");
    }
}

/// One exotic tensor does not keep the others from being read, nor the file from being inspected.
#[test]
fn a_type_that_is_not_read_is_refused_with_its_name() {
    let mut weights = SeededWeights::new(0);
    weights.add("a", DType::F32, &[2, 3]).expect("small");
    weights.add("b", DType::F32, &[2]).expect("small");
    let sound = file_of(&[], &weights);
    // Header, then the entry of `a`: name, rank, two extents, type.
    let at = 24 + (8 + 1) + 4 + 16;
    for (number, name) in [(28u32, "f64"), (16, "iq2_xxs"), (9999, "9999")] {
        let mut bytes = sound.clone();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        let file = open(bytes).expect("can be inspected");
        let (_, tensor) = file.tensors().next().expect("two");
        assert_eq!((tensor.ty, &tensor.shape[..], tensor.bytes), (GgmlType(number), &[2, 3][..], None));
        for error in [file.describe("a").map(|_| ()), file.load("a").map(|_| ()), file.read("a", &mut [])] {
            let error = error.expect_err("not read");
            assert!(matches!(error, ImportError::UnsupportedDType { .. }), "{error}");
            assert!(error.to_string().contains("`a`") && error.to_string().contains(name), "{error}");
        }
        assert_eq!(file.load("b").expect("sound"), weights.load("b").expect("there"));
        assert!(matches!(file.describe("c"), Err(ImportError::UnknownTensor { .. })));
    }
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let mut w = GgufWriter::new();
    w.metadata("a", 1u8).expect("new");
    w.tensor("t", DType::F32, &[1]).expect("new");
    let long = "x".repeat(65_536);
    let problems = [
        w.metadata("a", 2u8),
        w.metadata(&long, 2u8),
        w.metadata("general.alignment", 48u32),
        w.metadata("general.alignment", 0u32),
        w.metadata("general.alignment", 64u64),
        w.tensor("t", DType::F32, &[1]),
        w.tensor(&long, DType::F32, &[1]),
        w.tensor("r", DType::F32, &[1; 9]),
        w.tensor("q", Scheme::Q4_0, &[33]),
        w.tensor("o", DType::F32, &[u64::MAX, 2]),
    ];
    for (i, result) in problems.into_iter().enumerate() {
        let error = result.expect_err("breaks the format");
        assert!(matches!(error, GgufWriteError::Problem(_)), "{i}: {error}");
    }
    let no_type = w.tensor("u", DType::U8, &[1]).expect_err("GGUF has none");
    assert!(matches!(no_type, GgufWriteError::NoType { .. }), "{no_type}");
    w.tensor("huge", DType::I8, &[u64::MAX]).expect("fits 64 bits");
    w.tensor("after", DType::I8, &[1]).expect("fits 64 bits");
    let error = w.write(&mut Vec::new(), |_, _, _| Ok(())).expect_err("offsets do not fit");
    assert!(matches!(error, GgufWriteError::Problem(GgufProblem::Outside { .. })), "{error}");
}

/// A full disk, and a source that fails.
#[test]
fn errors_of_output_and_source_are_passed_on() {
    let mut writer = GgufWriter::new();
    writer.tensor("t", DType::I8, &[64]).expect("new");
    let error = writer.write(&mut [0u8; 80].as_mut_slice(), |_, _, _| Ok(())).expect_err("full");
    assert!(matches!(error, GgufWriteError::Io(_)), "{error}");
    let none = SeededWeights::new(0);
    let error = writer.write(&mut Vec::new(), |name, at, piece| none.read_at(name, at, piece));
    assert!(matches!(error, Err(GgufWriteError::Tensor(ImportError::UnknownTensor { .. }))));
}

/// Pieces are whole blocks, in order, and no larger than a mebibyte.
#[test]
fn a_large_tensor_is_asked_for_in_pieces() {
    let mut writer = GgufWriter::new();
    writer.tensor("t", Scheme::Q6_K, &[64, 256 * 256]).expect("new");
    let mut next = 0;
    let write = writer.write(&mut io::sink(), |name, at, piece| {
        assert_eq!((name, at, piece.len() % 210), ("t", next, 0));
        assert!(piece.len() <= 1 << 20);
        next += piece.len() as u64;
        Ok(())
    });
    assert!(write.is_ok() && next == 64 * 256 * 210, "{next}");
}

/// Bytes without memory: a header, then the low byte of each position.
#[derive(Debug)]
struct Far {
    header: Vec<u8>,
    position: u64,
}

impl Read for Far {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        for byte in out.iter_mut() {
            let of_header = usize::try_from(self.position).ok().and_then(|at| self.header.get(at));
            *byte = of_header.copied().unwrap_or(self.position as u8);
            self.position += 1;
        }
        Ok(out.len())
    }
}

impl Seek for Far {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(position) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        self.position = position;
        Ok(position)
    }
}

/// Offsets are 64 bits end to end.
#[test]
fn tensors_past_4_gib() {
    let mut writer = GgufWriter::new();
    writer.tensor("large", DType::I8, &[5 << 30]).expect("new");
    writer.tensor("last", DType::I8, &[4]).expect("new");
    // Header and padding are what is written before the first piece is asked for.
    let mut header = Vec::new();
    let stop = || ImportError::Unmakeable { tensor: String::new(), reason: String::new() };
    writer.write(&mut header, |_, _, _| Err(stop())).expect_err("stopped");
    let begin = header.len() as u64 + (5 << 30);
    let far = |len| Reader::new(PathBuf::from("far.gguf"), Far { header: header.clone(), position: 0 }, len);
    let file = far(begin + 4).expect("sound");
    let expected: Vec<u8> = (begin..begin + 4).map(|at| at as u8).collect();
    assert_eq!(file.load("last").expect("there").bytes(), expected);
    let short = far(begin + 3).expect_err("a byte is missing").to_string();
    assert!(short.contains("`last`"), "{short}");
}

#[test]
fn files_on_disk() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("small-{}.gguf", std::process::id()));
    let mut weights = SeededWeights::new(2);
    weights.add("w", Scheme::Q5_K, &[2, 256]).expect("whole blocks");
    let bytes = file_of(&every_value(), &weights);
    std::fs::write(&path, &bytes).expect("small");
    let file = GgufFile::open(&path).expect("sound");
    assert_eq!(file.load("w").expect("there"), weights.load("w").expect("there"));
    assert!(matches!(file.read("w", &mut [0; 351]), Err(ImportError::BufferLength { expected: 352, .. })));
    std::fs::OpenOptions::new().write(true).open(&path).and_then(|f| f.set_len(300)).expect("cut");
    assert!(matches!(file.load("w"), Err(ImportError::Io { .. })), "cut while it was open");
    drop(file);
    std::fs::remove_file(&path).expect("there");
    let missing = GgufFile::open(&path).expect_err("removed");
    assert!(matches!(missing, ImportError::Missing { .. }), "{missing}");
    assert!(matches!(GgufFile::open(env!("CARGO_TARGET_TMPDIR")), Err(ImportError::WrongKind { .. })));
}
