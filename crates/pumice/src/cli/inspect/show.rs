//! An inspection as text for people.

use super::Inspection;
use super::memory::MemoryPlan;
use super::table::{Table, grouped, pattern};
use crate::cli::escape::{escaped, message};
use crate::cli::words::count;
use pumice_types::Bytes;

/// The whole text.
pub(super) fn text(inspection: &Inspection) -> String {
    let i = inspection;
    let mut out = format!("{} ({})\n", escaped(&i.path, &[]), i.format);
    let facts: Vec<(String, String)> = i.facts.iter().map(|(key, value)| fact(key, value)).collect();
    let width = facts.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in &facts {
        out.push_str(&format!("  {key:<width$}  {value}\n"));
    }
    out.push_str(&tensors(i));
    for note in &i.notes {
        out.push_str(&format!("note: {}\n", message(note)));
    }
    match (&i.memory, &i.problem) {
        (Some(memory), _) => out.push_str(&plan(memory)),
        (None, Some(problem)) => out.push_str(&format!("\nno memory plan: {}\n", message(problem))),
        (None, None) => {}
    }
    out
}

/// A fact as it is shown.
fn fact(key: &str, value: &serde_json::Value) -> (String, String) {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (escaped(key, &[]), escaped(&value, &[]))
}

fn bytes(count: u64) -> String {
    Bytes(count).to_string()
}

fn extents(shape: &[u64]) -> String {
    format!("{shape:?}")
}

fn tensors(i: &Inspection) -> String {
    let mut table = Table::new(&["tensor", ">count", "encoding", "extents", ">bytes"]);
    let key = |t: &super::file::TensorRow| (pattern(&t.name), t.encoding.clone(), extents(&t.shape), t.read);
    let rows = i.tensors.iter().map(|t| (key(t), t.bytes));
    for ((name, encoding, shape, read), count, sum) in grouped(rows) {
        let size = if read { bytes(sum) } else { format!("{}, not read", bytes(sum)) };
        table.row(vec![name, count.to_string(), encoding, shape, size]);
    }
    let kinds = grouped(i.tensors.iter().map(|t| (t.encoding.as_str(), t.bytes)));
    let kinds: Vec<String> = kinds.iter().map(|(e, n, sum)| format!("{n} {e} ({})", bytes(*sum))).collect();
    format!(
        "\n{}  {}, {}: {}\n",
        table.text(),
        count(i.tensors.len(), "tensor"),
        bytes(i.tensor_bytes),
        kinds.join(", ")
    )
}

fn plan(m: &MemoryPlan) -> String {
    let passing = match m.stream_bytes {
        0 => String::new(),
        most => format!(", up to {} while params are set", bytes(most)),
    };
    let context = m.context.map_or_else(String::new, |n| format!(", context {n}"));
    format!(
        "\nmemory on {}{context}: {} shared by all sessions, {} for each{passing}\n{}\n{}{}{}{}",
        m.target,
        bytes(m.shared_bytes),
        bytes(m.per_session_bytes),
        regions(m),
        runs(m),
        params(m),
        derived(m),
        states(m)
    )
}

fn regions(m: &MemoryPlan) -> String {
    let mut table = Table::new(&["region", ">bytes", "holds"]);
    for r in &m.regions {
        let chunks =
            if r.allocations > 1 { format!(", in {} allocations", r.allocations) } else { String::new() };
        table.row(vec![r.name.to_owned(), bytes(r.bytes), format!("{}{chunks}", r.holds)]);
    }
    table.text()
}

fn runs(m: &MemoryPlan) -> String {
    let mut table = Table::new(&["run", ">steps", ">levels", ">scratch", ">at least"]);
    for r in &m.runs {
        let ranges: Vec<String> =
            r.ranges.iter().map(|(name, low, high)| format!("{name}={low}..={high}")).collect();
        let numbers = [r.steps.to_string(), r.levels.to_string()];
        let sizes = [bytes(r.scratch_bytes), bytes(r.scratch_lower_bound_bytes)];
        table.row([ranges.join(" ")].into_iter().chain(numbers).chain(sizes).collect());
    }
    table.text()
}

fn params(m: &MemoryPlan) -> String {
    let mut table = Table::new(&["param", ">count", "encoding", ">bytes", "on the device", "why"]);
    let key =
        |p: &super::memory::ParamRow| (pattern(&p.name), p.encoding.clone(), p.residence, p.why.clone());
    for ((name, encoding, residence, why), count, sum) in grouped(m.params.iter().map(|p| (key(p), p.bytes)))
    {
        table.row(vec![name, count.to_string(), encoding, bytes(sum), residence.to_owned(), why]);
    }
    spaced(&table)
}

fn derived(m: &MemoryPlan) -> String {
    let mut table =
        Table::new(&["derived", ">count", "encoding", "extents", ">bytes", "made by", "of", "why"]);
    let key = |d: &super::memory::DerivedRow| {
        let from: Vec<String> = d.from.iter().map(|name| pattern(name)).collect();
        let why = pattern(&d.why);
        (pattern(&d.name), d.encoding.clone(), extents(&d.shape), d.by.clone(), from.join(", "), why)
    };
    let rows = m.derived.iter().map(|d| (key(d), d.bytes));
    for ((name, encoding, shape, by, from, why), count, sum) in grouped(rows) {
        table.row(vec![name, count.to_string(), encoding, shape, bytes(sum), by, from, why]);
    }
    spaced(&table)
}

fn states(m: &MemoryPlan) -> String {
    let mut table = Table::new(&["state", ">count", "encoding", "extents", ">bytes"]);
    let key = |s: &super::memory::StateRow| (pattern(&s.name), s.encoding.clone(), extents(&s.shape));
    for ((name, encoding, shape), count, sum) in grouped(m.states.iter().map(|s| (key(s), s.bytes))) {
        table.row(vec![name, count.to_string(), encoding, shape, bytes(sum)]);
    }
    spaced(&table)
}

/// A table under an empty line; nothing where it has no row.
fn spaced(table: &Table) -> String {
    let text = table.text();
    if text.is_empty() { text } else { format!("\n{text}") }
}
