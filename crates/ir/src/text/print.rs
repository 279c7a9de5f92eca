//! Graph to text.

use crate::attr::AttrValue;
use crate::graph::{Graph, Node};
use crate::shape::{ValueType, display_dim};
use crate::state::FeedKind;
use pumice_types::{DType, DimExpr, Tensor, Var};
use std::fmt::Write;

/// The graph as `.ir` text.
pub fn print(graph: &Graph) -> String {
    let mut printer = Printer { out: String::new(), indent: 0 };
    printer.graph(graph);
    printer.out.push('\n');
    printer.out
}

struct Printer {
    out: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self) {
        self.out.push('\n');
        (0..self.indent).for_each(|_| self.out.push_str("  "));
    }

    fn graph(&mut self, g: &Graph) {
        let _ = write!(self.out, "graph {} {{", name(&g.name));
        self.indent += 1;
        for (_, s) in g.symbols.iter() {
            self.line();
            let _ = write!(self.out, "symbol {} = {}..={}", name(&s.name), s.min, s.max);
            if s.multiple_of > 1 {
                let _ = write!(self.out, " step {}", s.multiple_of);
            }
        }
        g.nodes.iter().for_each(|n| self.node(g, n));
        for o in &g.outputs {
            self.line();
            let _ = write!(self.out, "output {} = {}", name(&o.name), name(&g.value(o.value).name));
        }
        for f in &g.feeds {
            self.line();
            let (from, to) = (name(&g.outputs[f.output].name), name(&g.value(f.state).name));
            let kind = match &f.kind {
                FeedKind::Whole => "whole".to_owned(),
                FeedKind::Prefix { axis, len } => format!("prefix {{axis = {axis}, len = {}}}", expr(g, len)),
                FeedKind::Row { axis, src, dst, count } => format!(
                    "row {{axis = {axis}, src = {}, dst = {}, count = {}}}",
                    expr(g, src),
                    expr(g, dst),
                    expr(g, count)
                ),
            };
            let _ = write!(self.out, "feed {from} -> {to} {kind}");
        }
        self.indent -= 1;
        self.line();
        self.out.push('}');
    }

    fn node(&mut self, g: &Graph, node: &Node) {
        self.line();
        for (i, &v) in node.outputs.iter().enumerate() {
            let info = g.value(v);
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(self.out, "{comma}{}: {}", name(&info.name), ty(g, &info.ty));
        }
        let operands: Vec<String> =
            node.inputs.iter().map(|v| v.map_or("_".into(), |v| name(&g.value(v).name))).collect();
        let _ = write!(self.out, " = {}({})", node.op.name(), operands.join(", "));
        let attrs: Vec<_> =
            node.op.attrs().into_iter().filter(|(_, v)| !matches!(v, AttrValue::Type(_))).collect();
        if attrs.is_empty() {
            return;
        }
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
            AttrValue::Type(t) => ty(g, t),
            AttrValue::Data(t) => data(t),
            AttrValue::Graph(body) => return self.graph(body),
        };
        self.out.push_str(&text);
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// A float that reads back to the same bits; always with a point, an exponent or a word.
fn float(f: f64) -> String {
    if f.is_nan() { "nan".into() } else { format!("{f:?}") }
}

fn ty(g: &Graph, t: &ValueType) -> String {
    let dims: Vec<String> = t.shape.iter().map(|d| expr(g, d)).collect();
    format!("{}[{}]", t.dtype, dims.join(", "))
}

fn expr(g: &Graph, d: &DimExpr) -> String {
    if d.vars().iter().all(|v| matches!(v, Var::Symbol(_))) && g.symbols.iter().all(|(_, s)| plain(&s.name)) {
        return display_dim(d, &g.symbols);
    }
    let scalars = g.scalars();
    d.display(&|v| match v {
        Var::Symbol(id) => g.symbols.get(id).map_or_else(|| format!("?{}", id.0), |s| name(&s.name)),
        Var::Scalar(id) => match scalars.get(id.0 as usize) {
            Some(&s) => format!("${}", name(&g.value(s).name)),
            None => format!("${}", id.0),
        },
    })
}

/// Small finite numbers as a list, everything else as bytes in hexadecimal.
fn data(t: &Tensor) -> String {
    let shape = list(t.shape().iter().map(u64::to_string));
    let short = t.bytes().len() as u64 <= 16 * t.dtype().natural_bytes();
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

fn name(s: &str) -> String {
    if plain(s) { s.to_owned() } else { quoted(s) }
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
