//! What a benchmark found: rows as llama-bench has them, and one object of JSON.

use super::args::{Kind, Test};
use super::measure::Samples;
use serde::Serialize;

/// The model and where it ran.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Subject {
    pub model: String,
    pub family: String,
    pub params: u64,
    pub model_bytes: u64,
    pub device: String,
    pub copy_gb_per_s: f64,
    pub kv: &'static str,
    pub precision: &'static str,
    pub context: u64,
    pub levels_per_token: u32,
}

/// Seconds from a file to a token that was read.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct LoadTimes {
    pub cold_s: f64,
    pub warm_s: f64,
}

/// A test that has run.
#[derive(Clone, Debug)]
pub(super) struct Tested {
    pub test: Test,
    pub samples: Samples,
    /// Of a prompt: arithmetic of its products. Of decoding: bytes that a token reads, at the middle of what is made.
    pub work: u64,
}

/// The form of a test in JSON.
#[derive(Serialize)]
struct TestReport<'r> {
    test: String,
    kind: Kind,
    tokens: u64,
    depth: u64,
    samples: &'r [f64],
    median: f64,
    min: f64,
    max: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    flops: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tflops: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gb_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_copy: Option<f64>,
}

/// The form of `--json`.
#[derive(Serialize)]
struct Report<'r> {
    #[serde(flatten)]
    subject: &'r Subject,
    load: LoadTimes,
    tests: Vec<TestReport<'r>>,
    notes: Vec<&'r str>,
}

impl Tested {
    /// Arithmetic a second, in 10¹²; of prompts.
    fn tflops(&self) -> Option<f64> {
        let each = self.work as f64 / self.test.tokens as f64;
        (self.test.kind == Kind::Prompt).then(|| each * self.samples.median() / 1e12)
    }

    /// Bytes a second, in 10⁹; of decoding.
    fn gb_per_s(&self) -> Option<f64> {
        (self.test.kind == Kind::Decode).then(|| self.work as f64 * self.samples.median() / 1e9)
    }

    fn report(&self, copy: f64) -> TestReport<'_> {
        let of = |kind| (self.test.kind == kind).then_some(self.work);
        TestReport {
            test: self.test.name(),
            kind: self.test.kind,
            tokens: self.test.tokens,
            depth: self.test.depth,
            samples: self.samples.all(),
            median: self.samples.median(),
            min: self.samples.least(),
            max: self.samples.most(),
            flops: of(Kind::Prompt),
            tflops: self.tflops(),
            bytes_per_token: of(Kind::Decode),
            gb_per_s: self.gb_per_s(),
            share_of_copy: self.gb_per_s().map(|rate| rate / copy),
        }
    }
}

/// One object.
///
/// # Errors
/// None that the values here could cause.
pub(super) fn json(
    subject: &Subject,
    load: LoadTimes,
    tested: &[Tested],
    notes: &[&str],
) -> serde_json::Result<String> {
    let tests = tested.iter().map(|t| t.report(subject.copy_gb_per_s)).collect();
    serde_json::to_string(&Report { subject, load, tests, notes: notes.to_vec() })
}

/// Widths of the columns after the model's.
const WIDTHS: [usize; 7] = [5, 14, 24, 9, 8, 8, 10];
const TITLES: [&str; 7] = ["kv", "test", "t/s (least to most)", "GB/s", "of copy", "TFLOPS", "levels"];

/// Rows in Markdown, as wide as they will be before the first is known.
pub(super) struct Rows {
    model: String,
    kv: &'static str,
    copy: f64,
    levels: u32,
}

impl Rows {
    pub fn new(subject: &Subject) -> Rows {
        let size = pumice_types::Bytes(subject.model_bytes);
        let model = format!("{} {} ({size})", subject.family, amount(subject.params));
        Rows { model, kv: subject.kv, copy: subject.copy_gb_per_s, levels: subject.levels_per_token }
    }

    /// The two lines above all rows.
    pub fn head(&self) -> String {
        let width = self.model.chars().count();
        let titles = self.line(&format!("{:<width$}", "model"), TITLES.map(str::to_owned));
        let rules = WIDTHS.iter().enumerate().map(|(i, &w)| rule(w, i >= 2));
        let rules: Vec<String> = std::iter::once(rule(width, false)).chain(rules).collect();
        format!("{titles}\n|{}|", rules.join("|"))
    }

    pub fn row(&self, tested: &Tested) -> String {
        let samples = &tested.samples;
        let rate = format!(
            "{} ({} to {})",
            digits(samples.median()),
            digits(samples.least()),
            digits(samples.most())
        );
        let some = |value: Option<f64>, text: fn(f64) -> String| value.map(text).unwrap_or_default();
        let share = |rate: f64| format!("{:.0} %", 100.0 * rate / self.copy);
        let cells = [
            self.kv.to_owned(),
            tested.test.name(),
            rate,
            some(tested.gb_per_s(), digits),
            tested.gb_per_s().map(share).unwrap_or_default(),
            some(tested.tflops(), |rate| format!("{rate:.3}")),
            tested.gb_per_s().map(|_| self.levels.to_string()).unwrap_or_default(),
        ];
        self.line(&self.model, cells)
    }

    fn line(&self, model: &str, cells: [String; 7]) -> String {
        let cells = cells.iter().zip(WIDTHS).enumerate().map(|(i, (cell, width))| match i {
            0 | 1 => format!(" {cell:<width$} |"),
            _ => format!(" {cell:>width$} |"),
        });
        format!("| {model} |{}", cells.collect::<String>())
    }
}

fn rule(width: usize, is_number: bool) -> String {
    if is_number { format!("{}:", "-".repeat(width + 1)) } else { "-".repeat(width + 2) }
}

/// A number with two digits after the point, or one, or none, so that four or five are told.
pub(super) fn digits(value: f64) -> String {
    match value {
        v if v < 100.0 => format!("{v:.2}"),
        v if v < 1000.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// `134.52 M`, `8.03 B`: parameters as people count them.
fn amount(params: u64) -> String {
    match params as f64 {
        n if n >= 1e9 => format!("{:.2} B", n / 1e9),
        n if n >= 1e6 => format!("{:.2} M", n / 1e6),
        n => format!("{:.1} K", n / 1e3),
    }
}
