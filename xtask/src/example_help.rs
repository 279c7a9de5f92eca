//! The help of a program under `tests/examples` without building it. In: the source of its `Args`. Out: what clap
//! would print of it, so that the source stays the one place where options are described. Never here: parsing
//! arguments.

use syn::{Attribute, Expr, ExprLit, Fields, Item, Lit, Meta};

use crate::checkout::Checkout;
use crate::failure::{Failure, Outcome};

/// The help of `tests/examples/<name>.rs` or `tests/examples/<name>/main.rs`.
pub fn text(name: &str, checkout: &Checkout) -> Outcome<String> {
    let paths = [format!("tests/examples/{name}/main.rs"), format!("tests/examples/{name}.rs")];
    let there = paths.iter().find(|path| checkout.root.join(path).is_file());
    let path = there.ok_or_else(|| Failure::said(format!("there is no example `{name}`")))?;
    of(name, &checkout.read(path)?).ok_or_else(|| Failure::said(format!("{path}: it has no struct `Args`")))
}

fn of(name: &str, source: &str) -> Option<String> {
    let file = syn::parse_file(source).ok()?;
    let args = file.items.iter().find_map(|item| match item {
        Item::Struct(found) if found.ident == "Args" => Some(found),
        _ => None,
    })?;
    let Fields::Named(fields) = &args.fields else { return None };
    let mut out = format!("{}\n\nUsage: cargo xtask {name} [OPTIONS]\n\nOptions:\n", doc(&args.attrs));
    for field in &fields.named {
        let arg = argument(&field.attrs);
        if arg.contains("hide = true") {
            continue;
        }
        let long = field.ident.as_ref().map(|ident| ident.to_string().replace('_', "-")).unwrap_or_default();
        let flag = match arg.split(',').any(|word| word.trim() == "short") {
            true => format!("-{}", long.chars().next().unwrap_or_default()),
            false => format!("--{long}"),
        };
        let value = arg.split_once("value_name = \"").and_then(|(_, rest)| rest.split('"').next());
        let value = value.map_or_else(String::new, |value| format!(" <{value}>"));
        out.push_str(&format!("  {flag}{value}\n          {}\n", doc(&field.attrs)));
    }
    Some(out)
}

/// The words of a doc comment, on one line.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// What stands in `#[arg(...)]`.
fn argument(attributes: &[Attribute]) -> String {
    let lists = attributes.iter().filter(|attribute| attribute.path().is_ident("arg"));
    let texts = lists.filter_map(|a| a.meta.require_list().ok().map(|list| list.tokens.to_string()));
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_describe_themselves() {
        let checkout = Checkout::find().expect("tests run in the checkout");
        let bench = text("bench", &checkout).expect("it is there");
        assert!(bench.contains("  --only <TEXT>\n          Only cases whose name contains"), "{bench}");
        assert!(!bench.contains("--first-embedding"), "hidden: {bench}");
        let tune = text("tune", &checkout).expect("it is there");
        assert!(
            tune.contains("  -o <FILE>\n          Write the table") && tune.contains("  --quick\n"),
            "{tune}"
        );
    }
}
