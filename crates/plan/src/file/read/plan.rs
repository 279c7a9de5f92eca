//! Slots, programs and runs: what names rows of the tables. In: the body of a file. Out: a plan.

use super::{Reader, all, malformed};
use crate::cost::Cost;
use crate::entry::Entry;
use crate::file::error::PlanFileError;
use crate::file::wire::*;
use crate::frame::{Frame, FrameSlot};
use crate::kernel::Kernels;
use crate::plan::{
    ConstantSlot, IoSlot, ParamSlot, Plan, PlanValue, Program, Run, RunCheck, ScalarSlot, StateInit,
    StateSlot,
};
use crate::step::{InputUse, Meaning, Step, StepKind, Use};
use crate::stream::Stream;
use pumice_types::{Branch, ScalarId, SymbolId, Tensor, When};

/// The plan of a body that came from a file of so many bytes.
pub fn plan(body: Body<'_>, file: usize, known: &Kernels) -> Result<Plan, PlanFileError> {
    let Body { form, tables, plan } = body;
    let mut r = Reader::new(tables, file, known)?;
    Ok(Plan {
        form,
        name: r.text(plan.name)?,
        graph: plan.graph,
        target: plan.target,
        table: plan.table,
        precision: plan.precision,
        placement: plan.placement,
        symbols: plan.symbols,
        scalars: all(plan.scalars, |s| r.scalar(s))?,
        params: all(plan.params, |p| r.param(p))?,
        joined: plan.joined,
        constants: all(plan.constants, |c| r.constant(c))?,
        states: all(plan.states, |s| r.state(s))?,
        entries: all(plan.entries, |e| r.entry(e))?,
        inputs: all(plan.inputs, |s| r.io(s))?,
        outputs: all(plan.outputs, |s| r.io(s))?,
        status_ops: all(plan.status_ops, |name| r.text(name))?,
        regions: plan.regions,
        load: r.program(plan.load)?,
        streams: all(plan.streams, |s| r.stream(s))?,
        runs: all(plan.runs, |run| r.run(run))?,
    })
}

impl Reader<'_> {
    fn scalar(&mut self, row: ScalarRow) -> Result<ScalarSlot, PlanFileError> {
        Ok(ScalarSlot {
            name: self.text(row.name)?,
            dtype: row.dtype,
            min: row.min,
            max: row.max,
            default: row.default,
            advance: row.advance.map(|e| self.expr(e)).transpose()?,
        })
    }

    fn param(&mut self, row: ParamRow) -> Result<ParamSlot, PlanFileError> {
        Ok(ParamSlot {
            name: self.text(row.name)?,
            encoding: row.encoding,
            shape: row.shape,
            span: self.span(row.span)?,
        })
    }

    fn stream(&mut self, row: StreamRow) -> Result<Stream, PlanFileError> {
        Ok(Stream { param: row.param, program: self.program(row.program)?, room: row.room })
    }

    fn constant(&mut self, row: ConstantRow<'_>) -> Result<ConstantSlot, PlanFileError> {
        let data = Tensor::from_bytes(row.encoding, &row.shape, row.data.to_vec()).map_err(malformed)?;
        Ok(ConstantSlot { data, span: self.span(row.span)? })
    }

    fn state(&mut self, row: StateRow<'_>) -> Result<StateSlot, PlanFileError> {
        Ok(StateSlot {
            name: self.text(row.name)?,
            dtype: row.dtype,
            shape: row.shape,
            capacity_axis: row.capacity_axis,
            init: match row.init {
                InitRow::Zeros => StateInit::Zeros,
                InitRow::Param(param) => StateInit::Param(param),
                InitRow::Data(bytes) => StateInit::Data(bytes.to_vec()),
                InitRow::Given => StateInit::Given,
            },
            span: self.span(row.span)?,
        })
    }

    fn entry(&mut self, row: EntryRow) -> Result<Entry, PlanFileError> {
        let EntryRow { name, inputs, outputs, symbols, advancing } = row;
        Ok(Entry { name: self.text(name)?, inputs, outputs, symbols, advancing })
    }

    fn io(&mut self, row: IoRow) -> Result<IoSlot, PlanFileError> {
        Ok(IoSlot {
            name: self.text(row.name)?,
            dtype: row.dtype,
            shape: self.exprs(&row.shape)?.into(),
            span: self.span(row.span)?,
        })
    }

    fn program(&mut self, row: ProgramRow) -> Result<Program, PlanFileError> {
        Ok(Program {
            steps: all(row.steps, |s| self.step(s))?,
            levels: row.levels,
            segments: row.segments,
            values: all(row.values, |v| self.value(v))?,
        })
    }

    fn step(&mut self, row: StepRow) -> Result<Step, PlanFileError> {
        self.budget.take(size_of::<Step>())?;
        let kind = match row.kind {
            KindRow::Dispatch(call, grid) => StepKind::Dispatch { call: self.call(call)?, grid },
            KindRow::Advance(call) => StepKind::Advance { call: self.call(call)? },
            KindRow::Host => StepKind::Host,
            KindRow::Copy => StepKind::Copy,
            KindRow::Fill(word) => StepKind::Fill(word),
        };
        let graph = self.meanings.row(row.meaning)?.0.clone();
        let inputs = all(row.inputs, |(name, at)| Ok(InputUse { name: self.name(name)?, at }))?;
        let branches =
            all(row.when, |(taken, otherwise)| Ok(Branch { taken: self.expr(taken)?, otherwise }))?;
        Ok(Step {
            when: When::all(branches),
            kind,
            uses: all(row.uses, |u| self.one_use(u))?,
            origin: self.name(row.origin)?,
            reason: self.text(row.reason)?,
            meaning: Meaning { graph, inputs, outputs: row.outputs.into(), status: row.status },
            cost: self.cost(row.cost)?,
        })
    }

    fn cost(&mut self, row: CostRow) -> Result<Cost, PlanFileError> {
        Ok(Cost { bytes: self.expr(row.bytes)?, flops: self.expr(row.flops)?, precision: row.precision })
    }

    fn one_use(&mut self, row: UseRow) -> Result<Use, PlanFileError> {
        let (span, view) = (self.span(row.span)?, self.view(row.view)?);
        Ok(Use { span, access: row.access, content: row.content, view })
    }

    fn value(&mut self, row: ValueRow) -> Result<PlanValue, PlanFileError> {
        self.budget.take(size_of::<PlanValue>())?;
        Ok(PlanValue {
            name: self.name(row.name)?,
            origin: row.origin,
            encoding: row.encoding,
            shape: self.exprs(&row.shape)?.into(),
            span: self.span(row.span)?,
            live: row.live,
        })
    }

    fn run(&mut self, row: RunRow) -> Result<Run, PlanFileError> {
        let words = all(row.words, |word| {
            Ok(match word {
                WordRow::Bound(symbol) => FrameSlot::Bound(SymbolId(symbol)),
                WordRow::Scalar(scalar) => FrameSlot::Scalar(ScalarId(scalar)),
                WordRow::Expr(e) => FrameSlot::Expr(self.expr(e)?),
                WordRow::Temporary => FrameSlot::Temporary,
                WordRow::Stopped => FrameSlot::Stopped,
                WordRow::Replays => FrameSlot::Replays,
            })
        })?;
        Ok(Run {
            entry: row.entry,
            ranges: row.ranges,
            frame: Frame { words, advance: row.advance, found: row.found },
            program: self.program(row.program)?,
            checks: all(row.checks, |c| self.check(c))?,
            outputs: row.outputs,
            states: row.states,
            stats: row.stats,
        })
    }

    fn check(&mut self, row: CheckRow) -> Result<RunCheck, PlanFileError> {
        Ok(RunCheck {
            value: self.expr(row.value)?,
            min: row.min,
            max: row.max,
            what: self.str(row.what)?.into(),
            sides: match row.sides {
                None => None,
                Some([a, b]) => Some(Box::new([self.expr(a)?, self.expr(b)?])),
            },
        })
    }
}
