//! `pumice tune`: measures which kernels are fastest on this device and keeps the table in the program's cache
//! folder, where the other commands find it.
//!
//! In: a device. Out: a table in a file. What is measured, and how: `crate::tune`.

use super::{CommandError, Outcome, kept_table, say};
use crate::device::{Device, DeviceKind};
use crate::embed::cli::choose;
use crate::save::Destination;
use crate::tune::{Progress as Step, Report, Scope, Tuner};
use indicatif::{ProgressBar, ProgressStyle};
use pumice_types::Escaped;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Arguments of `pumice tune`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// What to tune: `auto`, a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// How long it may take at most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub minutes: u64,
    /// Only families that begin with one of these, separated by commas: `matmul.tile,attention`
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Write the table to this file instead of the cache folder; commands take it with --table, libraries with
    /// `DeviceOptions::table`
    #[arg(short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print what was found for each row, as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Measures and writes. All is well if the table is written.
///
/// # Errors
/// A device that cannot be opened or fails, the interpreter, no folder to write to, a file that cannot be written.
pub fn run(args: &Args, cache: Option<PathBuf>, out: &mut dyn Write, log: &mut dyn Write) -> Outcome {
    let progress = super::progress::Progress::new();
    let choice = choose(&args.device, cache.clone(), &progress)?;
    let device = choice.device;
    let file = place(args, &device, cache.as_deref())?;
    writeln!(log, "device: {} ({})", device.name(), choice.why)?;
    let (class, measured) = (device.target().name.clone(), format!("{}, {}", device.name(), today()));
    let destination = Destination::look(&file)?;
    // Every candidate has kernels of its own: that they are compiled is no news here.
    progress.end();
    let report = measure(args, device, (&class, &measured), log)?;
    let write =
        |e: pumice_types::TableError| CommandError::Usage(format!("the table cannot be written: {e}"));
    let text = report.table.to_json().map_err(write)?;
    destination.save(|out| out.write_all(text.as_bytes()))?;
    tell(args, &file, &report, out)?;
    Ok(true)
}

/// Where the table goes.
fn place(args: &Args, device: &Device, cache: Option<&Path>) -> Result<PathBuf, CommandError> {
    if device.kind() == DeviceKind::Interpreter {
        return Err(CommandError::Usage(
            "the interpreter has nothing to tune; `pumice devices` lists devices".into(),
        ));
    }
    if let Some(file) = &args.out {
        return Ok(file.clone());
    }
    match (cache, device.table_file()) {
        (Some(folder), Some(name)) => {
            std::fs::create_dir_all(folder)?;
            Ok(folder.join(name))
        }
        _ => Err(CommandError::Usage("there is no cache folder; give a file with -o".into())),
    }
}

/// The table by its class and what it says of its measurement; where there is no terminal, with a line for each kernel
/// of a row.
fn measure(
    args: &Args,
    device: Device,
    (class, measured): (&str, &str),
    log: &mut dyn Write,
) -> Result<Report, CommandError> {
    let bar = ProgressBar::new(0).with_style(style());
    let mut printed = Ok(());
    let mut last = String::new();
    let mut observe = |step: &Step| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(step.row.clone());
        if bar.is_hidden() && printed.is_ok() && last != step.row {
            last.clone_from(&step.row);
            printed = writeln!(log, "{} of {}: {}", step.done, step.total, step.row);
        }
    };
    let scope = if device.kind() == DeviceKind::Gpu { Scope::Brief } else { Scope::Quick };
    let time = Some(Duration::from_secs(60 * args.minutes));
    let report =
        Tuner { device, scope, only: args.only.clone(), time, observe: &mut observe }.run(class, measured);
    bar.finish_and_clear();
    printed?;
    Ok(report?)
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{bar:32} {pos}/{len} {msg} {elapsed}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn tell(args: &Args, file: &Path, report: &Report, out: &mut dyn Write) -> Result<(), CommandError> {
    let Report { table, findings, put_back, left } = report;
    if args.json {
        return say(
            out,
            json!({ "table": table.id(), "file": file, "findings": findings, "put_back": put_back, "left": left }),
        );
    }
    for f in findings.iter().filter(|f| f.before != f.after) {
        let shapes = f.shapes.len();
        say(
            out,
            format_args!(
                "{} {:?}: {} -> {} ({:.0} %, {shapes} shapes)",
                f.family,
                f.when,
                f.before,
                f.after,
                100.0 * f.share
            ),
        )?;
    }
    for family in put_back {
        say(out, format_args!("{family}: stays as it was, because a shape became slower"))?;
    }
    if *left > 0 {
        say(
            out,
            format_args!("{left} rows stay as they were, because the time was over; --minutes gives more"),
        )?;
    }
    say(out, format_args!("{}: table {}", file.display(), table.id()))
}

/// Today's date in UTC, as 2026-11-24.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

/// The table that is kept for a device, said for people.
pub(super) fn kept(folder: Option<&Path>, name: &str, target: &pumice_types::Target) -> Option<String> {
    let file = folder?.join(name);
    Some(match kept_table::read(&file, target)? {
        Ok(table) => format!("table {}, tuned here ({})", table.id(), Escaped(&table.measured)),
        Err(error) => format!("table {} is not used: {error}", file.display()),
    })
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_dates() {
        for (days, text) in [
            (0, "1970-01-01"),
            (31 + 27, "1970-02-28"),
            (31 + 28, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_781, "2026-11-24"),
            (20_818, "2026-12-31"),
            (20_819, "2027-01-01"),
        ] {
            assert_eq!(date(days), text);
        }
    }
}
