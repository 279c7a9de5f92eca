//! What happens where a run begins and ends: the replay begins in the status block, outputs reach their slots, states
//! are fed, scalars advance.

use crate::cx::{LowerCx, LowerResult, Refusal, Touched};
use crate::meaning::StepMeaning;
use crate::step::StepBuilder;
use crate::unplaced::{
    PlacedView, StorageClass, UnplacedProgram, UnplacedStep, UnplacedUse, UnplacedVersion,
};
use crate::views::restride;
use crate::{elementwise, frame, stop};
use pumice_ir::{Feed, FeedKind, Graph, Op, ValueId, ValueType};
use pumice_plan::kernel::{ArgValue, UseIndex};
use pumice_plan::kernels::copy::StatusBegin;
use pumice_plan::kernels::frame::{FrameAdvance, FrameCount};
use pumice_plan::{Access, Cost, Grid, Meaning, RunCheck, StepKind, Storage};
use pumice_types::{DimExpr, ScalarId, Var, When};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every output in its io slot, in natural width.
pub fn outputs(cx: &mut LowerCx<'_>) -> LowerResult {
    for (i, output) in cx.graph.outputs().iter().enumerate() {
        cx.begin_reading(output.value);
        let at = cx.at(output.value)?;
        let class = StorageClass::Output(i as u32);
        if may_move(cx, &at) {
            let buffer = cx.unplaced.versions[at.version.0 as usize].buffer.0 as usize;
            cx.unplaced.buffers[buffer].class = class;
            cx.unplaced.outputs.push(at.version);
            continue;
        }
        let ty = cx.graph.ty(output.value).clone();
        let to = cx.alloc(&*output.name, class, Storage::Natural, &ty)?;
        elementwise::copy(cx, &at, &to, "an output lies in io as it is read")?;
        cx.unplaced.outputs.push(to.version);
    }
    Ok(())
}

/// Whether a value can be made in its io slot at once: its bytes are the boundary's, one step writes them and no step
/// reads them back from there.
fn may_move(cx: &LowerCx<'_>, at: &PlacedView) -> bool {
    let unplaced = &cx.unplaced;
    let version = &unplaced.versions[at.version.0 as usize];
    // A view of part of a value leaves the rest without a place.
    let whole = pumice_ir::shape::product(&version.ty.shape) == pumice_ir::shape::product(&at.view.shape);
    let plain = at.view.dtype.same_in_arena() && at.view.is_dense() && whole && at.part.is_none();
    let scratch = unplaced.buffer_of(at.version).class == StorageClass::Scratch;
    let writes = if unplaced.joins.contains(&at.version) { 2 } else { 1 };
    plain && scratch && cx.touched(at.version) == Touched { reads: 0, writes }
}

/// Feeds, after all ops: every source is taken before any state is written.
pub fn feeds(cx: &mut LowerCx<'_>) -> LowerResult {
    let feeds = cx.graph.feeds().to_vec();
    let sources = feeds.iter().map(|feed| source(cx, feed)).collect::<LowerResult<Vec<_>>>()?;
    let states: BTreeMap<ValueId, usize> = cx.graph.states().iter().copied().zip(0..).collect();
    for (feed, from) in feeds.iter().zip(sources) {
        let index = *states.get(&feed.state).ok_or("a feed names no state")?;
        cx.begin_reading(cx.graph.outputs()[feed.output].value);
        let whole = cx.next_version(feed.state, cx.unplaced.states[index]);
        let [from, to] = rows(cx, feed, [&from, &whole])?;
        if feed.kind != FeedKind::Whole && !owns_its_words(cx, &to) {
            let (dtype, name, place) = (to.view.dtype, &cx.graph.value(feed.state).name, feed.place);
            return Err(Refusal(format!(
                "a feed of rows into the {dtype} state {name}{place}; use kv_append"
            )));
        }
        elementwise::copy(cx, &from, &to, "a feed writes the state")?;
        cx.unplaced.states[index] = whole.version;
    }
    Ok(())
}

/// What a feed reads, out of the way of what feeds write.
fn source(cx: &mut LowerCx<'_>, feed: &Feed) -> LowerResult<PlacedView> {
    let value = cx.graph.outputs()[feed.output].value;
    cx.begin_reading(value);
    let at = cx.at(value)?;
    let from_state = matches!(cx.unplaced.buffer_of(at.version).class, StorageClass::State(_));
    if from_state { snapshot(cx, &at) } else { Ok(at) }
}

/// Whether part of a state has no word in common with the rest. Narrow elements are stored in whole words: only the
/// whole state owns what lies after them.
fn owns_its_words(cx: &LowerCx<'_>, at: &PlacedView) -> bool {
    let len = pumice_ir::shape::product(&at.view.shape).divisor(cx.graph.symbols());
    let bytes = Storage::Natural.unit(at.view.dtype).bytes_of(len);
    let words = at.view.is_dense() && bytes.is_some_and(|b| b.is_multiple_of(4));
    at.view.is_words() || words
}

fn snapshot(cx: &mut LowerCx<'_>, at: &PlacedView) -> LowerResult<PlacedView> {
    let ty = ValueType::new(at.view.dtype, at.view.shape.clone());
    let to = cx.alloc("snapshot", StorageClass::Scratch, Storage::Arena, &ty)?;
    elementwise::copy(cx, at, &to, "feeds may write the state that it lies in")?;
    Ok(to)
}

/// Rows of a source, and where they go in a state.
struct Rows<'a> {
    axis: usize,
    /// The first row that is read.
    src: DimExpr,
    /// The first row that is written.
    dst: DimExpr,
    count: &'a DimExpr,
}

impl Rows<'_> {
    /// The rows that a feed copies; none where it takes all.
    fn of(kind: &FeedKind) -> Option<Rows<'_>> {
        let zero = || DimExpr::constant(0);
        match kind {
            FeedKind::Whole => None,
            FeedKind::Prefix { axis, len } => {
                Some(Rows { axis: *axis, src: zero(), dst: zero(), count: len })
            }
            FeedKind::Row { axis, src, dst, count } => {
                Some(Rows { axis: *axis, src: src.clone(), dst: dst.clone(), count })
            }
        }
    }

    /// How many rows there are at most: a dynamic scalar bounds nothing by itself, so the extent says what is checked.
    fn bounded(&self, [read, written]: [&DimExpr; 2]) -> DimExpr {
        let dynamic = self.count.find_var(|v| matches!(v, Var::Scalar(_))).is_some();
        if !dynamic {
            return self.count.clone();
        }
        self.count.min_with(read).min_with(written).max_with(&DimExpr::constant(0))
    }

    /// So many rows of a value from the first on.
    fn part(&self, at: &PlacedView, first: &DimExpr, rows: &DimExpr) -> PlacedView {
        let mut shape = at.view.shape.clone();
        shape[self.axis] = rows.clone();
        let offset = &at.view.offset + &at.view.strides[self.axis] * first;
        restride(at, shape, at.view.strides.clone(), offset)
    }
}

/// The parts of source and state that a feed joins.
fn rows(cx: &mut LowerCx<'_>, feed: &Feed, [from, to]: [&PlacedView; 2]) -> LowerResult<[PlacedView; 2]> {
    agree_elsewhere(cx, feed, [&from.view.shape, &to.view.shape]);
    let Some(rows) = Rows::of(&feed.kind) else { return Ok([from, to].map(PlacedView::clone)) };
    let [read, written] = [from, to].map(|at| &at.view.shape[rows.axis]);
    let bounded = rows.bounded([read, written]);
    let of = format!("by the feed of state {}{}", cx.graph.value(feed.state).name, feed.place);
    within(cx, [&rows.src, rows.count, read], format!("rows read {of}"));
    within(cx, [&rows.dst, rows.count, written], format!("rows written {of}"));
    Ok([rows.part(from, &rows.src, &bounded), rows.part(to, &rows.dst, &bounded)])
}

/// Source and state must have the same extents, but along the axis of the rows.
fn agree_elsewhere(cx: &mut LowerCx<'_>, feed: &Feed, [from, to]: [&[DimExpr]; 2]) {
    let name = &cx.graph.value(feed.state).name;
    for (axis, (a, b)) in from.iter().zip(to).enumerate() {
        if a != b && feed.kind.axis() != Some(axis) {
            let what = format!("axis {axis} of the feed of state {name} and of the state{}", feed.place);
            let (value, sides) = (b - a, Some(Box::new([a.clone(), b.clone()])));
            cx.checks.push(RunCheck { value, min: 0, max: 0, what: what.into(), sides });
        }
    }
}

/// So many rows from the first on must lie below the limit.
fn within(cx: &mut LowerCx<'_>, [first, count, limit]: [&DimExpr; 3], what: String) {
    let what: Arc<str> = what.into();
    for value in [first.clone(), count.clone(), limit - first - count] {
        cx.checks.push(RunCheck { value, min: 0, max: i64::MAX, what: Arc::clone(&what), sides: None });
    }
}

/// A step before everything that may raise a flag: what earlier replays of the submission reported is kept.
pub fn begin_replay(unplaced: &mut UnplacedProgram, status: PlacedView, ops: u32) {
    if ops == 0 {
        return;
    }
    let call = StatusBegin {
        variant: StatusBegin::plain,
        ops: ArgValue::U32(ops),
        block: UseIndex(0).into(),
        slots: Vec::new(),
        holes: Vec::new(),
    };
    let call = call.into_call().fixed().expect("its operand is dense and its argument is known");
    let groups = ops.div_ceil(256);
    let begin = UnplacedStep {
        kind: StepKind::Dispatch { call, grid: Grid::Static([groups, 1, 1]) },
        uses: vec![UnplacedUse {
            version: status.version,
            part: None,
            access: Access::ShaderWrite,
            view: status.view,
        }],
        origin: "status".into(),
        reason: String::new(),
        waits: SmallVec::new(),
        meaning: Meaning::none(),
        cost: Cost::default(),
        when: When::ALWAYS,
        counted: None,
    };
    unplaced.steps.insert(0, begin);
}

/// The last step: scalars that advance, and every frame word that depends on them; whether replays go on.
pub fn advance(cx: &mut LowerCx<'_>) -> LowerResult {
    let stop = stop::prepare(cx)?;
    let advances = advances(cx.graph);
    if advances.is_empty() && stop.is_none() {
        return Ok(());
    }
    frame::finish(&mut cx.frame, &advances, stop.as_ref().map(|s| s.grids));
    let mut step = StepBuilder::new();
    let words = step.touch(&cx.frame_words(), Access::ShaderWrite);
    let (slots, holes) = (Vec::new(), Vec::new());
    let at = ArgValue::U32(cx.frame.frame().words.len() as u32);
    let count = ArgValue::U32(cx.frame.frame().advance.len() as u32);
    let call = match stop {
        None => FrameAdvance { variant: FrameAdvance::plain, at, count, words, slots, holes }.into_call(),
        Some(stop) => {
            let counts = step.touch(&stop.count, Access::ShaderRead);
            FrameCount { variant: FrameCount::plain, at, count, words, counts, slots, holes }.into_call()
        }
    };
    let call = call.fixed().map_err(|e| Refusal(e.to_string()))?;
    step.finish(cx, StepKind::Advance { call }, StepMeaning::default())
}

/// The scalars that advance, each with by how much.
fn advances(graph: &Graph) -> Vec<(ScalarId, DimExpr)> {
    let advance = |(v, i): (ValueId, u32)| match &graph.def(v).op {
        Op::Scalar(s) => s.advance.clone().map(|by| (ScalarId(i), by)),
        _ => None,
    };
    graph.scalars().iter().copied().zip(0..).filter_map(advance).collect()
}

/// The versions of states after the nodes, before feeds.
pub fn final_states(cx: &LowerCx<'_>) -> LowerResult<Vec<UnplacedVersion>> {
    cx.graph.final_states().into_iter().map(|v| cx.stored(v).map(|at| at.version)).collect()
}
