//! The facade is sufficient: every type of ours in a signature that a user of `pumice` can see has a name there.
//!
//! What is seen: what `crates/pumice/src/lib.rs` and the `mod.rs` of its public modules re-export, and these modules;
//! of all that the public functions, methods, fields and variants. What is only data or only for developers is looked
//! into through `pumice::parts`.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

use super::source::{CodeKind, Source};
use super::{Findings, Tree};
use crate::failure::Outcome;

const FACADE: &str = "crates/pumice/src/";
/// What a user of the facade passes on and does not take apart; `pumice::parts` has the packages.
const OPAQUE: [&str; 12] = [
    "CheckError",
    "Plan",
    "CheckedPlan",
    "Unsound",
    "Target",
    "Op",
    "Patch",
    "Use",
    "KernelSource",
    "KernelDecl",
    "FaultPlan",
    "CallError",
];

/// Reports types in signatures that have no name in the facade.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let library = |s: &&Source| s.kind == CodeKind::Library && s.path.starts_with("crates/");
    let sources: Vec<&Source> = tree.sources.iter().filter(library).collect();
    let Some(root) = sources.iter().find(|s| s.path == format!("{FACADE}lib.rs")) else { return Ok(()) };
    let mut exports = BTreeSet::new();
    let modules = sources.iter().filter(|s| s.path.starts_with(FACADE) && s.path.ends_with("/mod.rs"));
    for item in modules.chain([root]).flat_map(|source| &source.syntax.items) {
        if let Item::Use(item) = item
            && is_public(&item.vis)
        {
            leaves("", &item.tree, &mut exports);
        }
    }
    let mut shown: BTreeSet<String> = exports.iter().map(|(_, name)| name.clone()).collect();
    let mut ours = BTreeSet::new();
    for source in &sources {
        let exported =
            |m: &&str| exports.contains(&(package(&source.path), m.trim_end_matches(".rs").to_owned()));
        let within = source.path.starts_with(FACADE) || source.path.split('/').skip(3).any(|m| exported(&m));
        for name in source.syntax.items.iter().filter_map(public_type) {
            if within {
                shown.insert(name.clone());
            }
            ours.insert(name);
        }
    }
    for source in &sources {
        let own = source.path.starts_with(FACADE);
        let package = package(&source.path);
        let visible = |name: &str| own || exports.contains(&(package.clone(), name.to_owned()));
        let mut signatures =
            Signatures { ours: &ours, shown: &shown, visible: &visible, missing: Vec::new() };
        source.syntax.items.iter().for_each(|item| signatures.item(item));
        for (name, span) in signatures.missing {
            let line = span.start().line;
            findings.at(
                &source.path,
                line,
                format!("`{name}` is in a signature; re-export it in {FACADE}lib.rs"),
            );
        }
    }
    Ok(())
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The package of a file, as `use` lines name it: `pumice_ir` for `crates/ir/src/x.rs`.
fn package(path: &str) -> String {
    format!("pumice_{}", path.split('/').nth(1).unwrap_or("").replace('-', "_"))
}

/// The names that a `use` gives, each with the first word of its path.
fn leaves(first: &str, tree: &UseTree, names: &mut BTreeSet<(String, String)>) {
    let mut name = |ident: &syn::Ident| {
        names.insert((first.to_owned(), ident.to_string()));
    };
    match tree {
        UseTree::Path(path) if first.is_empty() => leaves(&path.ident.to_string(), &path.tree, names),
        UseTree::Path(path) => leaves(first, &path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(first, tree, names)),
        UseTree::Name(leaf) => name(&leaf.ident),
        UseTree::Rename(leaf) => name(&leaf.ident),
        UseTree::Glob(_) => {}
    }
}

fn public_type(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Struct(i) => (&i.vis, &i.ident),
        Item::Enum(i) => (&i.vis, &i.ident),
        Item::Trait(i) => (&i.vis, &i.ident),
        Item::Type(i) => (&i.vis, &i.ident),
        _ => return None,
    };
    is_public(visibility).then(|| name.to_string())
}

struct Signatures<'a> {
    ours: &'a BTreeSet<String>,
    shown: &'a BTreeSet<String>,
    /// Whether the facade shows the item of that name of this file.
    visible: &'a dyn Fn(&str) -> bool,
    missing: Vec<(String, Span)>,
}

impl Signatures<'_> {
    /// Looks at an item where a user of the facade sees it.
    fn item(&mut self, item: &Item) {
        let visible = self.visible;
        let shown = |name: &syn::Ident| visible(&name.to_string());
        let opaque = |name: &syn::Ident| OPAQUE.iter().any(|known| name == known);
        match item {
            Item::Fn(f) if is_public(&f.vis) && shown(&f.sig.ident) => self.visit_signature(&f.sig),
            Item::Struct(s) if shown(&s.ident) && !opaque(&s.ident) => {
                let fields = s.fields.iter().filter(|f| is_public(&f.vis));
                fields.for_each(|field| self.visit_type(&field.ty));
            }
            Item::Enum(e) if shown(&e.ident) && !opaque(&e.ident) => {
                e.variants.iter().flat_map(|v| &v.fields).for_each(|field| self.visit_type(&field.ty));
            }
            Item::Trait(t) if shown(&t.ident) && !opaque(&t.ident) => {
                for item in &t.items {
                    if let syn::TraitItem::Fn(f) = item {
                        self.visit_signature(&f.sig);
                    }
                }
            }
            Item::Impl(i) if i.trait_.is_none() => {
                let syn::Type::Path(of) = i.self_ty.as_ref() else { return };
                let Some(name) = of.path.segments.last().map(|s| &s.ident) else { return };
                if !shown(name) || opaque(name) {
                    return;
                }
                for item in &i.items {
                    if let syn::ImplItem::Fn(f) = item
                        && is_public(&f.vis)
                    {
                        self.visit_signature(&f.sig);
                    }
                }
            }
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Signatures<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(last) = path.segments.last() {
            let name = last.ident.to_string();
            // A path that starts in another crate of ours names the type all the same.
            let foreign = path.segments.len() > 1 && path.segments[0].ident == "std";
            if !foreign && self.ours.contains(&name) && !self.shown.contains(&name) {
                self.missing.push((name, last.ident.span()));
            }
        }
        visit::visit_path(self, path);
    }
}
