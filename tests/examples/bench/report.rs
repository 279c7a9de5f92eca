//! The report: each row is printed when it is measured, the table at the end, JSON lines into a file. Bars are judged
//! here and nowhere else.

use crate::Args;
use crate::backward;
use crate::clock;
use crate::pin;
use crate::reference::References;
use crate::rig::Rig;
use crate::row::{Bar, Outcome, Row};
use pumice::save;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What the device is and what was measured on it.
pub struct Report {
    device: String,
    driver: String,
    commit: Option<String>,
    file: Option<PathBuf>,
    cpus: usize,
    rows: Vec<Row>,
    lines: Vec<Value>,
    failed: Vec<String>,
}

/// Whether a bar is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Met,
    NotMet,
    /// There is no bar, or it is for other sizes or another device.
    Open(&'static str),
}

impl Report {
    /// An empty report; prints what is measured on, and the head of the table.
    pub fn new(rig: &Rig, args: &Args) -> Outcome<Report> {
        let snapshot = rig.snapshot();
        let report = Report {
            device: snapshot.name.clone(),
            driver: format!("{} {}", snapshot.driver_name, snapshot.driver_info),
            commit: args.commit.clone(),
            file: args.json.clone(),
            cpus: pin::cpus(),
            rows: Vec::new(),
            lines: Vec::new(),
            failed: Vec::new(),
        };
        if let Some(file) = &args.json {
            save::replace(file, b"").map_err(|e| format!("{}: {e}", file.display()))?;
        }
        println!("{} ({}), {} CPUs, {}", report.device, report.driver, report.cpus, clock::today());
        println!("{}", header());
        Ok(report)
    }

    /// Takes the rows of a case and prints them, or why there are none. `suffix` is added to their names.
    pub fn take(
        &mut self,
        case: &str,
        rows: Outcome<Vec<Row>>,
        references: &References,
        suffix: &str,
    ) -> Outcome {
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                eprintln!("{case}: FAILED: {error}");
                self.failed.push(case.to_owned());
                return Ok(());
            }
        };
        for mut row in rows {
            row.reference = row.reference.or_else(|| references.find(&row.case).cloned());
            if !suffix.is_empty() {
                row.case.push_str(suffix);
                row.notes.push("the first case measured again: the clock check".to_owned());
            }
            self.rows.push(row);
            let row = &self.rows[self.rows.len() - 1];
            println!("{}", self.line(row));
            self.lines.push(self.json(row));
        }
        self.write()
    }

    /// Prints the notes of the rows and what ratios are on the whole; says whether every case could be measured.
    pub fn finish(self) -> Outcome<bool> {
        for (row, note) in self.rows.iter().flat_map(|r| r.notes.iter().map(move |n| (r, n))) {
            println!("note: {}: {note}", row.case);
        }
        if let Some(summary) = backward::summary(&self.rows) {
            println!("{summary}");
        }
        for case in &self.failed {
            println!("{case}: FAILED, see above");
        }
        Ok(self.failed.is_empty())
    }

    /// The file is whole after every case, so that a run cut short leaves what it had.
    fn write(&self) -> Outcome {
        let Some(file) = &self.file else { return Ok(()) };
        let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        Ok(save::replace(file, lines.as_bytes()).map_err(|e| format!("{}: {e}", file.display()))?)
    }

    fn verdict(&self, row: &Row) -> Verdict {
        let met = |yes| if yes { Verdict::Met } else { Verdict::NotMet };
        if !row.judged {
            return Verdict::Open(if row.bar == Bar::None { "-" } else { "not judged" });
        }
        let rate = |row: &Row| row.rate.at(row.times.median).map(|(value, _)| value);
        match &row.bar {
            Bar::None => Verdict::Open("-"),
            Bar::Us(us) => met(row.times.median <= *us),
            Bar::Rate(least) => met(rate(row).is_some_and(|value| value >= *least)),
            Bar::Ratio(least) => row.ratio().map_or(Verdict::Open("no reference"), |r| met(r >= *least)),
            Bar::RatioBeyond(least, us) => row
                .reference
                .as_ref()
                .map_or(Verdict::Open("no reference"), |r| met(row.times.median - us <= r.us / least)),
            Bar::ShareOf(other, share) => {
                let other = self.rows.iter().find(|r| r.case == *other).and_then(rate);
                let value = rate(row).zip(other);
                value.map_or(Verdict::Open("other case missing"), |(a, b)| met(a >= share * b))
            }
            Bar::After(other, us) => self.held_by(row, other, |other| other + us),
            Bar::TimesOf(other, times) => self.held_by(row, other, |other| other * times),
        }
    }

    /// Whether a row takes at most what `most` makes of another case's time.
    fn held_by(&self, row: &Row, other: &str, most: impl Fn(f64) -> f64) -> Verdict {
        let other = self.rows.iter().find(|r| r.case == other);
        other.map_or(Verdict::Open("other case missing"), |r| {
            if row.times.median <= most(r.times.median) { Verdict::Met } else { Verdict::NotMet }
        })
    }

    fn line(&self, row: &Row) -> String {
        let t = row.times;
        let rate = row.rate.at(t.median).map_or(String::new(), |(value, unit)| format!("{value:.2} {unit}"));
        let floor = row.figures.as_ref().map_or(String::new(), |f| us(f.floor_us / f64::from(row.per)));
        let reference = row.reference.as_ref().map_or(String::new(), |r| us(r.us));
        let ratio = row.ratio().map_or(String::new(), |r| format!("{r:.2}"));
        let verdict = match self.verdict(row) {
            Verdict::Met => "met",
            Verdict::NotMet => "NOT met",
            Verdict::Open(why) => why,
        };
        format!(
            "{:<34} {:>10} {:>10} {:>10} {:>6} {:>13} {:>10} {:>10} {:>6}  {:<26} {verdict}",
            row.case,
            us(t.median),
            us(t.min),
            us(t.max),
            row.clock,
            rate,
            floor,
            reference,
            ratio,
            bar(&row.bar),
        )
    }

    fn json(&self, row: &Row) -> Value {
        let (t, per) = (row.times, f64::from(row.per));
        let rate = row.rate.at(t.median);
        let figures = row.figures.as_ref();
        let verdict = match self.verdict(row) {
            Verdict::Met => json!(true),
            Verdict::NotMet => json!(false),
            Verdict::Open(_) => Value::Null,
        };
        json!({
            "case": row.case, "device": self.device, "driver": self.driver, "date": clock::today(),
            "commit": self.commit, "cpus": self.cpus, "clock": row.clock,
            "unit": "us", "median": t.median, "min": t.min, "max": t.max,
            "samples": t.samples, "replays": t.replays, "steady": t.steady, "ops_per_run": row.per,
            "rate": rate.map(|r| r.0), "rate_unit": rate.map(|r| r.1),
            "levels": figures.map(|f| f.levels), "dispatches": figures.map(|f| f.dispatches),
            "bytes": figures.map(|f| f.bytes), "flops": figures.map(|f| f.flops),
            "floor": figures.map(|f| f.floor_us / per), "kernels": figures.map(|f| &f.kernels),
            "modules": figures.map(|f| &f.modules),
            "reference": row.reference.as_ref().map(|r| r.us),
            "reference_from": row.reference.as_ref().map(|r| &r.from),
            "ratio": row.ratio(), "bar": bar(&row.bar), "met": verdict,
            "checked": row.checked, "notes": row.notes, "processor_mhz": clock::processor_mhz(),
        })
    }
}

/// The columns of [`Report::line`].
fn header() -> String {
    format!(
        "\n{:<34} {:>10} {:>10} {:>10} {:>6} {:>13} {:>10} {:>10} {:>6}  bar",
        "case", "pumice us", "min", "max", "clock", "rate", "floor us", "ref. us", "ratio"
    )
}

/// Microseconds with as many digits as matter.
fn us(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn bar(bar: &Bar) -> String {
    match bar {
        Bar::None => String::new(),
        Bar::Rate(least) => format!("rate >= {least}"),
        Bar::Us(most) => format!("us <= {most}"),
        Bar::Ratio(least) => format!("ratio >= {least}"),
        Bar::RatioBeyond(least, us) => format!("ratio >= {least} beyond {us} us"),
        Bar::ShareOf(case, share) => format!(">= {share} of {}", case.trim_start_matches("S1.")),
        Bar::After(_, us) => format!("<= {us} us more"),
        Bar::TimesOf(_, times) => format!("<= {times} times"),
    }
}
