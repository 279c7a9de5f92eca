//! No default hides a missing id: what was not found is an error or an option, never the first one of a list.
//!
//! An id is a type without named fields whose name ends in `Id` or `Index`. It has no `Default`. What may be an id is
//! not given another one by `unwrap_or`: seen where the id is made on the spot, and where a parameter, a field, a
//! binding or a function says `Option<SomeId>`. Nor is the failure of a search turned into a number.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Expr, FnArg, GenericArgument, Pat, PathArguments, ReturnType, Type};

use super::source::{CodeKind, Source, Token};
use super::{Findings, Tree};
use crate::failure::Outcome;

const SEARCHES: [&str; 2] = ["position", "rposition"];
const DEFAULTS: [&str; 4] = ["unwrap_or", "unwrap_or_default", "unwrap_or_else", "map_or"];
/// Ids whose names do not say so: what a builder hands out.
const NAMED: [&str; 2] = ["Value", "Reg"];
/// Packages with such ids; elsewhere a `Value` is one of JSON.
const PACKAGES: [&str; 7] = ["types", "ir", "opt", "plan", "compile", "runtime", "vulkan"];

/// Reports ids with a default, and what turns a missing one into another.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    let sources = || tree.sources.iter().filter(|s| s.kind == CodeKind::Library);
    let with_ids = |s: &&Source| PACKAGES.iter().any(|p| s.path.starts_with(&format!("crates/{p}/")));
    let made = made(sources().filter(with_ids));
    for source in sources() {
        let tokens = source.library_tokens();
        for index in 0..tokens.len() {
            if is_hidden(&tokens, index) {
                let message = "what is not found becomes an index: return an error or an Option";
                findings.at(&source.path, tokens[index].line, message);
            }
        }
        let shipped: BTreeSet<usize> = tokens.iter().map(|t| t.line).collect();
        let none = Made::default();
        let made = if with_ids(&source) { &made } else { &none };
        let mut reader = Reader { made, options: made.fields.clone(), found: Vec::new() };
        reader.visit_file(&source.syntax);
        for (line, message) in reader.found.into_iter().filter(|(line, _)| shipped.contains(line)) {
            findings.at(&source.path, line, message);
        }
    }
    Ok(())
}

/// Whether `.unwrap_or(` begins here, right after `.position(…)`.
fn is_hidden(tokens: &[&Token], index: usize) -> bool {
    let text = |i: usize| tokens.get(i).map_or("", |t| t.text.as_str());
    let default = text(index) == "." && DEFAULTS[..2].contains(&text(index + 1)) && text(index + 2) == "(";
    let Some(close) = index.checked_sub(1).filter(|&i| default && text(i) == ")") else { return false };
    let opens = |i: &usize| text(*i) == "(" && tokens[*i].depth == tokens[close].depth;
    let open = (0..close).rev().find(opens);
    open.and_then(|i| i.checked_sub(1)).is_some_and(|i| SEARCHES.contains(&text(i)))
}

/// What the files declare: names of functions that may give an id (all of that name do), and of such fields.
#[derive(Default)]
struct Made {
    functions: BTreeSet<String>,
    fields: BTreeSet<String>,
}

fn made<'s>(sources: impl Iterator<Item = &'s Source>) -> Made {
    let mut reader = Declared::default();
    sources.for_each(|s| reader.visit_file(&s.syntax));
    let all = |names: BTreeMap<String, bool>| {
        names.into_iter().filter(|(_, all)| *all).map(|(name, _)| name).collect()
    };
    Made { functions: all(reader.functions), fields: all(reader.fields) }
}

#[derive(Default)]
struct Declared {
    functions: BTreeMap<String, bool>,
    fields: BTreeMap<String, bool>,
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let is_id = matches!(&signature.output, ReturnType::Type(_, ty) if is_optional_id(ty));
        *self.functions.entry(signature.ident.to_string()).or_insert(true) &= is_id;
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            *self.fields.entry(name.to_string()).or_insert(true) &= is_optional_id(&field.ty);
        }
    }
}

/// One file. `options` are the names that stand for an optional id where the reader is.
struct Reader<'m> {
    made: &'m Made,
    options: BTreeSet<String>,
    found: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn declare<'p>(&mut self, named: impl Iterator<Item = (&'p Pat, bool)>) {
        for (pattern, is_id) in named {
            if let Pat::Ident(name) = pattern {
                let name = name.ident.to_string();
                if is_id {
                    self.options.insert(name)
                } else {
                    self.options.remove(&name)
                };
            }
        }
    }

    fn may_be_id(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Path(path) => path.path.get_ident().is_some_and(|i| self.options.contains(&i.to_string())),
            Expr::Field(field) => {
                matches!(&field.member, syn::Member::Named(name) if self.made.fields.contains(&name.to_string()))
            }
            Expr::MethodCall(call) => match call.method.to_string().as_str() {
                "filter" | "copied" | "cloned" | "or" | "or_else" => self.may_be_id(&call.receiver),
                name => self.made.functions.contains(name),
            },
            Expr::Call(call) => matches!(&*call.func, Expr::Path(path)
                if path.path.segments.last().is_some_and(|s| self.made.functions.contains(&s.ident.to_string()))),
            Expr::Paren(inner) => self.may_be_id(&inner.expr),
            _ => false,
        }
    }

    /// Names within a function are its own.
    fn scoped(&mut self, arguments: Vec<(&Pat, bool)>, visit: impl FnOnce(&mut Self)) {
        let before = self.options.clone();
        self.declare(arguments.into_iter());
        visit(self);
        self.options = before;
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let is_record = matches!(item.fields, syn::Fields::Named(_));
        if !is_record && is_id_name(&item.ident.to_string()) && item.attrs.iter().any(derives_default) {
            let message = format!("{} has a default: no id is one", item.ident);
            self.found.push((item.ident.span().start().line, message));
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let is_default = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        if is_default.is_some_and(|s| s.ident == "Default") && is_id(&item.self_ty) {
            self.found
                .push((item.impl_token.span.start().line, "an id has a default: no id is one".to_owned()));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.scoped(arguments(&item.sig), |reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.scoped(arguments(&item.sig), |reader| visit::visit_impl_item_fn(reader, item));
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let typed = closure.inputs.iter().filter_map(|pattern| match pattern {
            Pat::Type(typed) => Some((&*typed.pat, is_optional_id(&typed.ty))),
            _ => None,
        });
        self.scoped(typed.collect(), |reader| visit::visit_expr_closure(reader, closure));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        let value = local.init.as_ref().map(|init| &*init.expr);
        let is_id = |value: Option<&Expr>, reader: &Self| value.is_some_and(|v| reader.may_be_id(v));
        match (&local.pat, value) {
            (Pat::Type(typed), _) => self.declare(std::iter::once((&*typed.pat, is_optional_id(&typed.ty)))),
            (Pat::Tuple(names), Some(Expr::Tuple(values))) => {
                let each: Vec<(&Pat, bool)> =
                    names.elems.iter().zip(&values.elems).map(|(n, v)| (n, is_id(Some(v), self))).collect();
                self.declare(each.into_iter());
            }
            (pattern, value) => self.declare(std::iter::once((pattern, is_id(value, self)))),
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        let default = call.args.first();
        let makes = match (method.as_str(), default) {
            ("unwrap_or" | "map_or", Some(default)) => makes_id(default),
            ("unwrap_or_else", Some(Expr::Closure(closure))) => makes_id(&closure.body),
            _ => false,
        };
        let replaces = DEFAULTS[..3].contains(&method.as_str()) && self.may_be_id(&call.receiver);
        if makes || replaces {
            let message = format!("`{method}` gives a missing id another one: return an error or an Option");
            self.found.push((call.method.span().start().line, message));
        }
        visit::visit_expr_method_call(self, call);
    }
}

fn arguments(signature: &syn::Signature) -> Vec<(&Pat, bool)> {
    let typed = signature.inputs.iter().filter_map(|argument| match argument {
        FnArg::Typed(typed) => Some((&*typed.pat, is_optional_id(&typed.ty))),
        FnArg::Receiver(_) => None,
    });
    typed.collect()
}

/// Whether an expression is a new id: `NodeId(0)`.
fn makes_id(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|s| is_id_name(&s.ident.to_string())))
}

fn is_optional_id(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last().filter(|s| s.ident == "Option") else { return false };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
    matches!(arguments.args.first(), Some(GenericArgument::Type(inner)) if is_id(inner))
}

fn is_id(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|s| {
            let name = s.ident.to_string();
            is_id_name(&name) || NAMED.contains(&name.as_str())
        }),
        Type::Reference(inner) => is_id(&inner.elem),
        _ => false,
    }
}

fn is_id_name(name: &str) -> bool {
    ["Id", "Index"].iter().any(|end| name.len() > end.len() && name.ends_with(end))
}

fn derives_default(attribute: &syn::Attribute) -> bool {
    match &attribute.meta {
        syn::Meta::List(list) => {
            list.path.is_ident("derive") && list.tokens.to_string().split(", ").any(|d| d.trim() == "Default")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let source = Source::parse("crates/ir/src/x.rs", text.to_owned()).expect("the snippet is Rust");
        let made = made(std::iter::once(&source));
        let mut reader = Reader { made: &made, options: made.fields.clone(), found: Vec::new() };
        reader.visit_file(&source.syntax);
        reader.found.iter().map(|(line, _)| *line).collect()
    }

    #[test]
    fn missing_ids_stay_missing() {
        for wrong in [
            "fn f(x: Option<NodeId>) { x.unwrap_or(y); }",
            "fn f(x: Option<u32>) { x.map(NodeId).unwrap_or(NodeId(0)); }",
            "fn f() { let x: Option<UseIndex> = g(); x.unwrap_or_default(); }",
            "fn source() -> Option<ValueId> { None } fn f() { let (x, y) = (source(), 1); x.unwrap_or(z); }",
            "struct S { at: Option<StepId> } fn f(s: S) { s.at.unwrap_or(first); }",
            "fn f() { let g = |x: Option<ValueId>| x.unwrap_or(y); }",
            "#[derive(Clone, Default)] struct NodeId(u32);",
            "impl Default for NodeId { fn default() -> NodeId { NodeId(0) } }",
        ] {
            assert_eq!(lines(wrong), [1], "{wrong}");
        }
    }

    #[test]
    fn other_options_have_defaults() {
        for right in [
            "fn f(x: Option<u32>) { x.unwrap_or(0); }",
            "fn f(x: Option<NodeId>) { let x = x.map(|n| n.0 + 1); x.unwrap_or(0); }",
            "fn f(x: Option<NodeId>) -> Option<u32> { x.map_or(None, |n| g(n)) }",
            "fn get() -> Option<ValueId> { None } impl S { fn get() -> Option<u8> { None } } fn f() { S::get().unwrap_or(1); }",
            "#[derive(Clone, Default)] struct Index(u32);",
            "#[derive(Clone, Default)] struct LoadIndex { groups: Vec<u32> }",
        ] {
            assert!(lines(right).is_empty(), "{right}");
        }
    }
}
