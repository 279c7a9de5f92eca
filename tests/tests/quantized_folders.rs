//! A folder whose matrices are encoded while they are loaded gives the logits of the GGUF file that `convert` writes of
//! it, whose values are the same in another order.

use pumice_compile::Options;
use pumice_import::Model;
use pumice_models::{Conversion, LanguageModel, LanguageOptions, ModelError};
use pumice_tests::{Fixture, files};
use pumice_types::{DType, Encoding, Scheme, TensorView};
use std::fs::File;
use std::path::{Path, PathBuf};

const ASKED: [Encoding; 3] = [
    Encoding::Blocks(Scheme::Q8_0),
    // Rows of 64 are no whole blocks of it: blocks of 32 instead.
    Encoding::Blocks(Scheme::Q4_K),
    Encoding::Plain(DType::F16),
];

fn opened(path: &Path, quantize: Option<Encoding>) -> LanguageModel {
    LanguageModel::open(path, &LanguageOptions::default().quantize(quantize))
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn recomputing(model: LanguageModel) -> Model {
    model.recompute_model().expect("a graph over all tensors")
}

fn logits(fixture: &Fixture, model: &Model) -> Vec<f32> {
    let ids: Vec<i32> = (0..24).map(|i| 3 + 11 * i).collect();
    let exe = fixture.model(model, &Options::default());
    let input = [("ids", TensorView::i32(&ids, [1, ids.len() as u64]))];
    let out = exe.session().expect("a session").run(&input).expect("runs");
    out.get("logits").expect("there").to_vec::<f32>().expect("f32")
}

/// The largest distance, as a share of the range of all.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let range = a.iter().copied().fold(f32::MIN, f32::max) - a.iter().copied().fold(f32::MAX, f32::min);
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / range
}

/// Encodings of the tensors, in an order of their own.
fn encodings(model: &Model) -> Vec<Encoding> {
    // Factors of angles stand in a folder's configuration.
    let names = model.weights.names().into_iter().filter(|name| !name.starts_with("rope_"));
    let mut all: Vec<Encoding> =
        names.map(|name| model.weights.describe(name).expect("there").encoding).collect();
    all.sort_unstable_by_key(|encoding| encoding.name());
    all
}

/// The file that is written of a folder.
fn converted(folder: &Path, to: Encoding) -> Result<PathBuf, ModelError> {
    let conversion = Conversion::open(folder, to)?;
    let name = folder.file_name().expect("a name").to_string_lossy();
    let path = std::env::temp_dir().join(format!("pumice-quantized-{name}-{to}-{}.gguf", std::process::id()));
    conversion.write(&mut File::create(&path).expect("made"), |_, _| {}).expect("written");
    Ok(path)
}

#[test]
fn a_folder_is_as_the_file_that_convert_writes() {
    let fixture = Fixture::interpreter();
    let mut compared = 0;
    for folder in files::tiny_decoders() {
        for asked in ASKED {
            let encoded = recomputing(opened(&folder, Some(asked)));
            let (stored, got) = (recomputing(opened(&folder, None)), logits(&fixture, &encoded));
            let lost = apart(&got, &logits(&fixture, &stored));
            // Most weights in bf16 are ones in f16.
            let is_exact = lost == 0.0 && asked.plain().is_some();
            assert!(is_exact || (lost > 0.0 && lost < 0.5), "{} {asked}: {lost} is lost", folder.display());
            // Not every family has files, and those of GPT-2 have its matrices turned.
            let Ok(path) = converted(&folder, asked) else { continue };
            let file = recomputing(opened(&path, None));
            std::fs::remove_file(&path).expect("removed");
            if folder.ends_with("gpt2") {
                continue;
            }
            // A file has the norms of all heads in one tensor.
            if !folder.ends_with("stablelm12") {
                assert_eq!(encodings(&encoded), encodings(&file), "{} {asked}", folder.display());
            }
            let apart = apart(&got, &logits(&fixture, &file));
            assert!(apart < 1e-5, "{} {asked}: {apart} from the file", folder.display());
            compared += 1;
        }
    }
    assert!(compared >= 3 * 17, "{compared} compared");
}

#[test]
fn what_becomes_of_matrices_is_said() {
    let said = |name: &str, asked: Encoding| {
        let model = opened(&files::data().join("tiny_decoders").join(name), Some(asked));
        model.notes.last().expect("a note").0.clone()
    };
    let llama = said("llama", Scheme::Q4_K.into());
    assert!(llama.contains("as q4_k") && llama.contains("14 q5_0 (a row is no whole"), "{llama}");
    let gpt2 = said("gpt2", Scheme::Q8_0.into());
    assert!(
        gpt2.contains("1 q8_0")
            && gpt2.contains("8 bf16 (the folder stores it transposed; convert it to a GGUF"),
        "{gpt2}"
    );
}

/// A conversation that was saved of one is not gone on with by the other.
#[test]
fn encodings_are_part_of_which_model_it_is() {
    let folder = files::data().join("tiny_decoders").join("llama");
    let of = |asked: Option<Encoding>| opened(&folder, asked).fingerprint().expect("read");
    let all = [None, Some(ASKED[0]), Some(ASKED[1])].map(of);
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    assert_eq!(of(Some(ASKED[0])), all[1]);
}

#[test]
fn files_and_other_encodings_are_refused() {
    let refused = |path: PathBuf, asked: Encoding| {
        let options = LanguageOptions::default().quantize(asked);
        LanguageModel::open(path, &options).err().expect("refused").to_string()
    };
    let folder = files::data().join("tiny_decoders").join("llama");
    let file = refused(folder.join("model.gguf"), Scheme::Q8_0.into());
    assert!(file.contains("`quantize`") && file.contains("pumice convert"), "{file}");
    let other = refused(folder, Scheme::IQ4_NL.into());
    assert!(other.contains("iq4_nl is not written") && other.contains("q4_k"), "{other}");
}
