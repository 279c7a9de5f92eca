//! No function over 100 lines, no file over 700, no shader over 150. Generated files are exempt.

use syn::visit::{self, Visit};

use super::{Findings, Tree};
use crate::failure::Outcome;

const FUNCTION_LINES: usize = 100;
const FILE_LINES: usize = 700;
const SHADER_LINES: usize = 150;

/// Reports long functions and files.
pub fn check(tree: &Tree<'_>, findings: &mut Findings) -> Outcome {
    for source in tree.sources.iter().filter(|source| !source.is_generated()) {
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            findings.at(
                &source.path,
                FILE_LINES,
                format!("{lines} lines, at most {FILE_LINES}: split the file"),
            );
        }
        let mut functions = Functions(Vec::new());
        functions.visit_file(&source.syntax);
        for (name, line, lines) in functions.0 {
            if lines > FUNCTION_LINES {
                let message = format!("fn {name} has {lines} lines, at most {FUNCTION_LINES}: split it");
                findings.at(&source.path, line, message);
            }
        }
    }
    for path in tree.files.iter().filter(|path| path.ends_with(".comp") || path.ends_with(".glsl")) {
        let lines = tree.checkout.read(path)?.lines().count();
        if lines > SHADER_LINES {
            findings.at(
                path,
                SHADER_LINES,
                format!("{lines} lines, at most {SHADER_LINES}: split the shader"),
            );
        }
    }
    Ok(())
}

/// Name, line and length of each function.
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    fn note(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        self.0.push((signature.ident.to_string(), first, last + 1 - first));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.note(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_from_signature_to_brace() {
        let file =
            syn::parse_file("/// Doc.\nfn a() {\n    1;\n}\nimpl X {\n    fn b() {}\n}\n").expect("Rust");
        let mut functions = Functions(Vec::new());
        functions.visit_file(&file);
        assert_eq!(functions.0, [("a".to_owned(), 2, 3), ("b".to_owned(), 6, 1)]);
    }
}
