//! Golden files: a graph, the passes named in its first line, and the graph they leave. A second line `// parts: n`
//! makes `n` the answer of the cost model for every product and reduction; `// least: n` says that reductions must be
//! cut into `n` parts, and that no kernel takes a row in one step; `// room: n` that values have `n` bytes.
//!
//! The part above the line `// after` is written by hand; the part below is rewritten by `UPDATE=1 cargo test` and then
//! read in review. Every file is also evaluated: the graph before and after, and after with its fusions undone, must
//! give the same bits; a decomposition, the same within the rounding of f16; cut products and reductions, within that
//! of f32.

mod common;

use common::{FixedParts, after_one, assert_close, assert_same, sample_of, without_fusions};
use pumice_ir::text;
use std::fs;
use std::path::{Path, PathBuf};

const BORDER: &str = "// after\n";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(&folder).expect("the folder of golden files is there");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("the folder can be read").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "ir"));
    files.sort();
    files
}

#[test]
fn golden_files() {
    let update = std::env::var("UPDATE").is_ok_and(|v| v == "1");
    let mut wrong = Vec::new();
    for path in files() {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let content = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (above, below) = content.split_once(BORDER).unwrap_or((&content, ""));
        let passes = above.lines().next().and_then(|l| l.strip_prefix("// passes: "));
        let passes: Vec<&str> =
            passes.unwrap_or_else(|| panic!("{name}: no `// passes:`")).split(", ").collect();
        let before = text::read(above).unwrap_or_else(|e| panic!("{name}: {e}"));
        let said = |what: &str| {
            let n = above.lines().nth(1).and_then(|l| l.strip_prefix(what));
            n.map_or(1, |n| n.parse().unwrap_or_else(|e| panic!("{name}: `{what}`: {e}")))
        };
        let (parts, least) = (said("// parts: "), said("// least: "));
        let room = Some(said("// room: ")).filter(|room| *room > 1);
        let model = FixedParts { products: parts, reductions: parts, least };
        let graph = passes.iter().fold(before.clone(), |g, name| after_one(&g, name, &model, room));
        let sample = sample_of(&before);
        let tolerance = match parts {
            _ if passes.contains(&"decompose") => 4e-3,
            _ if least > 1 => 1e-5,
            1 => 0.0,
            _ => 1e-6,
        };
        assert_close(&sample, &before, &graph, tolerance, &name);
        assert_same(&sample, &graph, &without_fusions(&graph), &name);
        let found = text::print(&graph);
        assert_eq!(text::read(&found).as_ref(), Ok(&graph), "{name}: the text does not read back");
        if update {
            fs::write(&path, format!("{above}{BORDER}{found}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        } else if found != below {
            wrong.push(format!("{name}: expected\n{below}\nfound\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE=1 accepts what was found", wrong.join("\n"));
}

/// A pass without a golden file would change unseen.
#[test]
fn every_pass_has_a_golden_file() {
    let all: Vec<String> = files().iter().map(|p| fs::read_to_string(p).expect("read above")).collect();
    for pass in pumice_opt::PASSES {
        let named = |c: &String| c.lines().next().is_some_and(|l| l.contains(pass.name));
        assert!(all.iter().any(named), "`{}` has no golden file", pass.name);
    }
}
