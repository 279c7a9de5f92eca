//! Ids of 10,000 lines by published tokenizers, which are not in the repository: tests/reference/tokenizer_lines.py
//! writes them into the folder that PUMICE_TOKENIZER_LINES names.

use pumice_models::{FolderSettings, LanguageModel, LanguageOptions, TextTokenizer, Vocabulary};
use serde::Deserialize;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct All {
    lines: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    name: String,
    file: String,
    /// "special" where control tokens were read as such, "text" where they were text.
    ids: Vec<String>,
}

#[derive(Deserialize)]
struct Lists {
    model: String,
    #[serde(default)]
    pre: String,
    tokens: Vec<String>,
    types: Vec<i32>,
    #[serde(default)]
    merges: Vec<String>,
    #[serde(default)]
    scores: Vec<f32>,
    keys: Keys,
}

#[derive(Deserialize)]
struct Keys {
    add_space_prefix: Option<bool>,
}

fn folder() -> Option<PathBuf> {
    std::env::var_os("PUMICE_TOKENIZER_LINES").map(PathBuf::from)
}

fn tokenizer(case: &Case, bytes: &[u8]) -> Result<TextTokenizer, String> {
    let settings = FolderSettings::default();
    let file = Path::new(&case.name);
    let made = match case.kind.as_str() {
        "json" => TextTokenizer::from_json(file, std::str::from_utf8(bytes).expect("text"), &settings),
        "model" => TextTokenizer::from_sentencepiece(file, bytes, &settings),
        "file" => return of_model(std::str::from_utf8(bytes).expect("a path")),
        _ => {
            let lists: Lists = serde_json::from_slice(bytes).expect("lists");
            let texts = |texts: &'static [String]| texts.iter().map(String::as_str).collect::<Vec<_>>();
            // The lists of one case at a time; the process ends soon.
            let lists: &'static Lists = Box::leak(Box::new(lists));
            TextTokenizer::new(&Vocabulary {
                model: &lists.model,
                pre: &lists.pre,
                tokens: &texts(&lists.tokens),
                token_type: &lists.types,
                merges: &texts(&lists.merges),
                scores: &lists.scores,
                add_space_prefix: lists.keys.add_space_prefix,
                ..Vocabulary::default()
            })
        }
    };
    made.map_err(|e| e.to_string().chars().take(120).collect())
}

/// The tokenizer in a model's file.
fn of_model(path: &str) -> Result<TextTokenizer, String> {
    let model = LanguageModel::open(path, &LanguageOptions::default());
    model.and_then(|model| model.tokenizer()).map_err(|e| e.to_string())
}

fn read_ids(bytes: &[u8]) -> Vec<Vec<u32>> {
    let mut numbers = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut lines = Vec::new();
    while let Some(count) = numbers.next() {
        lines.push(numbers.by_ref().take(count as usize).collect());
    }
    lines
}

/// How many lines differ, and the first that does.
fn compare(
    lines: &[String],
    expected: &[Vec<u32>],
    tokenizer: &TextTokenizer,
    special: bool,
) -> (usize, String) {
    assert!(!expected.is_empty() && expected.len() <= lines.len());
    let (mut differ, mut first) = (0, String::new());
    for (line, ids) in lines.iter().zip(expected) {
        let found = tokenizer.encode(line, special);
        if found.as_ref() != Ok(ids) {
            if differ == 0 {
                first = format!("{line:?}\n   {found:?}\n   {ids:?}").chars().take(600).collect();
            }
            differ += 1;
        }
    }
    (differ, first)
}

#[test]
#[ignore = "model: the files of tests/reference/tokenizer_lines.py"]
fn ids_are_those_of_published_tokenizers() {
    let folder = folder().expect("PUMICE_TOKENIZER_LINES names the folder");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("the script wrote it");
    let all: All = serde_json::from_slice(&read("lines.json")).expect("lines");
    let (mut wrong, mut refused) = (0, 0);
    for case in &all.cases {
        let tokenizer = match tokenizer(case, &read(&case.file)) {
            Ok(tokenizer) => tokenizer,
            Err(problem) => {
                refused += 1;
                println!("{} {}: refused: {problem}", case.kind, case.name);
                continue;
            }
        };
        for special in &case.ids {
            let expected = read_ids(&read(&format!("{}.{special}.ids", case.file)));
            let (differ, first) = compare(&all.lines, &expected, &tokenizer, special == "special");
            wrong += usize::from(differ > 0);
            println!(
                "{} {} {special}: {differ} of {} lines differ {first}",
                case.kind,
                case.name,
                expected.len()
            );
        }
    }
    println!("{} cases, {refused} refused, {wrong} lists differ", all.cases.len());
    assert_eq!(wrong, 0, "lists of ids differ");
}
