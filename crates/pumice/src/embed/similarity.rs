//! The table of cosines between texts, for people.

use crate::embed::Embeddings;
use std::fmt::Write;

/// Characters of a text that the table shows.
const SHOWN: usize = 48;

/// Cosines of every pair of texts under the heading `similarity`, one row and one numbered column per text.
pub fn similarity_table<S: AsRef<str>>(texts: &[S], embeddings: &Embeddings) -> String {
    let rows: Vec<&[f32]> = embeddings.rows().collect();
    let mut table = String::from("similarity\n");
    let columns: String = (1..=rows.len()).map(|i| format!("{i:>7}")).collect();
    let label = |i: usize| format!("{:>3}  {}", i + 1, shortened(texts.get(i).map_or("", AsRef::as_ref)));
    let widest = (0..rows.len()).map(|i| label(i).chars().count()).max().unwrap_or(0);
    // Writing to a String cannot fail.
    let _ = writeln!(table, "{:widest$}{columns}", "");
    for (i, a) in rows.iter().enumerate() {
        let cosines: String = rows.iter().map(|b| format!("{:>7.3}", cosine(a, b))).collect();
        let label = label(i);
        let gap = " ".repeat(widest - label.chars().count());
        let _ = writeln!(table, "{label}{gap}{cosines}");
    }
    table
}

/// a·b/(‖a‖·‖b‖); 0 where one of them is zero.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms == 0.0 { 0.0 } else { dot(a, b) / norms }
}

/// One line, cut where it is long.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN {
        return line;
    }
    line.chars().take(SHOWN - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_line_up() {
        let embeddings = Embeddings { values: vec![1.0, 0.0, 0.0, 2.0, 3.0, 3.0], width: 2, cut: Vec::new() };
        let table = similarity_table(&["first", "second\nline", "third"], &embeddings);
        let expected = "similarity
                      1      2      3
  1  first        1.000  0.000  0.707
  2  second line  0.000  1.000  0.707
  3  third        0.707  0.707  1.000
";
        assert_eq!(table, expected);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
        assert_eq!(shortened(&"x".repeat(60)).chars().count(), SHOWN);
    }
}
