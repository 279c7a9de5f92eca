//! Words of the frame that follow from extents which the program finds.
//!
//! In: words that lowerings ask for, and the counts that become extents. Out: for each set of found symbols that words
//! follow from, a row of the frame and a step that fills it; the frame in its final order. While nodes are lowered a
//! word of row `r` is numbered apart from the words that the host writes; [`flatten`] gives all of them their places.

use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::error::CompileError;
use crate::frame;
use crate::meaning::StepMeaning;
use crate::step::StepBuilder;
use crate::unplaced::{PlacedView, StorageClass, UnplacedStep, UnplacedUse, UnplacedVersion};
use pumice_ir::ValueType;
use pumice_plan::frame::{FindProgram, FoundRow};
use pumice_plan::kernel::{ArgValue, KernelCall};
use pumice_plan::kernels::frame::FrameFind;
use pumice_plan::{
    Access, AdvanceKind, AdvanceOp, Frame, FrameBuilder, FrameSlot, FrameWord, Grid, StepKind,
};
use pumice_types::limits::MOST_COUNTS;
use pumice_types::{DType, DimExpr, SymbolId};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Words of a row, and of those that the host writes, while rows have no place: the number of a word has the number of
/// its row above these bits, 0 for none.
const ROW_BITS: u32 = 20;

/// Rows at most: so many numbers there are above those bits.
const MOST_ROWS: usize = (1 << (u32::BITS - ROW_BITS)) - 1;

/// Rows, and the counts that become extents.
#[derive(Default)]
pub struct Found {
    rows: Vec<Row>,
    /// Whether more rows or words were asked for than can be numbered; [`fill`] refuses that.
    too_many: bool,
    /// Where the count of each symbol is: one word.
    counts: BTreeMap<SymbolId, PlacedView>,
    programs: Vec<FindProgram>,
    /// Which step fills each row.
    steps: Vec<usize>,
}

struct Row {
    symbols: Vec<SymbolId>,
    words: FrameBuilder,
    version: UnplacedVersion,
}

impl Found {
    /// Of a word that was interned its number among those of its row, with their version; none where the host writes
    /// it. What the host writes may have any number while there is no row.
    pub fn in_row(&self, word: FrameWord) -> Option<(u32, UnplacedVersion)> {
        let (row, number) = split(word)?;
        self.rows.get(row).map(|row| (number, row.version))
    }
}

/// The number that a word of a row has while rows have no place; none where that would be another word's.
fn joined(row: usize, word: FrameWord) -> Option<FrameWord> {
    let fits = row < MOST_ROWS && word.0 >> ROW_BITS == 0;
    fits.then(|| FrameWord(((row as u32 + 1) << ROW_BITS) | word.0))
}

/// The row of a word while rows have no place, and its number there; none where the host writes it.
fn split(word: FrameWord) -> Option<(usize, u32)> {
    let row = (word.0 >> ROW_BITS).checked_sub(1)?;
    Some((row as usize, word.0 & ((1 << ROW_BITS) - 1)))
}

impl LowerCx<'_> {
    /// The row of the found symbols that these expressions name; none where they name none.
    fn row_for(&mut self, expressions: &[DimExpr]) -> Option<usize> {
        let symbols = self.graph.symbols();
        symbols.found().next()?;
        let mut named: Vec<SymbolId> = Vec::new();
        let found = |id: &SymbolId| symbols.is_found(*id);
        expressions.iter().for_each(|e| e.visit_vars(|v| named.extend(v.symbol().filter(found))));
        named.sort_unstable();
        named.dedup();
        if named.is_empty() {
            return None;
        }
        match self.found.rows.iter().position(|row| row.symbols == named) {
            None if self.found.rows.len() == MOST_ROWS => {
                self.found.too_many = true;
                Some(0)
            }
            None => Some(self.add_row(named)),
            known => known,
        }
    }

    /// A word that `intern` makes of these expressions: of the row of the found symbols that they name, else one that
    /// the host writes.
    pub fn intern(
        &mut self,
        expressions: &[DimExpr],
        intern: impl FnOnce(&mut FrameBuilder) -> FrameWord,
    ) -> FrameWord {
        match self.row_for(expressions) {
            Some(row) => {
                let word = intern(&mut self.found.rows[row].words);
                joined(row, word).unwrap_or_else(|| {
                    self.found.too_many = true;
                    FrameWord((row as u32 + 1) << ROW_BITS)
                })
            }
            None => intern(&mut self.frame),
        }
    }

    /// The words from this one on, of the row that it is of or of those that the host writes.
    pub fn slots_from(&self, first: FrameWord) -> &[FrameSlot] {
        let (words, at) = match self.found.in_row(first) {
            Some((number, _)) => (split(first).map(|(row, _)| &self.found.rows[row].words), number),
            None => (None, first.0),
        };
        words.unwrap_or(&self.frame).frame().words.get(at as usize..).unwrap_or_default()
    }

    /// A new row of these symbols.
    fn add_row(&mut self, symbols: Vec<SymbolId>) -> usize {
        let row = self.found.rows.len();
        let table = self.graph.symbols();
        let names: Vec<&str> = symbols.iter().filter_map(|&id| Some(&*table.get(id)?.name)).collect();
        let (name, class) = (format!("found {}", names.join(", ")), StorageClass::Found(row as u32));
        let version = self.unplaced.add(name, class, &ValueType::fixed(DType::U32, &[]), 0);
        self.found.rows.push(Row { symbols, words: FrameBuilder::new(), version });
        row
    }

    /// From now on the symbol is the value of this one word.
    pub fn finds(&mut self, symbol: SymbolId, count: PlacedView) {
        self.found.counts.insert(symbol, count);
    }
}

impl LowerCx<'_> {
    /// Whether a found symbol is the value of this version.
    pub fn is_count(&self, version: UnplacedVersion) -> bool {
        self.found.counts.values().any(|at| at.version == version)
    }

    /// The counts that a row of found words follows from; none of any other version.
    pub fn counts_of(&self, version: UnplacedVersion) -> SmallVec<[UnplacedVersion; 4]> {
        let row = self.found.rows.iter().find(|row| row.version == version);
        let symbols = row.into_iter().flat_map(|row| &row.symbols);
        symbols.filter_map(|id| self.found.counts.get(id)).map(|at| at.version).collect()
    }
}

/// A step for each row that fills it, after all words are known.
///
/// # Errors
/// A row of more symbols than a step takes; more rows or words than are numbered; a count that is nowhere; what does
/// not go together with found extents yet.
pub fn fill(cx: &mut LowerCx<'_>) -> Result<(), CompileError> {
    if cx.graph.symbols().found().next().is_none() {
        return Ok(());
    }
    refuse_others(cx)?;
    if cx.found.too_many || cx.frame.end().0 >> ROW_BITS != 0 {
        let why = format!(
            "{MOST_ROWS} sets of found extents and {} words that vary of each are told apart, it has more",
            1 << ROW_BITS
        );
        return Err(cx.unsupported_run(cx.graph.name(), why.into()));
    }
    for row in 0..cx.found.rows.len() {
        let filled = program(cx, row).and_then(|program| {
            cx.found.programs.push(program);
            step(cx, row)
        });
        filled.map_err(|refusal| cx.unsupported_run(&reader(cx, row), refusal))?;
    }
    Ok(())
}

/// Whose step reads a row first.
fn reader(cx: &LowerCx<'_>, row: usize) -> Arc<str> {
    let version = cx.found.rows[row].version;
    let reads = |step: &&UnplacedStep| step.uses.iter().any(|u| u.version == version);
    cx.unplaced.steps.iter().find(reads).map_or_else(|| cx.origin(), |step| step.origin.clone())
}

/// What does not go together with found extents yet.
fn refuse_others(cx: &LowerCx<'_>) -> Result<(), CompileError> {
    let symbols = cx.graph.symbols();
    let mut of_run = cx.checks.iter().filter(|c| symbols.names_found(&c.value)).map(|c| &c.what);
    let mut of_graph = cx.graph.constraints().iter().filter(|c| c.names_found(symbols)).map(|c| &c.what);
    match of_run.next().or_else(|| of_graph.next()) {
        Some(what) => {
            let why = "it would depend on an extent that only the run finds";
            Err(cx.unsupported_run(what, why.into()))
        }
        None => Ok(()),
    }
}

/// Host steps read the found symbols that their operands, results and branches name, where the device left them.
pub fn tell_host(cx: &mut LowerCx<'_>) {
    for at in 0..cx.unplaced.steps.len() {
        let step = &cx.unplaced.steps[at];
        if !matches!(step.kind, StepKind::Host) {
            continue;
        }
        let of_views = step.uses.iter().flat_map(|u| u.view.expressions());
        let of_branches = step.when.branches().iter().map(|branch| &branch.taken);
        let mut named: Vec<SymbolId> = Vec::new();
        of_views.chain(of_branches).for_each(|e| e.visit_vars(|v| named.extend(v.symbol())));
        named.retain(|id| cx.graph.symbols().is_found(*id));
        named.sort_unstable();
        named.dedup();
        for symbol in named {
            let symbol = DimExpr::symbol(symbol);
            let word = cx.intern(std::slice::from_ref(&symbol), |words| frame::word(words, &symbol));
            let (version, view) = (cx.version_of_word(word), cx.frame_words().view);
            let read = UnplacedUse { version, part: None, access: Access::HostRead, view };
            cx.unplaced.steps[at].uses.push(read);
        }
    }
}

/// The instructions that make the words of a row. Temporaries are words of it, which has a multiple of four.
fn program(cx: &mut LowerCx<'_>, row: usize) -> LowerResult<FindProgram> {
    let Row { symbols, words, .. } = &mut cx.found.rows[row];
    if symbols.len() > MOST_COUNTS {
        let why = format!(
            "it follows from {} found extents, branches and loops at once, at most {MOST_COUNTS}",
            symbols.len()
        );
        return Err(why.into());
    }
    let largest = |id: SymbolId| cx.graph.symbols().get(id).map_or(0, |s| s.max) as u32;
    let counts: BTreeMap<SymbolId, (u32, u32)> =
        (0..).zip(&*symbols).map(|(k, &id)| (id, (k, largest(id)))).collect();
    let slots = words.frame().words.clone();
    let mut emit = frame::Find::new(words, &mut cx.frame, &counts);
    (0u32..).zip(&slots).for_each(|(at, slot)| emit.slot(slot, FrameWord(at)));
    let ops = emit.ops();
    while !words.end().0.is_multiple_of(4) {
        words.own(FrameSlot::Temporary);
    }
    Ok(FindProgram::new(ops))
}

/// The step of a row. Where its program lies is not known yet.
fn step(cx: &mut LowerCx<'_>, row: usize) -> LowerResult {
    let mut step = StepBuilder::new();
    let words = step.touch(&cx.frame_words(), Access::ShaderRead);
    let to = PlacedView { version: cx.found.rows[row].version, ..cx.frame_words() };
    let to = step.touch(&to, Access::ShaderWrite);
    let mut counts = Vec::new();
    for id in &cx.found.rows[row].symbols {
        let count = cx.found.counts.get(id).ok_or("an extent is used that no node finds")?;
        counts.push(step.touch(count, Access::ShaderRead));
    }
    // Those that are not there are bound as the last one.
    let [count_0, count_1, count_2, count_3] = [0, 1, 2, 3].map(|k| counts[k.min(counts.len() - 1)].clone());
    let call = FrameFind {
        variant: FrameFind::plain,
        at: ArgValue::U32(0),
        count: ArgValue::U32(0),
        len: ArgValue::U32(0),
        words,
        row: to,
        count_0,
        count_1,
        count_2,
        count_3,
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let call = call.into_call().fixed().map_err(|e| Refusal(e.to_string()))?;
    cx.found.steps.push(cx.unplaced.steps.len());
    step.finish(cx, StepKind::Dispatch { call, grid: Grid::Static([1; 3]) }, StepMeaning::default())
}

/// The frame with its rows at the front, and every word's place in the steps; none where there is no row.
pub fn flatten(cx: &mut LowerCx<'_>) -> Option<Frame> {
    if cx.found.rows.is_empty() {
        return None;
    }
    let Found { rows, programs, steps, .. } = std::mem::take(&mut cx.found);
    let mut frame = Frame::default();
    for (Row { symbols, words, .. }, program) in rows.into_iter().zip(programs) {
        let (first, words) = (frame.words.len() as u32, words.build().words);
        frame.found.push(FoundRow { symbols, first, len: words.len() as u32, program });
        frame.words.extend(words);
    }
    let (first, base) = (frame.base(), cx.frame.frame());
    frame.words.extend(base.words.iter().cloned());
    frame.advance = base.advance.iter().map(|op| moved(*op, first)).collect();
    place(cx, &frame);
    place_programs(cx, &frame, &steps);
    Some(frame)
}

/// Tells the steps that fill rows where their programs lie.
fn place_programs(cx: &mut LowerCx<'_>, frame: &Frame, steps: &[usize]) {
    for (row, &at) in steps.iter().enumerate() {
        if let StepKind::Dispatch { call, .. } = &mut cx.unplaced.steps[at].kind {
            call.args = frame.find_args(row).map(ArgValue::U32).into_iter().collect();
        }
    }
}

/// An instruction of the advance over words that begin later.
fn moved(op: AdvanceOp, by: u32) -> AdvanceOp {
    let AdvanceOp { op: kind, dst, a, b } = op;
    let (a, b) = match kind {
        AdvanceKind::Const | AdvanceKind::Count => (a, b),
        AdvanceKind::Copy | AdvanceKind::ClearIf => (a + by, b),
        _ => (a + by, b + by),
    };
    AdvanceOp { op: kind, dst: FrameWord(dst.0 + by), a, b }
}

/// Gives the words of all steps their places. What the host writes is a part of the frame that lies after the rows.
fn place(cx: &mut LowerCx<'_>, frame: &Frame) {
    let (of_host, base) = (cx.frame_words().version, 4 * u64::from(frame.base()));
    let rest = 4 * frame.len_words() - base;
    for step in &mut cx.unplaced.steps {
        match &mut step.kind {
            StepKind::Advance { call } => {
                call.args[0] = ArgValue::U32(frame.words.len() as u32);
                continue;
            }
            StepKind::Dispatch { call, grid } => place_words(call, grid, frame),
            StepKind::Host | StepKind::Copy | StepKind::Fill(_) => {}
        }
        let of_host = step.uses.iter_mut().filter(|u| u.version == of_host);
        of_host.for_each(|u| u.part = Some((base, rest)));
    }
}

/// Gives the words of a call and its grid their places.
fn place_words(call: &mut KernelCall, grid: &mut Grid, frame: &Frame) {
    let at = |word: FrameWord| match split(word) {
        Some((row, number)) => FrameWord(frame.found[row].first + number),
        None => FrameWord(word.0 + frame.base()),
    };
    for arg in &mut call.args {
        if let ArgValue::Frame(word) = arg {
            *word = at(FrameWord(*word)).0;
        }
    }
    if let Grid::Frame { word, .. } = grid {
        *word = at(*word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of row 4,095 was that of a word that the host writes.
    #[test]
    fn a_word_is_of_its_row_or_has_no_number() {
        let last = (1 << ROW_BITS) - 1;
        for (row, word) in [(0, 0), (0, last), (7, 300), (MOST_ROWS - 1, 0), (MOST_ROWS - 1, last)] {
            assert_eq!(joined(row, FrameWord(word)).and_then(split), Some((row, word)));
        }
        for (row, word) in [(0, last + 1), (MOST_ROWS, 0), (MOST_ROWS + 1, 0), (usize::MAX, 0), (0, u32::MAX)]
        {
            assert_eq!(joined(row, FrameWord(word)), None, "{row}, {word}");
        }
        assert_eq!(split(FrameWord(last)), None);
    }
}
