//! What an addition takes, counted in the tree: which files name the encoding, the variant and the kernel that were
//! added last by the HOWTOs. Outside of these files nothing knows them.

use std::collections::BTreeSet;

use crate::checkout::Checkout;

/// Files that commands write.
const WRITTEN: [&str; 4] = [
    "crates/plan/src/kernels/fingerprints.rs",
    "crates/types/tests/blocks.txt",
    "shaders/src/table.rs",
    "shaders/spv/manifest.json",
];

/// Sources that name one of these words, besides tests, documents and what commands write.
fn naming(words: &[&str]) -> BTreeSet<String> {
    let checkout = Checkout::find().expect("tests run in the checkout");
    let is_source = |path: &String| {
        let kinds = [".rs", ".glsl", ".comp", ".json"];
        let places = ["crates/", "shaders/"];
        kinds.iter().any(|kind| path.ends_with(kind))
            && places.iter().any(|place| path.starts_with(place))
            && !WRITTEN.contains(&path.as_str())
            && !path.contains("/tests")
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let names = |path: &String| {
        let text = checkout.read(path).expect("a text");
        text.split(|c| !is_part(c)).any(|word| words.contains(&word))
    };
    let files = checkout.files().expect("the tree is read");
    let found: BTreeSet<String> = files.into_iter().filter(is_source).filter(names).collect();
    println!("{words:?}: {found:#?}");
    found
}

fn files<const N: usize>(paths: [&str; N]) -> BTreeSet<String> {
    paths.map(str::to_owned).into()
}

/// Its row, its decoding, its accessor in GLSL; its golden is in `blocks.txt`. The names of the types of GGUF files
/// were there before.
#[test]
fn an_encoding_is_three_files_and_its_golden() {
    let expected = files([
        "crates/import/src/gguf/ggml_type.rs",
        "crates/types/src/encoding/decode.rs",
        "crates/types/src/encoding/scheme.rs",
        "shaders/include/blocks/iq4_xs.glsl",
    ]);
    assert_eq!(naming(&["IQ4_XS", "iq4_xs", "SCHEME_IQ4_XS"]), expected);
}

/// Its declaration, and rows in tables.
#[test]
fn a_variant_is_its_declaration_and_rows() {
    let expected = files([
        "crates/plan/src/kernels/convolution.rs",
        "crates/types/src/table/gpu.json",
        "crates/types/src/table/h200.json",
    ]);
    assert_eq!(naming(&["plain_two"]), expected);
}

/// Its declaration, the rule of its accesses, its name among the kernels of a family, rows; and a shader, which names
/// it by nothing but its path.
#[test]
fn a_kernel_is_at_most_six_files() {
    let mut found = naming(&["conv_lines", "ConvLines"]);
    found.insert("shaders/convolution/lines.comp".to_owned());
    let expected = files([
        "crates/compile/src/select/convolution.rs",
        "crates/plan/src/check/footprint/convolution.rs",
        "crates/plan/src/kernels/convolution.rs",
        "crates/types/src/table/gpu.json",
        "crates/types/src/table/h200.json",
        "shaders/convolution/lines.comp",
    ]);
    assert_eq!(found, expected);
}
