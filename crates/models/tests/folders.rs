//! Model folders: the four tiny ones are read as they were written, and every damage is named.

use pumice_import::{ImportError, SafetensorsFile, WeightSource};
use pumice_models::{EncoderFolder, Family, ModelError, Pooling, SentenceOverrides};
use std::fs;
use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

fn open(name: &str) -> EncoderFolder {
    EncoderFolder::open(data().join("tiny").join(name), &SentenceOverrides::default()).expect("sound")
}

fn sentences() -> Vec<String> {
    let text = fs::read_to_string(data().join("minilm/sentences.txt")).expect("checked in");
    text.lines().map(str::to_owned).collect()
}

fn golden_ids(path: &Path) -> (Vec<i32>, Vec<i32>) {
    let golden = SafetensorsFile::open(path).expect("checked in");
    let ints = |name| golden.load(name).expect("in the file").to_vec::<i32>().expect("i32");
    (ints("ids"), ints("lengths"))
}

#[test]
fn families_and_layouts_are_read() {
    let bert = open("bert");
    assert_eq!(
        (bert.config.family, bert.spec.pooling, bert.spec.normalize),
        (Family::Bert, Pooling::Mean, true)
    );
    assert_eq!((bert.spec.max_tokens, bert.notes.len()), (48, 0));
    let roberta = open("roberta");
    assert_eq!(
        (roberta.config.family, roberta.spec.pooling, roberta.spec.normalize),
        (Family::Roberta, Pooling::Mean, true)
    );
    assert_eq!((roberta.spec.max_tokens, roberta.config.first_position), (64, 2));
    let xlmr = open("xlmr");
    assert_eq!(
        (xlmr.config.family, xlmr.spec.pooling, xlmr.spec.normalize),
        (Family::Roberta, Pooling::Max, false)
    );
    assert_eq!((xlmr.spec.max_tokens, xlmr.config.max_tokens()), (40, 48));
    let distil = open("distilbert");
    assert_eq!(
        (distil.config.family, distil.spec.pooling, distil.spec.normalize),
        (Family::DistilBert, Pooling::Cls, false)
    );
    assert_eq!(distil.spec.max_tokens, 24);
}

/// Ids of every sentence, one tensor each, against those that the Python tokenizers gave.
#[test]
fn token_ids_are_those_of_the_reference() {
    for name in ["bert", "roberta", "xlmr", "distilbert"] {
        let folder = open(name);
        let tokenizer = folder.tokenizer().expect("sound");
        let batch = tokenizer.encode_batch(&sentences()).expect("encodes");
        let (ids, lengths) = golden_ids(&data().join("tiny").join(name).join("golden.safetensors"));
        assert_eq!(batch.lengths, lengths, "{name}");
        assert_eq!(
            batch.seq as u64, folder.spec.max_tokens,
            "{name}: the longest texts are cut at the limit"
        );
        for (row, &length) in lengths.iter().enumerate() {
            let at = row * batch.seq..row * batch.seq + length as usize;
            assert_eq!(batch.ids[at.clone()], ids[at], "{name} row {row}");
            let padding = &batch.ids[row * batch.seq + length as usize..(row + 1) * batch.seq];
            assert!(padding.iter().all(|&id| id == tokenizer.pad()), "{name} row {row}");
        }
    }
}

/// The real MiniLM folder, named by PUMICE_MINILM; its tokenizer pads to 128 by itself, which must not show.
#[test]
#[ignore = "model: the MiniLM folder, named by PUMICE_MINILM"]
fn minilm_ids_are_those_of_the_reference() {
    let path = std::env::var_os("PUMICE_MINILM").expect("PUMICE_MINILM names the model's folder");
    let folder = EncoderFolder::open(path, &SentenceOverrides::default()).expect("sound");
    assert_eq!(
        (folder.spec.max_tokens, folder.spec.pooling, folder.spec.normalize),
        (256, Pooling::Mean, true)
    );
    let batch = folder.tokenizer().expect("sound").encode_batch(&sentences()).expect("encodes");
    let (ids, lengths) = golden_ids(&data().join("minilm/golden.safetensors"));
    assert_eq!((batch.ids, batch.lengths), (ids, lengths));
}

#[test]
fn empty_texts_and_batches_are_rows() {
    let tokenizer = open("bert").tokenizer().expect("sound");
    let batch = tokenizer.encode_batch(&["", "Hello", "   "]).expect("encodes");
    assert_eq!((batch.batch, batch.lengths[0], batch.lengths[2]), (3, 2, 2));
    let none = tokenizer.encode_batch::<&str>(&[]).expect("nothing to do");
    assert_eq!((none.batch, none.seq, none.ids.len()), (0, 1, 0));
}

/// A copy of a tiny folder that a test may damage.
struct Copy(PathBuf);

impl Copy {
    fn of(model: &str, test: &str) -> Copy {
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("models-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        copy(&data().join("tiny").join(model), &path);
        Copy(path)
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.0.join(file)).expect("there");
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(self.0.join(file), text.replace(from, to)).expect("written");
    }

    fn open(&self) -> Result<EncoderFolder, ModelError> {
        EncoderFolder::open(&self.0, &SentenceOverrides::default())
    }

    fn refused(&self) -> String {
        self.open().expect_err("damaged").to_string()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("there") {
        let entry = entry.expect("readable");
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
}

#[test]
fn missing_files_are_named_with_a_remedy() {
    for (file, remedy) in
        [("config.json", "Hugging Face layout"), ("1_Pooling/config.json", "choose a pooling")]
    {
        let folder = Copy::of("bert", "missing");
        fs::remove_file(folder.0.join(file)).expect("removed");
        let message = folder.refused();
        assert!(
            message.contains(&file.replace('/', std::path::MAIN_SEPARATOR_STR)) && message.contains(remedy),
            "{message}"
        );
    }
    let folder = Copy::of("bert", "missing");
    fs::remove_file(folder.0.join("tokenizer.json")).expect("removed");
    fs::remove_file(folder.0.join("modules.json")).expect("removed");
    let opened = folder.open().expect("config and pooling are there");
    assert!(!opened.spec.normalize && opened.notes.len() == 1, "{:?}", opened.notes);
    assert!(matches!(opened.tokenizer(), Err(ModelError::Import(ImportError::Missing { .. }))));
    fs::remove_dir_all(folder.0.join("1_Pooling")).expect("removed");
    assert!(matches!(folder.open(), Err(ModelError::Import(ImportError::Missing { .. }))));
    let overrides =
        SentenceOverrides::default().pooling(Some(Pooling::Cls)).normalize(Some(true)).max_tokens(Some(9));
    let chosen = EncoderFolder::open(&folder.0, &overrides).expect("what is missing was chosen");
    assert_eq!((chosen.spec.pooling, chosen.spec.normalize, chosen.spec.max_tokens), (Pooling::Cls, true, 9));
    let too_long = SentenceOverrides::default().pooling(Some(Pooling::Cls)).max_tokens(Some(65));
    assert!(matches!(
        EncoderFolder::open(&folder.0, &too_long),
        Err(ModelError::Option { option: "max_tokens", .. })
    ));
    assert!(EncoderFolder::open(folder.0.join("nowhere"), &SentenceOverrides::default()).is_err());
}

#[test]
fn contradictions_are_named() {
    let cases: [(&str, &str, &str, &str); 9] = [
        (
            "1_Pooling/config.json",
            "\"word_embedding_dimension\": 32",
            "\"word_embedding_dimension\": 33",
            "word_embedding_dimension",
        ),
        (
            "1_Pooling/config.json",
            "\"pooling_mode_cls_token\": false",
            "\"pooling_mode_cls_token\": true",
            "pooling_mode_mean_tokens",
        ),
        (
            "1_Pooling/config.json",
            "\"pooling_mode_mean_tokens\": true",
            "\"pooling_mode_mean_tokens\": false",
            "all false",
        ),
        (
            "1_Pooling/config.json",
            "\"pooling_mode_mean_tokens\": true",
            "\"pooling_mode_lasttoken\": true",
            "pooling_mode_lasttoken",
        ),
        ("modules.json", "models.Normalize", "models.Dense", "models.Dense"),
        ("modules.json", "1_Pooling", "../bert/1_Pooling", "`..`"),
        ("modules.json", "models.Transformer", "models.Pooling", "in this order"),
        ("sentence_bert_config.json", "48", "\"48\"", "max_seq_length"),
        ("config.json", "\"num_attention_heads\": 4", "\"num_attention_heads\": 5", "num_attention_heads"),
    ];
    for (file, from, to, named) in cases {
        let folder = Copy::of("bert", "contradictions");
        folder.edit(file, from, to);
        let message = folder.refused();
        assert!(message.contains(named) && message.contains(';'), "{file} {to}: {message}");
    }
}

#[test]
fn limits_beyond_the_positions_are_lowered_and_said() {
    let folder = Copy::of("bert", "limits");
    folder.edit("sentence_bert_config.json", "48", "512");
    let opened = folder.open().expect("sound");
    assert_eq!(opened.spec.max_tokens, 64);
    assert!(opened.notes[0].0.contains("512") && opened.notes[0].0.contains("64"), "{:?}", opened.notes);
}

#[test]
fn prompt_and_lowercase_come_before_the_tokenizer() {
    let folder = Copy::of("distilbert", "prompt");
    folder.edit("sentence_bert_config.json", "\"do_lower_case\": false", "\"do_lower_case\": true");
    let prompts = r#"{"default_prompt_name":"q","prompts":{"q":"Query: "}}"#;
    fs::write(folder.0.join("config_sentence_transformers.json"), prompts).expect("written");
    let with = folder.open().expect("sound").tokenizer().expect("sound");
    let plain = open("distilbert").tokenizer().expect("sound");
    assert_eq!(with.encode(0, "ABC").expect("encodes"), plain.encode(0, "query: abc").expect("encodes"));
    folder.edit("config_sentence_transformers.json", "\"q\",", "\"passage\",");
    assert!(folder.refused().contains("default_prompt_name"));
}

#[test]
fn a_tokenizer_of_another_model_is_found_out() {
    let folder = Copy::of("distilbert", "tokenizer");
    folder.edit("config.json", "\"vocab_size\": 160", "\"vocab_size\": 20");
    let tokenizer =
        folder.open().expect("the configuration alone is sound").tokenizer().expect("so is the tokenizer");
    let error = tokenizer.encode_batch(&["", "Hello"]).expect_err("ids beyond the table");
    assert!(
        matches!(&error, ModelError::Text { text: 1, problem } if problem.contains("vocab_size")),
        "{error}"
    );
    folder.edit("sentence_bert_config.json", "24", "2");
    let error = folder.open().expect("sound").tokenizer().err().expect("no room for a word");
    assert!(error.to_string().contains("2 special tokens"), "{error}");
    fs::write(folder.0.join("tokenizer.json"), "{}").expect("written");
    assert!(matches!(folder.open().expect("sound").tokenizer(), Err(ModelError::Tokenizer { .. })));
}
