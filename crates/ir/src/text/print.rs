//! Graph to text.

use crate::attr::AttrValue;
use crate::graph::{Constraint, Graph, Node};
use crate::shape::{ValueType, display_dim};
use crate::state::{Feed, FeedKind};
use pumice_types::{DType, DimExpr, SymbolId, Tensor, Var};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The graph as `.ir` text.
pub fn print(graph: &Graph) -> String {
    Printer::text(graph, &all_symbols(graph))
}

/// The graph as `.ir` text that declares only the symbols it uses, and which those are, in order: read back, they are
/// numbered anew. Where a graph stands inside, all are declared, so that both count alike.
pub fn print_used(graph: &Graph) -> (String, Vec<SymbolId>) {
    match used_symbols(graph).filter(|_| graph.feeds.is_empty()) {
        Some(used) => {
            let used: Vec<SymbolId> = used.into_iter().collect();
            (Printer::text(graph, &used), used)
        }
        None => (print(graph), all_symbols(graph)),
    }
}

/// The line of one node.
pub(crate) fn print_node(graph: &Graph, node: &Node) -> String {
    let mut printer = Printer { out: String::new(), indent: 0 };
    printer.node(graph, node);
    printer.out.trim_start().to_owned()
}

fn all_symbols(graph: &Graph) -> Vec<SymbolId> {
    graph.symbols.iter().map(|(id, _)| id).collect()
}

/// The symbols in types and attributes; none where a graph stands inside.
fn used_symbols(graph: &Graph) -> Option<BTreeSet<SymbolId>> {
    if graph.nodes.iter().any(|n| n.op.body().is_some()) {
        return None;
    }
    let mut used = BTreeSet::new();
    let mut visit = |d: &DimExpr| d.visit_vars(|v| used.extend(v.symbol()));
    graph.values.iter().flat_map(|v| v.ty.shape.iter()).for_each(&mut visit);
    let stated = graph.constraints.iter().filter(|c| c.of_method);
    stated.flat_map(|c| [&c.left, &c.right]).for_each(&mut visit);
    graph.nodes.iter().for_each(|n| n.op.visit_dims(&mut visit));
    Some(used)
}

struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn text(graph: &Graph, declared: &[SymbolId]) -> String {
        let mut printer = Printer { out: String::new(), indent: 0 };
        printer.graph(graph, declared);
        printer.out.push('\n');
        printer.out
    }

    fn line(&mut self) {
        self.out.push('\n');
        (0..self.indent).for_each(|_| self.out.push_str("  "));
    }

    fn graph(&mut self, g: &Graph, declared: &[SymbolId]) {
        let _ = write!(self.out, "graph {} {{", name(&g.name));
        self.indent += 1;
        for s in declared.iter().filter_map(|&id| g.symbols.get(id)) {
            self.line();
            let _ = write!(self.out, "symbol {} = {}..={}", name(&s.name), s.min, s.max);
            if s.multiple_of > 1 {
                let _ = write!(self.out, " step {}", s.multiple_of);
            }
            if s.found {
                self.out.push_str(" found");
            }
        }
        g.constraints.iter().filter(|c| c.of_method).for_each(|c| self.require(g, c));
        g.nodes.iter().for_each(|n| self.node(g, n));
        for o in &g.outputs {
            self.line();
            let _ = write!(self.out, "output {} = {}", name(&o.name), name(&g.value(o.value).name));
        }
        g.feeds.iter().for_each(|f| self.feed(g, f));
        if let Some(stop) = g.stop.and_then(|at| g.outputs.get(at)) {
            self.line();
            let _ = write!(self.out, "stop {}", name(&stop.name));
        }
        self.indent -= 1;
        self.line();
        self.out.push('}');
    }

    fn feed(&mut self, g: &Graph, feed: &Feed) {
        self.line();
        let (from, to) = (name(&g.outputs[feed.output].name), name(&g.value(feed.state).name));
        let kind = match &feed.kind {
            FeedKind::Whole => "whole".to_owned(),
            FeedKind::Prefix { axis, len } => format!("prefix {{axis = {axis}, len = {}}}", expr(g, len)),
            FeedKind::Row { axis, src, dst, count } => {
                let [src, dst, count] = [src, dst, count].map(|e| expr(g, e));
                format!("row {{axis = {axis}, src = {src}, dst = {dst}, count = {count}}}")
            }
        };
        let _ = write!(self.out, "feed {from} -> {to} {kind}");
    }

    fn require(&mut self, g: &Graph, c: &Constraint) {
        self.line();
        let [left, right] = [&c.left, &c.right].map(|d| display_dim(d, &g.symbols));
        let relation = c.relation.name();
        let _ = write!(self.out, "require {} {relation} {{left = {left}, right = {right}}}", quoted(&c.what));
    }

    fn node(&mut self, g: &Graph, node: &Node) {
        self.line();
        for (i, &v) in node.outputs.iter().enumerate() {
            let info = g.value(v);
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.out, "{comma}{}: ", name(&info.name));
            self.ty(g, &info.ty);
        }
        let _ = write!(self.out, " = {}(", node.op.name());
        for (i, v) in node.inputs.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.out, "{comma}{}", v.map_or("_".into(), |v| name(&g.value(v).name)));
        }
        self.out.push(')');
        let stands_before = |v: &AttrValue| matches!(v, AttrValue::Type(_) | AttrValue::Types(_));
        let attrs: Vec<_> = node.op.attrs().into_iter().filter(|(_, v)| !stands_before(v)).collect();
        if !attrs.is_empty() {
            self.attrs(g, &attrs);
        }
    }

    fn attrs(&mut self, g: &Graph, attrs: &[(&str, AttrValue)]) {
        self.out.push_str(" {");
        for (i, (key, value)) in attrs.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.out, "{comma}{key} = ");
            self.value(g, value);
        }
        self.out.push('}');
    }

    fn value(&mut self, g: &Graph, value: &AttrValue) {
        let text = match value {
            AttrValue::Int(i) => i.to_string(),
            AttrValue::Float(f) => float(*f),
            AttrValue::Bool(b) => b.to_string(),
            AttrValue::Str(s) => quoted(s),
            AttrValue::Ints(v) => list(v.iter().map(i64::to_string)),
            AttrValue::Dim(d) => expr(g, d),
            AttrValue::Dims(v) => list(v.iter().map(|d| expr(g, d))),
            AttrValue::DType(d) => d.name().to_owned(),
            AttrValue::Type(t) => return self.ty(g, t),
            AttrValue::Types(types) => return types.iter().for_each(|t| self.ty(g, t)),
            AttrValue::Data(t) => data(t),
            AttrValue::Graph(body) => return self.graph(body, &all_symbols(body)),
            AttrValue::Op(op) => {
                let _ = write!(self.out, "op {}", op.name());
                let attrs = op.attrs();
                if !attrs.is_empty() {
                    self.attrs(g, &attrs);
                }
                return;
            }
        };
        self.out.push_str(&text);
    }

    fn ty(&mut self, g: &Graph, t: &ValueType) {
        let _ = write!(self.out, "{}[", t.encoding);
        for (i, d) in t.shape.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.out, "{comma}{}", expr(g, d));
        }
        self.out.push(']');
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// A float that reads back to the same bits; always with a point, an exponent or a word.
fn float(f: f64) -> String {
    if f.is_nan() { "nan".into() } else { format!("{f:?}") }
}

fn expr(g: &Graph, d: &DimExpr) -> String {
    let is_plain = |v: Var| v.symbol().and_then(|id| g.symbols.get(id)).is_some_and(|s| plain(&s.name));
    if d.find_var(|v| !is_plain(v)).is_none() {
        return display_dim(d, &g.symbols);
    }
    let scalars = g.scalars();
    d.display(&|v| match v {
        Var::Symbol(id) => {
            g.symbols.get(id).map_or_else(|| format!("?{}", id.0), |s| name(&s.name).into_owned())
        }
        Var::Scalar(id) => match scalars.get(id.0 as usize) {
            Some(&s) => format!("${}", name(&g.value(s).name)),
            None => format!("${}", id.0),
        },
    })
}

/// Small finite numbers as a list, everything else as bytes in hexadecimal.
fn data(t: &Tensor) -> String {
    let shape = list(t.shape().iter().map(u64::to_string));
    let short = t.encoding().elements(t.bytes().len() as u64) <= 16;
    let numbers = match t.dtype() {
        DType::F32 if short => t
            .to_vec::<f32>()
            .ok()
            .filter(|v| v.iter().all(|f| f.is_finite()))
            .map(|v| v.iter().map(|f| format!("{f:?}")).collect::<Vec<_>>()),
        DType::I32 if short => t.to_vec::<i32>().ok().map(|v| v.iter().map(i32::to_string).collect()),
        DType::I64 if short => t.to_vec::<i64>().ok().map(|v| v.iter().map(i64::to_string).collect()),
        _ => None,
    };
    match numbers {
        Some(n) => format!("{}{shape} [{}]", t.dtype(), n.join(", ")),
        None => {
            let hex: String = t.bytes().iter().map(|b| format!("{b:02x}")).collect();
            format!("{}{shape} x\"{hex}\"", t.dtype())
        }
    }
}

fn plain(s: &str) -> bool {
    let mut chars = s.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        && s != "_"
}

fn name(s: &str) -> Cow<'_, str> {
    if plain(s) { s.into() } else { quoted(s).into() }
}

fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::read;
    use crate::{GraphBuilder, f32, sym};

    #[test]
    fn only_symbols_in_use_are_declared() {
        let g = GraphBuilder::new("g");
        g.output("a", g.input("a", f32([sym("m", 1..=4)])));
        let (symbols, graph) = (g.symbols().expect("at rest"), g.build().expect("sound"));
        let part = GraphBuilder::with_symbols("part", {
            let mut symbols = symbols;
            symbols.push(pumice_types::Symbol {
                name: "n".into(),
                min: 1,
                max: 8,
                multiple_of: 2,
                found: false,
            });
            symbols
        });
        part.output("x", part.input("x", f32([DimExpr::symbol(SymbolId(1)) * DimExpr::constant(3)])));
        let (text, used) = print_used(&part.build().expect("sound"));
        assert_eq!(used, [SymbolId(1)]);
        let again = read(&text).expect("text of our own");
        assert_eq!(again.symbols().iter().map(|(_, s)| s.name.as_str()).collect::<Vec<_>>(), ["n"]);
        assert_eq!(print_used(&graph), (print(&graph), vec![SymbolId(0)]));
    }
}
