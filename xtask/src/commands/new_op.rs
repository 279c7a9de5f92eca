//! `cargo xtask new-op NAME`: every file and line a new op needs. In: a name and its kind. Out: new files that
//! compile and compute the identity, and one line in each list. Never here: an existing match that must be edited.

use crate::checkout::Checkout;
use crate::edit;
use crate::failure::{Failure, Outcome};
use crate::op_table::OP_LIST;
use crate::templates::{self, Kind};

/// Options of `new-op`.
#[derive(clap::Args)]
pub struct Args {
    /// The op's name in snake_case, as in `.ir` text
    name: String,
    /// The Rust type (default: the name in CamelCase)
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// The op maps elements to elements, with one operand
    #[arg(long, conflicts_with_all = ["binary", "composite", "host"])]
    elementwise: bool,
    /// The op maps elements to elements, with two operands that broadcast
    #[arg(long, conflicts_with_all = ["composite", "host"])]
    binary: bool,
    /// The op is defined by other ops: a decomposition instead of a lowering
    #[arg(long, conflicts_with = "host")]
    composite: bool,
    /// The host runs the op: no kernel
    #[arg(long)]
    host: bool,
    /// The op has a kernel of its own: its declaration, the rule of its footprint and its shader are made, too
    #[arg(long, conflicts_with_all = ["elementwise", "binary", "composite", "host"])]
    kernel: bool,
    /// The op has a second operand that may be absent
    #[arg(long, conflicts_with_all = ["elementwise", "binary"])]
    optional: bool,
    /// The op has so many attributes that nodes hold them in a box
    #[arg(long)]
    boxed: bool,
    /// The group in for_each_op!, which is a folder of `ops`; one that is not there is made, with `--title`
    #[arg(long, value_name = "FOLDER")]
    section: Option<String>,
    /// Heading of a new group, as in OPS: "3.5 Convolution"
    #[arg(long, value_name = "HEADING", requires = "section")]
    title: Option<String>,
    /// Print what would be written
    #[arg(long)]
    dry_run: bool,
}

const REFERENCE: &str = "crates/cpu-ref/src/ops";
const DECLARATION: &str = "crates/ir/src/ops";
const LOWER: &str = "crates/compile/src/lower";
const KERNELS: &str = "crates/plan/src/kernels";
const FOOTPRINT: &str = "crates/plan/src/check/footprint";

/// One file with its new text.
struct Change {
    path: String,
    text: String,
    is_new: bool,
}

/// Writes the files, or nothing where one of them cannot be written.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    let name = snake_case(&args.name)?;
    let type_name = args.type_name.clone().unwrap_or_else(|| camel_case(&name));
    let changes = changes(args, checkout, &name, &type_name)?;
    for change in &changes {
        println!("{} {}", if change.is_new { "new " } else { "edit" }, change.path);
        if !args.dry_run {
            checkout.write(&change.path, &change.text)?;
        }
    }
    println!("{}", templates::what_is_left(kind(args), &name));
    Ok(())
}

fn kind(args: &Args) -> Kind {
    match args {
        Args { elementwise: true, .. } => Kind::Unary,
        Args { binary: true, .. } => Kind::Binary,
        Args { composite: true, .. } => Kind::Composite,
        Args { host: true, .. } => Kind::Host,
        Args { kernel: true, .. } => Kind::Kernel,
        _ => Kind::Lowered,
    }
}

fn changes(args: &Args, checkout: &Checkout, name: &str, type_name: &str) -> Outcome<Vec<Change>> {
    let kind = kind(args);
    let default = if kind.word() == "elementwise" { "elementwise" } else { "signal" };
    let section = args.section.as_deref().unwrap_or(default);
    let word = if args.boxed { format!("{} boxed", kind.word()) } else { kind.word().to_owned() };
    let list = |text: &str| edit::add_op_line(text, section, name, type_name, &word);
    let with_group = |text: &str| match &args.title {
        // The file that has the list has the sections' `mod` lines, too.
        Some(title) => list(&edit::add_mod_line(&edit::add_group(text, section, title)?, section)?),
        None => list(text),
    };
    let mut all = vec![edit(checkout, OP_LIST, with_group)?];
    for (folder, text) in [
        (DECLARATION, templates::declaration(kind, args.optional, name, type_name)),
        (REFERENCE, templates::reference(kind, type_name)),
    ] {
        all.push(new(checkout, &format!("{folder}/{section}"), name, text)?);
        all.extend(listed(checkout, folder, section, name, args.title.as_deref())?);
    }
    if matches!(kind, Kind::Lowered | Kind::Kernel) {
        all.push(new(checkout, LOWER, name, templates::lowering(kind, name, type_name))?);
        all.push(edit(checkout, &format!("{LOWER}/mod.rs"), |text| edit::add_mod_line(text, name))?);
    }
    if kind == Kind::Kernel {
        all.extend(kernel(checkout, name, type_name)?);
    }
    Ok(all)
}

/// The `mod` line of a file of a section; of a new section the file that has it, and the section's own line.
fn listed(
    checkout: &Checkout,
    folder: &str,
    section: &str,
    name: &str,
    title: Option<&str>,
) -> Outcome<Vec<Change>> {
    let path = format!("{folder}/{section}/mod.rs");
    match title {
        None => Ok(vec![edit(checkout, &path, |text| edit::add_mod_line(text, name))?]),
        Some(title) => {
            let section_file = new_file(checkout, path, format!("//! {title}.\n\npub mod {name};\n"))?;
            let sections = format!("{folder}/mod.rs");
            let has_its_line = sections == OP_LIST;
            let edited =
                (!has_its_line).then(|| edit(checkout, &sections, |text| edit::add_mod_line(text, section)));
            Ok(std::iter::once(section_file).chain(edited.transpose()?).collect())
        }
    }
}

/// A kernel that copies elements: declaration, footprint, shader.
fn kernel(checkout: &Checkout, name: &str, type_name: &str) -> Outcome<[Change; 5]> {
    let family = |text: &str| edit::add_to_list(&edit::add_mod_line(text, name)?, "families", name);
    Ok([
        new(checkout, KERNELS, name, templates::kernel(name, type_name))?,
        edit(checkout, &format!("{KERNELS}/mod.rs"), family)?,
        new(checkout, FOOTPRINT, name, templates::footprint(name))?,
        edit(checkout, &format!("{FOOTPRINT}/mod.rs"), family)?,
        new_file(checkout, format!("shaders/{name}/{name}.comp"), templates::SHADER.to_owned())?,
    ])
}

fn new(checkout: &Checkout, folder: &str, name: &str, text: String) -> Outcome<Change> {
    new_file(checkout, format!("{folder}/{name}.rs"), text)
}

fn new_file(checkout: &Checkout, path: String, text: String) -> Outcome<Change> {
    if checkout.root.join(&path).exists() {
        return Err(Failure::said(format!("{path} is there already; nothing was written")));
    }
    Ok(Change { path, text, is_new: true })
}

fn edit(checkout: &Checkout, path: &str, edit: impl Fn(&str) -> Option<String>) -> Outcome<Change> {
    let text = edit(&checkout.read(path)?).ok_or_else(|| Failure::Form {
        path: path.to_owned(),
        line: 1,
        message: "the list that takes the op is not there; nothing was written".to_owned(),
    })?;
    Ok(Change { path: path.to_owned(), text, is_new: false })
}

fn snake_case(name: &str) -> Outcome<String> {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let whole = !name.ends_with('_') && !name.contains("__");
    if starts && rest && whole {
        return Ok(name.to_owned());
    }
    Err(Failure::said(format!("`{name}` is not a name in snake_case")))
}

fn camel_case(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.split('_').map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(camel_case("log_softmax"), "LogSoftmax");
        assert!(snake_case("hard_swish").is_ok());
        for wrong in ["", "HardSwish", "a-b", "_a", "a__b", "a_", "1a"] {
            assert!(snake_case(wrong).is_err(), "{wrong}");
        }
    }

    /// What an author gets made and what is edited for them, by kind: new files, and lines in lists.
    #[test]
    fn an_op_is_new_files_and_lines_of_lists() {
        let checkout = Checkout::find().expect("tests run in the checkout");
        let kinds = [("--elementwise", 2, 3), ("--binary", 2, 3), ("--composite", 2, 3), ("--host", 2, 3)];
        for (flag, new, edited) in kinds.into_iter().chain([("--section=signal", 3, 4), ("--kernel", 6, 6)]) {
            counted(&checkout, &[flag], (new, edited));
        }
        counted(&checkout, &["--host", "--section=new_section", "--title=3.5 New"], (4, 2));
    }

    fn counted(checkout: &Checkout, flags: &[&str], expected: (usize, usize)) {
        let words: Vec<&str> = ["new_thing"].iter().chain(flags).copied().collect();
        let changes =
            changes(&arguments(&words), checkout, "new_thing", "NewThing").expect("nothing is in the way");
        let mut paths: Vec<&str> = changes.iter().map(|c| c.path.as_str()).collect();
        paths.sort_unstable();
        assert!(paths.windows(2).all(|p| p[0] != p[1]), "{flags:?}: a file is written twice");
        let created = changes.iter().filter(|c| c.is_new).count();
        println!("{flags:?}: {created} files created, {} edited", changes.len() - created);
        assert_eq!((created, changes.len() - created), expected, "{flags:?}");
        for edit in changes.iter().filter(|c| !c.is_new) {
            let old = checkout.read(&edit.path).expect("it is there");
            let added = added_words(&old, &edit.text).expect("nothing is taken away");
            // A new section has a heading, braces and a `mod` line of its own beside the op's line.
            let most = if flags.len() > 1 { 13 } else { 9 };
            assert!(added <= most, "{flags:?} {}: more than names were added", edit.path);
        }
    }

    #[test]
    fn a_boxed_op_and_an_optional_operand() {
        let checkout = Checkout::find().expect("tests run in the checkout");
        let args = arguments(&["new_thing", "--host", "--boxed", "--optional"]);
        let changes = changes(&args, &checkout, "new_thing", "NewThing").expect("nothing is in the way");
        let text = |path: &str| &changes.iter().find(|c| c.path.ends_with(path)).expect("written").text;
        assert!(text("ir/src/ops/mod.rs").contains("new_thing NewThing \"new_thing\" host boxed;"));
        let declaration = text("ir/src/ops/signal/new_thing.rs");
        assert!(
            declaration.contains("&[\"x\", \"b?\"]") && declaration.contains("b: Option<Value>"),
            "{declaration}"
        );
        assert!(!declaration.contains("{optional"), "{declaration}");
    }

    /// In a copy of the checkout, with an op of every kind.
    #[test]
    #[ignore = "long: compiles five packages"]
    fn what_is_written_compiles() {
        let checkout = Checkout::find().expect("tests run in the checkout");
        let target = checkout.target_folder().expect("cargo tells");
        let copy = Checkout { root: target.join("tmp/new-op") };
        let _ = std::fs::remove_dir_all(&copy.root);
        for path in checkout.files().expect("listed") {
            let (from, to) = (checkout.root.join(&path), copy.root.join(&path));
            std::fs::create_dir_all(to.parent().expect("in a folder")).expect("a folder");
            std::fs::copy(from, to).expect("copied");
        }
        for flag in ["--elementwise", "--binary", "--composite", "--host", "--section=signal", "--kernel"] {
            // What may be combined is, once each.
            let more: &[&str] = match flag {
                "--host" => &["--optional", "--boxed"],
                "--kernel" => &["--optional"],
                "--binary" => &["--boxed"],
                _ => &[],
            };
            let name = format!("new_{}", flag.trim_start_matches('-').split('=').next().expect("a word"));
            run(&arguments(&[&[name.as_str(), flag], more].concat()), &copy).expect("written");
        }
        let mut check = crate::child::cargo();
        check.args(["check", "--package", "pumice-compile", "--package", "pumice-cpu-ref", "--target-dir"]);
        crate::child::run(check.arg(target).current_dir(&copy.root)).expect("it compiles");
    }

    fn arguments(words: &[&str]) -> Args {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            args: Args,
        }
        <Command as clap::Parser>::parse_from(["new-op"].iter().chain(words)).args
    }

    /// How many words the new text has more, if it has every word of the old one, in order.
    fn added_words(old: &str, new: &str) -> Option<usize> {
        let mut more = 0;
        let mut left = old.split_whitespace().peekable();
        for word in new.split_whitespace() {
            if left.peek() == Some(&word) {
                left.next();
            } else {
                more += 1;
            }
        }
        left.next().is_none().then_some(more)
    }
}
