//! The public functions of the graph's builder with their attributes, read from the sources. In: the checkout. Out:
//! attributes by name of the function. Never here: what a function computes.
//!
//! What is no value of the graph is an attribute: an argument of its own, or, of a struct of options, its fields.

use std::collections::BTreeMap;

use syn::{FnArg, ImplItem, Item, Pat, Type, Visibility};

use crate::checkout::Checkout;
use crate::failure::Outcome;
use crate::tidy::Source;

const SOURCES: &str = "crates/ir/src/";

/// Attributes by name of the function.
pub type Methods = BTreeMap<String, Vec<String>>;

/// Every public function of `impl GraphBuilder`.
pub fn read(checkout: &Checkout) -> Outcome<Methods> {
    let (mut structs, mut functions) = (BTreeMap::new(), Vec::new());
    for path in checkout.files()?.iter().filter(|p| p.starts_with(SOURCES) && p.ends_with(".rs")) {
        let source = Source::parse(path, checkout.read(path)?)?;
        gather(&source.syntax.items, &mut structs, &mut functions);
    }
    let of = |(name, arguments): (String, Vec<(String, Option<String>)>)| {
        let attributes = arguments.into_iter().flat_map(|(argument, ty)| {
            let options = ty.and_then(|ty| structs.get(&ty).cloned());
            options.unwrap_or_else(|| vec![argument])
        });
        (name, attributes.collect())
    };
    Ok(functions.into_iter().map(of).collect())
}

/// Name, and arguments that are no values, each with the last word of its type.
type Function = (String, Vec<(String, Option<String>)>);

fn gather(items: &[Item], structs: &mut BTreeMap<String, Vec<String>>, functions: &mut Vec<Function>) {
    for item in items {
        match item {
            Item::Struct(s) => {
                let public = s.fields.iter().filter(|f| matches!(f.vis, Visibility::Public(_)));
                let names: Vec<String> = public.filter_map(|f| Some(f.ident.as_ref()?.to_string())).collect();
                if !names.is_empty() {
                    structs.insert(s.ident.to_string(), names);
                }
            }
            Item::Impl(i)
                if i.trait_.is_none() && last_word(&i.self_ty).as_deref() == Some("GraphBuilder") =>
            {
                functions.extend(i.items.iter().filter_map(function));
            }
            _ => {}
        }
    }
}

fn function(item: &ImplItem) -> Option<Function> {
    let ImplItem::Fn(f) = item else { return None };
    if !matches!(f.vis, Visibility::Public(_)) {
        return None;
    }
    let attribute = |argument: &FnArg| match argument {
        FnArg::Typed(typed) if !is_value(&typed.ty) => match &*typed.pat {
            Pat::Ident(name) => Some((name.ident.to_string(), last_word(&typed.ty))),
            _ => None,
        },
        _ => None,
    };
    Some((f.sig.ident.to_string(), f.sig.inputs.iter().filter_map(attribute).collect()))
}

/// Whether a type is values of the graph: one, an optional one, several.
fn is_value(ty: &Type) -> bool {
    match ty {
        Type::Reference(r) => is_value(&r.elem),
        Type::Slice(s) => is_value(&s.elem),
        Type::Array(a) => is_value(&a.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            let inner = match &last.arguments {
                syn::PathArguments::AngleBracketed(list) => list.args.iter().any(|argument| match argument {
                    syn::GenericArgument::Type(ty) => is_value(ty),
                    _ => false,
                }),
                _ => false,
            };
            last.ident == "Value" || last.ident == "RandomSource" || inner
        }),
        _ => false,
    }
}

fn last_word(ty: &Type) -> Option<String> {
    match ty {
        Type::Reference(r) => last_word(&r.elem),
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_value_is_an_attribute() {
        let text = "pub struct Huber { pub delta: f32, pub reduction: R }\nimpl GraphBuilder {\n pub fn huber(&self, x: \
                    Value, more: &[Option<Value>], axis: i64, op: Huber) -> Value { x }\n fn own(&self, a: i64) {}\n}";
        let file = syn::parse_file(text).expect("Rust");
        let (mut structs, mut functions) = (BTreeMap::new(), Vec::new());
        gather(&file.items, &mut structs, &mut functions);
        let expected =
            vec![("axis".to_owned(), Some("i64".to_owned())), ("op".to_owned(), Some("Huber".to_owned()))];
        assert_eq!(functions, [("huber".to_owned(), expected)]);
        assert_eq!(structs["Huber"], ["delta", "reduction"]);
    }

    #[test]
    fn functions_of_the_checkout_have_their_attributes() {
        let methods = read(&Checkout::find().expect("tests run in the checkout")).expect("read");
        assert_eq!(methods["huber"], ["reduction", "delta"]);
        assert!(methods.len() > 150, "{}", methods.len());
    }
}
