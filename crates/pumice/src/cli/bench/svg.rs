//! Tokens a second against depth, drawn: decoding on the left, prompts on the right, a line for each length.

use super::args::Kind;
use super::report::{Subject, Tested, digits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Extents of the picture and of a panel's field, in pixels.
const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 420.0;
const FIELD: (f64, f64) = (290.0, 260.0);
/// Upper left corners of the fields.
const PANELS: [(Kind, [&str; 2], (f64, f64)); 2] = [
    (Kind::Decode, ["making tokens", "tg"], (70.0, 100.0)),
    (Kind::Prompt, ["reading prompts", "pp"], (500.0, 100.0)),
];
/// Colours that are told apart by who sees no red or no green (Okabe and Ito, 2008).
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"];
const GREY: &str = "#8a8a8a";
/// From a line's last point to its name.
const MARGIN: f64 = 8.0;
/// From one line of text to the next.
const LINE: f64 = 15.0;

/// The picture.
pub(super) fn picture(subject: &Subject, tested: &[Tested]) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let device = subject.device.split(" (driver ").next().unwrap_or_default();
    text(&mut out, (24.0, 30.0), "start", "#222", 16, &subject.model);
    let (kv, precision) = (subject.kv, subject.precision);
    let about =
        format!("{device}, {kv} caches, {precision} products; medians, bars from the least to the most");
    text(&mut out, (24.0, 50.0), "start", "#555", 12, &about);
    for (kind, titles, corner) in PANELS {
        let lines = lines(tested, kind);
        if !lines.is_empty() {
            panel(&mut out, (titles, corner), &lines);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Depth, median, least, most.
type Point = (u64, f64, f64, f64);

/// Points by the name of their line, in the order of depth.
fn lines(tested: &[Tested], kind: Kind) -> BTreeMap<u64, Vec<Point>> {
    let mut lines: BTreeMap<u64, Vec<Point>> = BTreeMap::new();
    for t in tested.iter().filter(|t| t.test.kind == kind) {
        let point = (t.test.depth, t.samples.median(), t.samples.least(), t.samples.most());
        lines.entry(t.test.tokens).or_default().push(point);
    }
    lines.values_mut().for_each(|line| line.sort_by_key(|p| p.0));
    lines
}

/// One field with its axes and lines.
fn panel(
    out: &mut String,
    ([title, prefix], corner): ([&str; 2], (f64, f64)),
    lines: &BTreeMap<u64, Vec<Point>>,
) {
    let (left, top) = corner;
    let bottom = top + FIELD.1;
    let points = || lines.values().flatten();
    let (step, highest) = scale(points().map(|p| p.3).fold(0.0, f64::max));
    let deepest = points().map(|p| p.0).max().unwrap_or(0).max(1) as f64;
    let place = |depth: u64, rate: f64| {
        // Points stand off the axis.
        let x = left + 14.0 + depth as f64 / deepest * (FIELD.0 - 28.0);
        (x, bottom - rate / highest * FIELD.1)
    };
    text(out, (left, top - 16.0), "start", "#222", 13, &format!("{title}, tokens a second"));
    let rates = (0..=(highest / step).round() as u32).map(|i| f64::from(i) * step);
    rates.for_each(|rate| across(out, left, (place(0, rate).1, rate)));
    let depths: BTreeSet<u64> = points().map(|p| p.0).collect();
    depths.iter().for_each(|&depth| below(out, bottom, (place(depth, 0.0).0, depth)));
    let middle = left + FIELD.0 / 2.0;
    text(out, (middle, bottom + 38.0), "middle", "#555", 12, "tokens in the caches before (depth)");
    let names = lines.iter().enumerate().filter_map(|(i, (tokens, points))| {
        let colour = COLOURS.get(i).copied().unwrap_or(GREY);
        drawn(out, colour, points, &place);
        let &(depth, median, ..) = points.last()?;
        Some((place(depth, median), colour, format!("{prefix}{tokens}: {}", digits(median))))
    });
    let names = names.collect();
    named(out, names);
}

/// A line across the field at a rate, with its number.
fn across(out: &mut String, left: f64, (y, rate): (f64, f64)) {
    let colour = if rate == 0.0 { "#444" } else { "#e4e4e4" };
    line(out, (left, y), (left + FIELD.0, y), colour, 1.0);
    text(out, (left - 6.0, y + 4.0), "end", "#555", 11, &plain(rate));
}

/// A mark below the field at a depth, with its number.
fn below(out: &mut String, bottom: f64, (x, depth): (f64, u64)) {
    line(out, (x, bottom), (x, bottom + 4.0), "#444", 1.0);
    text(out, (x, bottom + 18.0), "middle", "#555", 11, &depth.to_string());
}

/// Names at the ends of lines, none over another.
fn named(out: &mut String, mut names: Vec<((f64, f64), &str, String)>) {
    names.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    let mut free = 0.0f64;
    for ((x, y), colour, name) in names {
        let y = y.max(free);
        text(out, (x + MARGIN, y + 4.0), "start", colour, 12, &name);
        free = y + LINE;
    }
}

/// A line with its points, and how far repetitions were apart.
fn drawn(out: &mut String, colour: &str, points: &[Point], place: &dyn Fn(u64, f64) -> (f64, f64)) {
    for pair in points.windows(2) {
        line(out, place(pair[0].0, pair[0].1), place(pair[1].0, pair[1].1), colour, 2.0);
    }
    for &(depth, median, least, most) in points {
        line(out, place(depth, least), place(depth, most), colour, 1.0);
        for end in [least, most] {
            let (x, y) = place(depth, end);
            line(out, (x - 3.0, y), (x + 3.0, y), colour, 1.0);
        }
        let (x, y) = place(depth, median);
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>");
    }
}

/// The step of an axis, and its upper end, for values up to this.
fn scale(most: f64) -> (f64, f64) {
    let step = nice(most / 4.0);
    (step, step * (most / step).ceil().max(1.0))
}

/// The smallest of 1, 2, 5 times a power of ten that is at least this.
fn nice(step: f64) -> f64 {
    if !(step.is_finite() && step > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let all = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    all.into_iter().find(|&n| n >= step * 0.999).unwrap_or(10.0 * power)
}

/// A number of an axis.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, at: (f64, f64), anchor: &str, colour: &str, size: u32, text: &str) {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" font-size=\"{size}\">{escaped}</text>",
        at.0, at.1
    );
}

#[cfg(test)]
mod tests {
    use super::{nice, plain};

    #[test]
    fn steps_of_axes_are_round() {
        assert_eq!([0.7, 1.0, 3.0, 4.9, 5.1, 140.0].map(nice), [1.0, 1.0, 5.0, 5.0, 10.0, 200.0]);
        assert_eq!((nice(0.0), nice(f64::NAN)), (1.0, 1.0));
        assert_eq!([0.0, 0.25, 20.0].map(plain), ["0", "0.25", "20"]);
    }
}
