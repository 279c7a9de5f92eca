//! Entries: graphs that one plan runs. Params, states, scalars, symbols, constants, the load program, frame, status and
//! scratch are the plan's; inputs, outputs and runs are an entry's own.

use crate::frame::FrameSlot;
use crate::plan::{IoSlot, Plan, Run};
use pumice_types::{DimExpr, ScalarId, SymbolId, Var};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ops::Range;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name in the API.
    pub name: String,
    /// Which of the plan's inputs are its own. Those of all entries follow each other.
    pub inputs: Range<u32>,
    /// Which of the plan's outputs are.
    pub outputs: Range<u32>,
    /// The symbols that its runs need values of, ascending.
    pub symbols: Vec<SymbolId>,
    /// The scalars that advance with every replay of it, ascending; the others stand still.
    pub advancing: Vec<ScalarId>,
}

impl Entry {
    /// The name of the only entry of a program that is one graph.
    pub const MAIN: &'static str = "main";

    /// The only entry of a plan that is filled by hand: everything is its own.
    pub fn of_all(plan: &Plan) -> Entry {
        let scalars = (0..).map(ScalarId).zip(&plan.scalars);
        Entry {
            name: Entry::MAIN.to_owned(),
            inputs: 0..plan.inputs.len() as u32,
            outputs: 0..plan.outputs.len() as u32,
            symbols: plan.symbols.iter().map(|(id, _)| id).collect(),
            advancing: scalars.filter(|(_, s)| s.advance.is_some()).map(|(id, _)| id).collect(),
        }
    }

    /// Whether its runs need a value of that symbol.
    pub fn has_symbol(&self, id: SymbolId) -> bool {
        self.symbols.binary_search(&id).is_ok()
    }

    /// Whether that scalar advances with every replay of it.
    pub fn advances(&self, id: ScalarId) -> bool {
        self.advancing.binary_search(&id).is_ok()
    }
}

/// Part of a list; nothing where the range is none of it.
fn part<'p, T>(list: &'p [T], range: &Range<u32>) -> &'p [T] {
    list.get(range.start as usize..range.end as usize).unwrap_or_default()
}

impl Plan {
    /// The entry that a run belongs to; a checked plan has it.
    pub fn entry_of(&self, run: &Run) -> Option<&Entry> {
        self.entries.get(run.entry as usize)
    }

    /// An entry's inputs.
    pub fn inputs_of(&self, entry: &Entry) -> &[IoSlot] {
        part(&self.inputs, &entry.inputs)
    }

    /// An entry's outputs.
    pub fn outputs_of(&self, entry: &Entry) -> &[IoSlot] {
        part(&self.outputs, &entry.outputs)
    }

    /// The outputs that a run leaves, in the order of its versions.
    pub fn outputs_of_run(&self, run: &Run) -> &[IoSlot] {
        self.entry_of(run).map_or(&[], |entry| self.outputs_of(entry))
    }

    /// The scalars that something of a run follows from: words of its frame, or where its steps read and write.
    pub fn scalars_of(run: &Run) -> BTreeSet<ScalarId> {
        let mut found = BTreeSet::new();
        let mut visit = |e: &DimExpr| {
            e.visit_vars(|v| {
                if let Var::Scalar(id) = v {
                    found.insert(id);
                }
            });
        };
        for slot in &run.frame.words {
            match slot {
                FrameSlot::Scalar(id) => visit(&DimExpr::scalar(*id)),
                FrameSlot::Expr(e) => visit(e),
                FrameSlot::Bound(_) | FrameSlot::Temporary | FrameSlot::Stopped | FrameSlot::Replays => {}
            }
        }
        run.program
            .steps
            .iter()
            .flat_map(|step| &step.uses)
            .flat_map(|u| u.view.expressions())
            .for_each(visit);
        found
    }

    /// What is added to a scalar at the end of every replay of a run, where it advances.
    pub fn advance_of(&self, run: &Run, scalar: ScalarId) -> Option<&DimExpr> {
        let advances = self.entry_of(run).is_some_and(|entry| entry.advances(scalar));
        self.scalars.get(scalar.0 as usize)?.advance.as_ref().filter(|_| advances)
    }

    /// The runs of an entry, by number.
    pub fn runs_of(&self, entry: usize) -> impl Iterator<Item = (usize, &Run)> + Clone {
        self.runs.iter().enumerate().filter(move |(_, run)| run.entry as usize == entry)
    }

    /// The entry of that name.
    pub fn find_entry(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }
}
