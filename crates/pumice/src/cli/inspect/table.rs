//! Aligned columns, and rows that differ in a layer's number shown as one.

use crate::cli::escape::escaped;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A table: its head, and rows of as many cells. Cells of number columns are right-aligned.
pub(super) struct Table {
    head: Vec<&'static str>,
    numbers: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of columns, each by its title; a title that begins with `>` is that of numbers.
    pub(super) fn new(titles: &[&'static str]) -> Table {
        Table {
            head: titles.iter().map(|t| t.trim_start_matches('>')).collect(),
            numbers: titles.iter().map(|t| t.starts_with('>')).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Control characters of its cells, which may be names of a file, become escapes.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.head.len());
        self.rows.push(cells.iter().map(|cell| escaped(cell, &[])).collect());
    }

    /// Its text, a line a row; nothing where there is no row.
    pub(super) fn text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let head: Vec<String> = self.head.iter().map(|&t| t.to_owned()).collect();
        let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&self.rows).collect();
        let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut out = String::new();
        for row in all {
            let mut line = String::new();
            for ((cell, &width), &number) in row.iter().zip(&widths).zip(&self.numbers) {
                // Writing to a String cannot fail.
                let _ =
                    if number { write!(line, "  {cell:>width$}") } else { write!(line, "  {cell:<width$}") };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// A name with `*` for every part that is a number: `blk.*.attn_q.weight`.
pub(super) fn pattern(name: &str) -> String {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts = name.split('.').map(|part| if number(part) { "*" } else { part });
    parts.collect::<Vec<_>>().join(".")
}

/// Rows of one key, in the order of the first of each: the key, how many, their bytes.
pub(super) fn grouped<K: Ord>(rows: impl Iterator<Item = (K, u64)>) -> Vec<(K, usize, u64)> {
    // Of each key: which it was, how many it has, their bytes.
    let mut groups: BTreeMap<K, (usize, usize, u64)> = BTreeMap::new();
    for (key, bytes) in rows {
        let next = groups.len();
        let (_, count, sum) = groups.entry(key).or_insert((next, 0, 0));
        *count += 1;
        *sum += bytes;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (place, _, _))| *place);
    groups.into_iter().map(|(key, (_, count, sum))| (key, count, sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_layers_are_one_row() {
        let mut table = Table::new(&["name", ">count", "why"]);
        table.row(vec!["a".into(), "1".into(), "x".into()]);
        table.row(vec!["long name".into(), "100".into(), String::new()]);
        assert_eq!(table.text(), "  name       count  why\n  a              1  x\n  long name    100\n");
        assert_eq!(Table::new(&["x"]).text(), "");
        let mut raw = Table::new(&["x"]);
        raw.row(vec!["\u{1b}\n".into()]);
        assert_eq!(raw.text(), "  x\n  \\u{1b}\\n\n");
        assert_eq!(pattern("blk.12.attn_q.weight"), "blk.*.attn_q.weight");
        assert_eq!(pattern("h2.x10"), "h2.x10");
        assert_eq!(grouped([("b", 1), ("a", 2), ("b", 3)].into_iter()), [("b", 2, 4), ("a", 1, 2)]);
    }

    /// A file of 40,000 tensors took 6 s and one of 1,000,000 did not end: each row looked through all groups before
    /// it.
    #[test]
    fn rows_are_grouped_by_few_comparisons_each() {
        use std::cell::Cell;
        use std::cmp::Ordering;

        struct Counted<'c>(u64, &'c Cell<u64>);
        impl PartialEq for Counted<'_> {
            fn eq(&self, other: &Self) -> bool {
                self.cmp(other) == Ordering::Equal
            }
        }
        impl Eq for Counted<'_> {}
        impl PartialOrd for Counted<'_> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Counted<'_> {
            fn cmp(&self, other: &Self) -> Ordering {
                self.1.set(self.1.get() + 1);
                self.0.cmp(&other.0)
            }
        }

        let comparisons = Cell::new(0);
        let rows = 1u64 << 16;
        let groups = grouped((0..rows).map(|i| (Counted(i, &comparisons), i)));
        assert!(groups.iter().map(|(key, _, _)| key.0).eq(0..rows));
        // Logarithm 16, and nodes that are looked through.
        assert!(comparisons.get() < rows * 64, "{}", comparisons.get());
    }
}
