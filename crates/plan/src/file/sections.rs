//! Where in a file the rows lie that steer runs: expressions, scalars, words of frames, advance programs. For tests
//! that change bytes there.
//!
//! In: the bytes of a file. Out: ranges of bytes. A structure is its fields one after the other, so a section begins
//! after all that the encoding writes before it.

use super::error::PlanFileError;
use super::wire::{Body, PlanRow, RunRow, Tables};
use super::{HEADER, open};
use serde::Serialize;
use std::ops::Range;

/// Ranges of bytes of a file that steer its runs: the table of expressions, the scalars, and for each run the words of
/// its frame and its advance program.
///
/// # Errors
/// Bytes that are no plan file, of another format version, damaged.
pub fn steering(file: &[u8]) -> Result<Vec<Range<usize>>, PlanFileError> {
    let malformed = |e: postcard::Error| PlanFileError::Malformed(e.to_string());
    let body: Body<'_> = postcard::from_bytes(open(file)?).map_err(malformed)?;
    let mut sections = Sections { at: HEADER, found: Vec::new() };
    sections.body(&body).map_err(malformed)?;
    Ok(sections.found)
}

struct Sections {
    at: usize,
    found: Vec<Range<usize>>,
}

impl Sections {
    fn body(&mut self, body: &Body<'_>) -> Result<(), postcard::Error> {
        let Tables { texts, kernels, exprs, views, spans, bodies, fills, calls, meanings } = &body.tables;
        self.pass(&(&body.form, texts, kernels))?;
        self.mark(exprs)?;
        self.pass(&(views, spans, bodies, fills, calls, meanings))?;
        let PlanRow { name, graph, target, table, precision, placement, symbols, scalars, .. } = &body.plan;
        self.pass(&(name, graph, target, table, precision, placement, symbols))?;
        self.mark(scalars)?;
        let PlanRow { params, joined, constants, states, entries, inputs, outputs, status_ops, .. } =
            &body.plan;
        self.pass(&(params, joined, constants, states, entries, inputs, outputs, status_ops))?;
        let PlanRow { regions, load, streams, runs, .. } = &body.plan;
        self.pass(&(regions, load, streams, runs.len()))?;
        runs.iter().try_for_each(|run| self.run(run))
    }

    fn run(&mut self, run: &RunRow) -> Result<(), postcard::Error> {
        let RunRow { entry, ranges, words, advance, found, program, checks, outputs, states, stats } = run;
        self.pass(&(entry, ranges))?;
        self.mark(words)?;
        self.mark(advance)?;
        self.mark(found)?;
        self.pass(&(program, checks, outputs, states, stats))
    }

    fn pass(&mut self, rows: &impl Serialize) -> Result<(), postcard::Error> {
        self.at += postcard::to_allocvec(rows)?.len();
        Ok(())
    }

    fn mark(&mut self, rows: &impl Serialize) -> Result<(), postcard::Error> {
        let first = self.at;
        self.pass(rows)?;
        self.found.push(first..self.at);
        Ok(())
    }
}
