//! What a path means. In: every parsed file. Out: for a path in a file, the path where its first name is defined,
//! followed through `use` (renames, groups, globs, `self`, `super`, `crate`), type aliases and re-exports, across our
//! packages. A name that two scopes of one file give two meanings has both. Never here: a rule.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ItemMod, ItemType, ItemUse, Type, UseTree};

use super::source::{Source, Token};

/// Segments from the package's name on: `pumice_ir`, `ops`, `Op`.
pub type Path = Vec<String>;

/// Steps that are followed at most: `use` declarations may go in a circle.
const STEPS: usize = 16;

/// The names of all modules.
pub struct Names {
    modules: BTreeMap<Path, Module>,
}

#[derive(Default)]
struct Module {
    /// Imported names and aliases, with what they stand for, as seen from the module.
    aliases: BTreeMap<String, Vec<Path>>,
    /// What is imported whole.
    globs: Vec<Path>,
    /// Items that are written there.
    items: BTreeSet<String>,
}

/// A path as it is written.
pub struct Written {
    /// Its segments.
    pub path: Path,
    /// 1-based line.
    pub line: usize,
}

impl Names {
    /// Reads the declarations of all files. `made` are items that macros make and no parser sees, by their whole path.
    pub fn new(sources: &[Source], made: &[&[&str]]) -> Names {
        let mut modules: BTreeMap<Path, Module> = BTreeMap::new();
        for source in sources.iter().filter(|s| s.path.contains("/src/")) {
            let own = modules.entry(module_of(&source.path)).or_default();
            let mut reader = Reader { module: own, inline: Vec::new() };
            reader.visit_file(&source.syntax);
        }
        for path in made {
            if let [module @ .., item] = path {
                let module = module.iter().map(|s| (*s).to_owned()).collect();
                modules.entry(module).or_default().items.insert((*item).to_owned());
            }
        }
        Names { modules }
    }

    /// Every meaning of a path that is written in that file.
    pub fn meanings(&self, file: &str, path: &[String]) -> BTreeSet<Path> {
        let mut found = BTreeSet::new();
        self.relative(&module_of(file), path, STEPS, &mut found);
        found
    }

    fn relative(&self, module: &[String], path: &[String], steps: usize, found: &mut BTreeSet<Path>) {
        let ([first, rest @ ..], Some(steps)) = (path, steps.checked_sub(1)) else { return };
        match first.as_str() {
            "crate" => self.absolute(&[&module[..1], rest].concat(), steps, found),
            "self" => self.up(module, rest, steps, found),
            "super" => self.up(&module[..module.len().max(2) - 1], rest, steps, found),
            _ if self.absolute_in(module, path, steps, found) => {}
            _ if self.modules.contains_key(&path[..1]) => self.absolute(path, steps, found),
            // A package that is not ours, or a name that a macro makes.
            _ => _ = found.insert(path.to_vec()),
        }
    }

    /// `self::…` and `super::…`: either may be followed by another `super`.
    fn up(&self, at: &[String], rest: &[String], steps: usize, found: &mut BTreeSet<Path>) {
        match rest.first().map(String::as_str) {
            Some("self" | "super") => self.relative(at, rest, steps, found),
            _ => self.absolute(&[at, rest].concat(), steps, found),
        }
    }

    fn absolute(&self, path: &[String], steps: usize, found: &mut BTreeSet<Path>) {
        let Some(steps) = steps.checked_sub(1) else { return };
        let module = (1..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]));
        let done = module.is_some_and(|n| self.absolute_in(&path[..n], &path[n..], steps, found));
        if !done {
            found.insert(path.to_vec());
        }
    }

    /// Follows the first name of `path` within a module; whether the module has it.
    fn absolute_in(
        &self,
        module: &[String],
        path: &[String],
        steps: usize,
        found: &mut BTreeSet<Path>,
    ) -> bool {
        let (Some(here), [first, rest @ ..], Some(steps)) =
            (self.modules.get(module), path, steps.checked_sub(1))
        else {
            return false;
        };
        if let Some(targets) = here.aliases.get(first) {
            targets.iter().for_each(|t| self.target(module, &[t.as_slice(), rest].concat(), steps, found));
            return true;
        }
        let whole = [module, path].concat();
        if here.items.contains(first) {
            found.insert(whole);
            return true;
        }
        if self.modules.contains_key(&whole[..=module.len()]) {
            self.absolute(&whole, steps, found);
            return true;
        }
        let mut any = false;
        for glob in &here.globs {
            let mut from = BTreeSet::new();
            self.target(module, glob, steps, &mut from);
            for m in from {
                any |= self.absolute_in(&m, path, steps, found);
            }
        }
        any
    }

    /// What a `use` declaration in that module names: its paths begin with a package, or in the module.
    fn target(&self, module: &[String], path: &[String], steps: usize, found: &mut BTreeSet<Path>) {
        let Some(first) = path.first() else { return };
        let here = self.modules.get(module);
        let is_submodule = self.modules.contains_key(&[module, &path[..1]].concat());
        let is_here =
            is_submodule || here.is_some_and(|m| m.items.contains(first) || m.aliases.contains_key(first));
        if is_here || matches!(first.as_str(), "crate" | "self" | "super") {
            self.relative(module, path, steps, found);
        } else if self.modules.contains_key(&path[..1]) {
            self.absolute(path, steps, found);
        } else {
            found.insert(path.to_vec());
        }
    }
}

/// The paths of two segments or more outside tests, those within macros included, and what `use` declarations name.
pub fn paths(source: &Source) -> Vec<Written> {
    let tokens: Vec<&Token> = source.tokens.iter().filter(|t| !t.in_test).collect();
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let is_join = |i: usize| text(i) == ":" && text(i + 1) == ":";
    let mut found = Vec::new();
    for i in 0..tokens.len() {
        let goes_on = i >= 3 && is_join(i - 2) && (tokens[i - 3].is_word || text(i - 3) == ">");
        if !tokens[i].is_word || goes_on {
            continue;
        }
        let (mut path, mut at) = (vec![tokens[i].text.clone()], i + 1);
        while is_join(at) && tokens.get(at + 2).is_some_and(|t| t.is_word) {
            path.push(tokens[at + 2].text.clone());
            at += 3;
        }
        if path.len() > 1 {
            found.push(Written { path, line: tokens[i].line });
        }
    }
    let mut uses = Uses { test_lines: tokens.iter().map(|t| t.line).collect(), found };
    uses.visit_file(&source.syntax);
    uses.found
}

/// The module that a file is: `crates/cpu-ref/src/ops/add.rs` is `pumice_cpu_ref::ops::add`.
fn module_of(file: &str) -> Path {
    let (folder, inside) = file.split_once("/src/").unwrap_or((file, "lib.rs"));
    let package = match folder.strip_prefix("crates/").unwrap_or(folder) {
        "pumice" => "pumice".to_owned(),
        name => format!("pumice_{}", name.replace(['-', '/'], "_")),
    };
    let names = inside.trim_end_matches(".rs").split('/').filter(|n| !matches!(*n, "mod" | "lib" | "main"));
    std::iter::once(package).chain(names.map(str::to_owned)).collect()
}

/// Reads one file into its module. Inline modules are part of it: `super` within one is the file.
struct Reader<'m> {
    module: &'m mut Module,
    inline: Vec<String>,
}

impl Reader<'_> {
    fn add(&mut self, name: String, mut path: Path) {
        for _ in &self.inline {
            if path.first().is_some_and(|p| p == "super") {
                path.remove(0);
            }
        }
        let circle = path.len() == 1 && path[0] == name;
        match name.as_str() {
            "*" if !path.is_empty() => self.module.globs.push(path),
            _ if circle || path.is_empty() => {}
            _ => self.module.aliases.entry(name).or_default().push(path),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for (name, path, _) in leaves(&item.tree) {
            self.add(name, path);
        }
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        if let Type::Path(ty) = &*item.ty {
            let path = ty.path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.add(item.ident.to_string(), path);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() {
            self.inline.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.inline.pop();
        }
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Enum(i) => Some(&i.ident),
            syn::Item::Struct(i) => Some(&i.ident),
            syn::Item::Trait(i) => Some(&i.ident),
            syn::Item::Fn(i) => Some(&i.sig.ident),
            syn::Item::Const(i) => Some(&i.ident),
            _ => None,
        };
        self.module.items.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }
}

/// Finds what `use` declarations outside tests name in groups, where no token sequence is the path.
struct Uses {
    test_lines: BTreeSet<usize>,
    found: Vec<Written>,
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for (name, mut path, line) in leaves(&item.tree) {
            if name == "*" {
                path.push(name);
            }
            if self.test_lines.contains(&line) {
                self.found.push(Written { path, line });
            }
        }
    }
}

/// Every leaf of a `use`: the name that it gives (`*` for a glob), the path, the line.
fn leaves(tree: &UseTree) -> Vec<(String, Path, usize)> {
    let mut found = Vec::new();
    collect(tree, Vec::new(), &mut found);
    found
}

fn collect(tree: &UseTree, mut before: Path, found: &mut Vec<(String, Path, usize)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect(&path.tree, before, found);
        }
        UseTree::Group(group) => group.items.iter().for_each(|t| collect(t, before.clone(), found)),
        UseTree::Glob(glob) => {
            found.push(("*".to_owned(), before, glob.star_token.spans[0].start().line));
        }
        UseTree::Name(name) => named(&name.ident, &name.ident, before, found),
        UseTree::Rename(name) => named(&name.ident, &name.rename, before, found),
    }
}

fn named(name: &syn::Ident, given: &syn::Ident, mut path: Path, found: &mut Vec<(String, Path, usize)>) {
    let last = path.last().cloned();
    // `use a::b::{self}` names `b`.
    let given = if given == "self" { last.unwrap_or_default() } else { given.to_string() };
    if name != "self" {
        path.push(name.to_string());
    }
    found.push((given, path, name.span().start().line));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of two packages; asks for a path in the last one.
    fn meanings(last: &str, path: &str) -> Vec<String> {
        let file =
            |path: &str, text: &str| Source::parse(path, text.to_owned()).expect("the snippet is Rust");
        let sources = [
            file("crates/ir/src/lib.rs", "pub mod ops;\npub use ops::{Op, OpDef as Def};\n"),
            file("crates/ir/src/ops/mod.rs", "pub struct OpDef;\n"),
            file("crates/opt/src/lib.rs", "pub use pumice_ir::*;\npub mod passes;\n"),
            file("crates/opt/src/passes/mod.rs", "use rspirv::spirv::Op;\nuse crate::Op as Ours;\nmod a;\n"),
            file("crates/opt/src/passes/a.rs", last),
        ];
        let names = Names::new(&sources, &[&["pumice_ir", "ops", "Op"]]);
        let path: Path = path.split("::").map(str::to_owned).collect();
        names.meanings("crates/opt/src/passes/a.rs", &path).iter().map(|p| p.join("::")).collect()
    }

    #[test]
    fn names_are_followed_to_where_they_are_defined() {
        let op = ["pumice_ir::ops::Op::Add"];
        assert_eq!(meanings("use pumice_ir::Op;", "Op::Add"), op);
        assert_eq!(meanings("use pumice_ir::{ops::Op as O};", "O::Add"), op);
        assert_eq!(meanings("use pumice_ir::ops::{self};", "ops::Op::Add"), op);
        assert_eq!(meanings("use pumice_ir as ir;", "ir::Op::Add"), op);
        assert_eq!(meanings("use pumice_ir::*;", "Op::Add"), op);
        assert_eq!(meanings("use crate::*;", "Op::Add"), op);
        assert_eq!(meanings("use super::*;", "Ours::Add"), op);
        assert_eq!(meanings("use super::Ours;", "Ours::Add"), op);
        assert_eq!(meanings("fn f() { use crate::Op; }", "Op::Add"), op);
        assert_eq!(meanings("mod m { use super::O; }\nuse pumice_ir::Op as O;", "O::Add"), op);
        assert_eq!(meanings("type O = pumice_ir::Op;", "O::Add"), op);
        assert_eq!(meanings("", "pumice_ir::Op::Add"), op);
        assert_eq!(meanings("", "super::Ours::Add"), op);
        assert_eq!(meanings("", "crate::ops::Op::Add"), op);
    }

    #[test]
    fn others_of_the_same_name_are_told_apart() {
        assert_eq!(meanings("use super::*;", "Op::Add"), ["rspirv::spirv::Op::Add"]);
        assert_eq!(meanings("use super::Op;", "Op::Add"), ["rspirv::spirv::Op::Add"]);
        assert_eq!(meanings("enum Op { Add }", "Op::Add"), ["pumice_opt::passes::a::Op::Add"]);
        assert_eq!(meanings("use pumice_ir::Def;", "Def::name"), ["pumice_ir::ops::OpDef::name"]);
    }

    #[test]
    fn paths_within_macros_and_groups_are_seen() {
        let text = "use a::{b::{C, D as E}, f::*};\nfn g() { matches!(x.op, H::I(_)) }\n#[cfg(test)]\nmod tests { use a::t::T; }\n";
        let source = Source::parse("crates/ir/src/x.rs", text.to_owned()).expect("Rust");
        let seen: Vec<String> = paths(&source).iter().map(|w| w.path.join("::")).collect();
        assert_eq!(seen, ["H::I", "a::b::C", "a::b::D", "a::f::*"]);
    }
}
