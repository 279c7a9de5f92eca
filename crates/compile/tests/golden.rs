//! Golden plans: a graph in `golden/*.ir` and beside it, in `.plan`, all that the planner makes of it: regions, steps
//! with their spans, levels, barriers, segments.
//!
//! The head of a graph's file says what for: `// target: h200`, and for every symbol with ranges of its own
//! `// cut: rows 1, 16`. `UPDATE=1 cargo test -p pumice-compile` writes the plans anew; then they are read in review.
//! Every plan is also checked. Never here: whether a plan computes the right values; `crates/cpu-ref/tests` runs plans.

use pumice_compile::{Options, compile};
use pumice_cpu_ref::RefEval;
use pumice_ir::text;
use pumice_plan::Plan;
use pumice_plan::check::check;
use pumice_types::Target;
use std::fs;
use std::path::{Path, PathBuf};

/// A plan longer than this is read by nobody.
const MOST_LINES: usize = 100;

fn graphs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(&folder).expect("the folder of golden files is there");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("the folder can be read").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "ir"));
    files.sort();
    files
}

/// Target and options from the head of a graph's file.
fn head(content: &str) -> Result<(Target, Options), String> {
    let (mut target, mut options) = (None, Options::default());
    for line in content.lines().take_while(|l| l.starts_with("//")) {
        if let Some(name) = line.strip_prefix("// target: ") {
            target = Some(Target::profile(name).ok_or_else(|| format!("no profile `{name}`"))?);
        } else if let Some(cut) = line.strip_prefix("// cut: ") {
            let (symbol, ends) = cut.split_once(' ').ok_or("`// cut: symbol end, end`")?;
            let ends = ends.split(", ").map(str::parse).collect::<Result<Vec<u64>, _>>();
            options.specializations.push((symbol.to_owned(), ends.map_err(|e| e.to_string())?));
        }
    }
    Ok((target.ok_or("no `// target:`")?, options))
}

/// The plan of a graph's file, free of faults and of barriers that cut nothing.
fn plan(content: &str) -> Result<Plan, String> {
    let (target, options) = head(content)?;
    let graph = text::read(content).map_err(|e| e.to_string())?;
    let plan = compile(&graph, &target, &options, &RefEval).map_err(|e| e.to_string())?;
    let report = check(&plan)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    match report.redundant_barriers() {
        0 => Ok(plan),
        n => Err(format!("{n} redundant barriers")),
    }
}

/// Where two texts part: the line with one before it, as it should be and as it is. `None` if nowhere.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (was, is): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = was.iter().zip(&is).take_while(|(a, b)| a == b).count();
    let line = |lines: &[&str]| lines.get(same).map_or("(the end)", |l| l).to_owned();
    let before = same.checked_sub(1).map_or(String::new(), |i| format!("  {}\n", was[i]));
    Some(format!("line {}\n{before}- {}\n+ {}", same + 1, line(&was), line(&is)))
}

#[test]
fn golden_plans() {
    let update = std::env::var("UPDATE").is_ok_and(|v| v == "1");
    let mut wrong = Vec::new();
    for path in graphs() {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let content = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let found = plan(&content).unwrap_or_else(|e| panic!("{name}: {e}")).to_string();
        let lines = found.lines().count();
        assert!(lines <= MOST_LINES, "{name}: a plan of {lines} lines: make the graph smaller");
        let beside = path.with_extension("plan");
        if update {
            fs::write(&beside, found).unwrap_or_else(|e| panic!("{name}: {e}"));
            continue;
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        wrong.extend(difference(&expected, &found).map(|d| format!("{name}, its plan differs at {d}")));
    }
    let accept = "UPDATE=1 cargo test -p pumice-compile --test golden accepts what was found";
    assert!(wrong.is_empty(), "{}\n{accept}", wrong.join("\n"));
}

/// A plan whose graph is gone would never be compared again.
#[test]
fn every_plan_has_its_graph() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let graphs = graphs();
    for entry in fs::read_dir(&folder).expect("the folder of golden files is there") {
        let path = entry.expect("the folder can be read").path();
        assert!(graphs.contains(&path.with_extension("ir")), "{} has no graph", path.display());
    }
}

#[test]
fn a_difference_is_shown_with_the_line_before_it() {
    assert_eq!(difference("a\nb\nc\n", "a\nb\nc\n"), None);
    assert_eq!(difference("a\nb\nc\n", "a\nB\nc\n"), Some("line 2\n  a\n- b\n+ B".into()));
    assert_eq!(difference("", "a\n"), Some("line 1\n- (the end)\n+ a".into()));
    assert_eq!(difference("a\nb\n", "a\n"), Some("line 2\n  a\n- b\n+ (the end)".into()));
}
