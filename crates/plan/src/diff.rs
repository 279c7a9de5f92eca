//! What changed between two plans. In: two plans. Out: one difference per thing that is not the same; none only where
//! the plans are equal. Never here: a judgement.

use crate::entry::Entry;
use crate::hist::run_label;
use crate::plan::{IoSlot, Plan, Program, Run, Segment};
use crate::print::{branches, turns_of};
use crate::region::RegionKind;
use crate::step::Step;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Difference {
    /// Only the second plan has it.
    Added {
        /// What.
        what: String,
    },
    /// Only the first plan has it.
    Removed {
        /// What.
        what: String,
    },
    /// Both have it, and it is not the same.
    Changed {
        /// What.
        what: String,
        /// In the first plan.
        from: String,
        /// In the second.
        to: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Added { what } => write!(f, "+ {what}"),
            Difference::Removed { what } => write!(f, "- {what}"),
            Difference::Changed { what, from, to } => write!(f, "~ {what}: {from} -> {to}"),
        }
    }
}

/// An entry's inputs, or its outputs.
type Slots = for<'p> fn(&'p Plan, &Entry) -> &'p [IoSlot];

/// Slots with their places, named by their entries where there are several.
fn io_slots(plan: &Plan, of: Slots) -> Vec<(String, String)> {
    let several = plan.entries.len() > 1;
    let name = |entry: &Entry, slot: &IoSlot| match several {
        true => format!("{} of entry {}", slot.name, entry.name),
        false => slot.name.clone(),
    };
    let slots = plan.entries.iter().flat_map(|e| of(plan, e).iter().map(move |slot| (e, slot)));
    slots.map(|(entry, slot)| (name(entry, slot), slot.span.to_string())).collect()
}

/// All differences, in the order of the plan's parts.
pub fn diff(a: &Plan, b: &Plan) -> Vec<Difference> {
    let mut list = List { plans: [a, b], found: Vec::new() };
    list.origin(a, b);
    list.interface(a, b);
    list.program("load", &a.load, &b.load);
    list.streams(a, b);
    list.runs(a, b);
    if list.found.is_empty() && a != b {
        list.other("constants, scalars, frames, checks or values".to_owned());
    }
    list.found
}

struct List<'p> {
    plans: [&'p Plan; 2],
    found: Vec<Difference>,
}

impl List<'_> {
    fn compare<T: PartialEq + fmt::Display>(&mut self, what: &str, a: &T, b: &T) {
        if a != b {
            let (what, from, to) = (what.to_owned(), a.to_string(), b.to_string());
            self.found.push(Difference::Changed { what, from, to });
        }
    }

    fn named<T>(&mut self, what: &str, a: &[T], b: &[T], show: impl Fn(&T) -> (String, String)) {
        let (left, right): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (a.iter().map(&show).collect(), b.iter().map(&show).collect());
        for (name, from) in &left {
            match right.get(name) {
                Some(to) => self.compare(&format!("{what} {name}"), from, to),
                None => self.found.push(Difference::Removed { what: format!("{what} {name}") }),
            }
        }
        for name in right.keys().filter(|n| !left.contains_key(*n)) {
            self.found.push(Difference::Added { what: format!("{what} {name}") });
        }
    }

    /// Notes that two things differ which are not shown.
    fn other(&mut self, what: String) {
        self.found.push(Difference::Changed { what, from: "one".to_owned(), to: "another".to_owned() });
    }

    /// What the plans were made of and for.
    fn origin(&mut self, a: &Plan, b: &Plan) {
        self.compare("name", &a.name, &b.name);
        self.compare("target", &a.target.name, &b.target.name);
        self.compare("table", &a.table.to_string(), &b.table.to_string());
        self.compare("precision", &format!("{:?}", a.precision), &format!("{:?}", b.precision));
        self.compare("placement", &format!("{:?}", a.placement), &format!("{:?}", b.placement));
    }

    /// Sizes of regions, and where what has a name lies in them.
    fn interface(&mut self, a: &Plan, b: &Plan) {
        for kind in RegionKind::ALL {
            self.compare(&format!("region {kind}"), &a.region_size(kind).0, &b.region_size(kind).0);
        }
        self.named("param", &a.params, &b.params, |p| (p.name.clone(), p.span.to_string()));
        self.named("state", &a.states, &b.states, |s| (s.name.clone(), s.span.to_string()));
        self.named("entry", &a.entries, &b.entries, |e| {
            (e.name.clone(), format!("symbols {:?}, advancing {:?}", e.symbols, e.advancing))
        });
        for (what, of) in [("input", Plan::inputs_of as Slots), ("output", Plan::outputs_of)] {
            let [from, to] = [a, b].map(|plan| io_slots(plan, of));
            self.named(what, &from, &to, |slot| slot.clone());
        }
    }

    /// Streams are matched by the names of their params.
    fn streams(&mut self, a: &Plan, b: &Plan) {
        let by_param = |plan: &Plan| -> BTreeMap<String, Program> {
            let name = |param: u32| plan.params.get(param as usize).map_or("?", |p| &p.name).to_owned();
            plan.streams.iter().map(|s| (name(s.param), s.program.clone())).collect()
        };
        let (left, right, none) = (by_param(a), by_param(b), Program::default());
        let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for name in names {
            let (x, y) = (left.get(name).unwrap_or(&none), right.get(name).unwrap_or(&none));
            self.program(&format!("stream of {name}"), x, y);
        }
    }

    /// Runs are matched by the ranges of their symbols.
    fn runs(&mut self, a: &Plan, b: &Plan) {
        let by_range = |p: &Plan| -> BTreeMap<String, usize> {
            p.runs.iter().enumerate().map(|(i, r)| (run_label(p, r), i)).collect()
        };
        let (left, right) = (by_range(a), by_range(b));
        for (range, &i) in &left {
            match right.get(range) {
                Some(&j) => self.run(range, &a.runs[i], &b.runs[j]),
                None => self.found.push(Difference::Removed { what: format!("run {range}") }),
            }
        }
        for range in right.keys().filter(|r| !left.contains_key(*r)) {
            self.found.push(Difference::Added { what: format!("run {range}") });
        }
    }

    fn run(&mut self, range: &str, a: &Run, b: &Run) {
        let (x, y) = (&a.stats, &b.stats);
        for (what, from, to) in [
            ("steps", x.steps, y.steps),
            ("levels", x.levels, y.levels),
            ("barriers", x.barriers, y.barriers),
            ("segments", a.program.segments.len() as u32, b.program.segments.len() as u32),
        ] {
            self.compare(&format!("{range}: {what}"), &from, &to);
        }
        let loops = |plan: &Plan, run: &Run| {
            let all: Vec<String> = run.program.segments.iter().filter_map(|s| turns(plan, s)).collect();
            if all.is_empty() { "none".to_owned() } else { all.join("; ") }
        };
        self.compare(&format!("{range}: loops"), &loops(self.plans[0], a), &loops(self.plans[1], b));
        self.compare(&format!("{range}: scratch"), &x.scratch.0, &y.scratch.0);
        self.compare(&format!("{range}: frame words"), &a.frame.words.len(), &b.frame.words.len());
        self.program(range, &a.program, &b.program);
    }

    /// Steps are matched by origin and label, the n-th with the n-th.
    fn program(&mut self, place: &str, a: &Program, b: &Program) {
        let (left, right) = (by_name(a), by_name(b));
        for (name, steps) in &left {
            let others = right.get(name).map_or(&[][..], Vec::as_slice);
            for ((x, level_x), (y, level_y)) in steps.iter().zip(others) {
                self.step(&format!("{place}: {name}"), (x, *level_x), (y, *level_y));
            }
            let gone = steps.iter().skip(others.len());
            self.found.extend(gone.map(|_| Difference::Removed { what: format!("{place}: {name}") }));
        }
        for (name, steps) in &right {
            let new = steps.iter().skip(left.get(name).map_or(0, Vec::len));
            self.found.extend(new.map(|_| Difference::Added { what: format!("{place}: {name}") }));
        }
    }

    fn step(&mut self, what: &str, (a, level_a): (&Step, u32), (b, level_b): (&Step, u32)) {
        let before = self.found.len();
        self.compare(&format!("{what}, level"), &level_a, &level_b);
        let spans = |s: &Step| s.uses.iter().map(|u| u.span.to_string()).collect::<Vec<_>>().join(" ");
        self.compare(&format!("{what}, spans"), &spans(a), &spans(b));
        let [x, y] = [(self.plans[0], a), (self.plans[1], b)].map(|(plan, step)| branches(plan, &step.when));
        self.compare(&format!("{what}, when"), &x, &y);
        if self.found.len() == before && (&a.kind, &a.meaning, &a.cost) != (&b.kind, &b.meaning, &b.cost) {
            let part = match (a.kind != b.kind, a.meaning != b.meaning) {
                (true, _) => "arguments or grid",
                (_, true) => "meaning",
                _ => "cost",
            };
            self.other(format!("{what}, {part}"));
        }
    }
}

/// The levels of a loop, and how often they are replayed; none of another segment.
fn turns(plan: &Plan, segment: &Segment) -> Option<String> {
    let Segment::Repeat { levels, turns, running, count } = segment else { return None };
    let often = turns_of(plan, *turns, *running, count.as_ref());
    Some(format!("levels {}..{} {often}", levels.start, levels.end))
}

/// Steps with their levels, by origin and label.
fn by_name(program: &Program) -> BTreeMap<String, Vec<(&Step, u32)>> {
    let mut named: BTreeMap<String, Vec<(&Step, u32)>> = BTreeMap::new();
    for (i, level) in (0u32..).zip(&program.levels) {
        for (_, step) in program.steps_of(level) {
            named.entry(format!("{} {}", step.origin, step.label())).or_default().push((step, i));
        }
    }
    named
}
