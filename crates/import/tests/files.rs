//! Files on disk: sound ones read back, damaged ones refused with their name and a remedy, names kept inside.

use pumice_import::{FormatProblem, ImportError, IndexProblem, ModelFolder, SafetensorsFile, WeightSource};
use pumice_types::DType;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own for one test, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("import-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a scratch folder can be made");
        Scratch(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("a folder can be made");
        fs::write(&path, bytes).expect("a file can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn file_bytes(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

const TWO: &str = r#"{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"h":{"dtype":"F16","shape":[3],"data_offsets":[8,14]},"d":{"dtype":"F64","shape":[1],"data_offsets":[14,22]}}"#;

fn two() -> Vec<u8> {
    let mut data = Vec::new();
    data.extend_from_slice(&1.5f32.to_le_bytes());
    data.extend_from_slice(&(-2.0f32).to_le_bytes());
    data.extend_from_slice(&[1, 2, 3, 4, 5, 6]);
    data.extend_from_slice(&[0; 8]);
    file_bytes(TWO, &data)
}

#[test]
fn reads_what_was_written() {
    let scratch = Scratch::new("reads");
    let file = SafetensorsFile::open(&scratch.write("a.safetensors", &two())).expect("sound");
    assert_eq!(file.names(), ["w", "h", "d"]);
    let info = file.describe("w").expect("there");
    assert_eq!((info.encoding, info.shape.as_slice(), info.bytes.0), (DType::F32.into(), &[2, 1][..], 8));
    assert_eq!(file.load("w").expect("there").to_vec::<f32>(), Ok(vec![1.5, -2.0]));
    assert_eq!(file.load("h").expect("there").bytes(), [1, 2, 3, 4, 5, 6]);
    assert!(matches!(file.load("d"), Err(ImportError::UnsupportedDType { dtype, .. }) if dtype == "F64"));
    assert!(matches!(
        file.read("w", &mut [0; 4]),
        Err(ImportError::BufferLength { expected: 8, given: 4, .. })
    ));
    let unknown = file.load("model.w").expect_err("not there");
    assert!(matches!(unknown, ImportError::UnknownTensor { .. }), "{unknown}");
}

#[test]
fn truncated_at_every_byte() {
    let scratch = Scratch::new("truncated");
    let whole = two();
    for len in 0..whole.len() {
        let path = scratch.write("cut.safetensors", &whole[..len]);
        match SafetensorsFile::open(&path) {
            Err(ImportError::Safetensors { path: named, problem }) => {
                assert_eq!(named, path);
                let cut = matches!(
                    problem,
                    FormatProblem::TooShort(_)
                        | FormatProblem::HeaderTruncated { .. }
                        | FormatProblem::Truncated { .. }
                );
                assert!(cut && !problem.remedy().is_empty(), "{len}: {problem}");
            }
            other => panic!("{len} bytes: {other:?}"),
        }
    }
    for extra in 1..9 {
        let mut long = whole.clone();
        long.extend(std::iter::repeat_n(0, extra));
        let path = scratch.write("long.safetensors", &long);
        let error = SafetensorsFile::open(&path).expect_err("bytes that belong to nobody");
        assert!(
            matches!(error, ImportError::Safetensors { problem: FormatProblem::Hole { .. }, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_declared_length_allocates_nothing() {
    let scratch = Scratch::new("declared");
    for (declared, limit) in [(u64::MAX, true), (100_000_001, true), (99_999_999, false)] {
        let mut bytes = declared.to_le_bytes().to_vec();
        bytes.extend_from_slice(b"{}");
        let error = SafetensorsFile::open(&scratch.write("x.safetensors", &bytes)).expect_err("too long");
        let ImportError::Safetensors { problem, .. } = error else { panic!("{error}") };
        assert_eq!(matches!(problem, FormatProblem::HeaderTooLarge { .. }), limit, "{problem}");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let scratch = Scratch::new("nofile");
    let missing = SafetensorsFile::open(&scratch.0.join("none.safetensors")).expect_err("missing");
    assert!(matches!(missing, ImportError::Missing { .. }), "{missing}");
    let folder = SafetensorsFile::open(&scratch.0).expect_err("a folder");
    assert!(matches!(folder, ImportError::WrongKind { .. }), "{folder}");
    assert!(matches!(ModelFolder::open(scratch.0.join("none")), Err(ImportError::Missing { .. })));
    let file = scratch.write("f", b"x");
    assert!(matches!(ModelFolder::open(file), Err(ImportError::WrongKind { .. })));
    let folder = ModelFolder::open(&scratch.0).expect("there");
    scratch.write("pytorch_model.bin", b"x");
    let error = folder.weights().err().expect("no safetensors").to_string();
    assert!(
        error.contains("pytorch_model.bin") && error.contains("save the model as safetensors"),
        "{error}"
    );
    assert!(matches!(folder.read_text("f", 0), Err(ImportError::TooLarge { bytes: 1, limit: 0, .. })));
    assert!(matches!(folder.read_text("none", 9), Ok(None)));
}

fn index(map: &str) -> String {
    format!(r#"{{"metadata":{{"total_size":22}},"weight_map":{map}}}"#)
}

fn open_index(scratch: &Scratch, map: &str) -> Result<Box<dyn WeightSource>, ImportError> {
    scratch.write("model.safetensors.index.json", index(map).as_bytes());
    ModelFolder::open(&scratch.0).expect("there").weights()
}

#[test]
fn shards_are_one_source() {
    let scratch = Scratch::new("shards");
    scratch.write("m-1.safetensors", &two());
    scratch.write(
        "sub/m-2.safetensors",
        &file_bytes(r#"{"v":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#, &[9]),
    );
    let weights =
        open_index(&scratch, r#"{"v":"sub/m-2.safetensors","w":"m-1.safetensors"}"#).expect("sound");
    assert_eq!(weights.names(), ["v", "w"]);
    assert_eq!(weights.load("v").expect("there").bytes(), [9]);
    assert_eq!(weights.load("w").expect("there").to_vec::<f32>(), Ok(vec![1.5, -2.0]));
    assert!(matches!(weights.load("h"), Err(ImportError::UnknownTensor { .. })));
}

#[test]
fn a_contradictory_index_is_refused() {
    let scratch = Scratch::new("index");
    scratch.write("m.safetensors", &two());
    let problem = |map: &str| match open_index(&scratch, map) {
        Err(ImportError::Index { problem, .. }) => problem,
        other => panic!("{map}: {:?}", other.err()),
    };
    assert_eq!(
        problem(r#"{"z":"m.safetensors"}"#),
        IndexProblem::NotInShard { tensor: "z".into(), shard: "m.safetensors".into() }
    );
    assert_eq!(problem(r#"{"w":"m.safetensors","w":"m.safetensors"}"#), IndexProblem::Duplicate("w".into()));
    assert_eq!(problem("{}"), IndexProblem::Empty);
    assert!(matches!(open_index(&scratch, r#"{"w":"gone.safetensors"}"#), Err(ImportError::Missing { .. })));
    assert!(matches!(open_index(&scratch, r#"{"w":7}"#), Err(ImportError::Json { .. })));
}

#[test]
fn names_stay_inside_the_folder() {
    let outer = Scratch::new("inside");
    outer.write("secret.safetensors", &two());
    let scratch = Scratch(outer.0.join("model"));
    scratch.write("m.safetensors", &two());
    let absolute = outer.0.join("secret.safetensors").display().to_string();
    for named in
        ["../secret.safetensors", "a/../../secret.safetensors", &absolute, "", "C:\\\\x", "/", "a\\\\..\\\\b"]
    {
        let result = open_index(&scratch, &format!(r#"{{"w":"{named}"}}"#));
        assert!(matches!(result, Err(ImportError::Path { .. })), "{named}: {:?}", result.err());
    }
    link(&outer.0.join("secret.safetensors"), &scratch.0.join("link.safetensors"));
    link(&outer.0, &scratch.0.join("up"));
    link(Path::new("m.safetensors"), &scratch.0.join("alias.safetensors"));
    for named in ["link.safetensors", "up/secret.safetensors"] {
        let result = open_index(&scratch, &format!(r#"{{"w":"{named}"}}"#));
        assert!(matches!(result, Err(ImportError::Path { .. })), "{named}: {:?}", result.err());
    }
    assert!(
        open_index(&scratch, r#"{"w":"alias.safetensors"}"#).is_ok(),
        "a link that stays inside is a name"
    );
    let folder = ModelFolder::open(&scratch.0).expect("there");
    assert!(matches!(folder.subfolder("up", Path::new("modules.json")), Err(ImportError::Path { .. })));
}

/// Every file of a snapshot in the hub's cache is a link; shards of models in such a cache were refused.
#[test]
fn a_snapshot_of_the_hub_is_made_of_links_into_its_blobs() {
    let outer = Scratch::new("snapshot");
    outer.write("models--a--b/blobs/11", &two());
    outer.write("models--a--other/blobs/22", &two());
    outer.write("blobs/33", &two());
    let scratch = Scratch(outer.0.join("models--a--b/snapshots/0123"));
    fs::create_dir_all(&scratch.0).expect("a folder");
    link(Path::new("../../blobs/11"), &scratch.0.join("m.safetensors"));
    link(Path::new("../../blobs/33"), &outer.0.join("models--a--b/blobs/shared"));
    link(Path::new("../../blobs/shared"), &scratch.0.join("shared.safetensors"));
    link(Path::new("../../../models--a--other/blobs/22"), &scratch.0.join("other.safetensors"));
    for named in ["m.safetensors", "shared.safetensors"] {
        let weights = open_index(&scratch, &format!(r#"{{"w":"{named}"}}"#)).expect("sound");
        assert_eq!(weights.names(), ["w"]);
    }
    let result = open_index(&scratch, r#"{"w":"other.safetensors"}"#);
    assert!(matches!(result, Err(ImportError::Path { .. })), "{:?}", result.err());
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link can be made");
}

#[cfg(windows)]
fn link(to: &Path, at: &Path) {
    if to.is_dir() {
        std::os::windows::fs::symlink_dir(to, at).expect("a link can be made");
    } else {
        std::os::windows::fs::symlink_file(to, at).expect("a link can be made");
    }
}

#[test]
fn reading_a_file_that_was_cut_later_fails_typed() {
    let scratch = Scratch::new("cutlater");
    let path = scratch.write("a.safetensors", &two());
    let file = SafetensorsFile::open(&path).expect("sound");
    fs::OpenOptions::new().write(true).open(&path).and_then(|f| f.set_len(20)).expect("cut");
    assert!(matches!(file.load("w"), Err(ImportError::Io { .. })));
}
