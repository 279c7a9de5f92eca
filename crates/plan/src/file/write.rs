//! A plan to the body of its file. Rows are numbered in the order in which the plan names them first, so equal plans
//! are equal bytes.

use super::error::PlanFileError;
use super::wire::*;
use crate::cost::Cost;
use crate::entry::Entry;
use crate::frame::FrameSlot;
use crate::kernel::{Fingerprint, HoleFill, KernelCall, Kernels};
use crate::plan::{IoSlot, Plan, PlanValue, Program, Run, RunCheck, StateInit};
use crate::region::Span;
use crate::step::{MeaningGraph, Step, StepKind, Use};
use crate::stream::Stream;
use crate::view::View;
use indexmap::{IndexMap, IndexSet};
use pumice_types::dim::Atom;
use pumice_types::scalar::ScalarExpr;
use pumice_types::{DimExpr, Var};
use std::hash::Hash;

/// Rows of a table, each once.
struct Table<T>(IndexSet<T>);

impl<T: Eq + Hash> Table<T> {
    fn id(&mut self, row: T) -> Id {
        self.0.insert_full(row).0 as Id
    }

    fn rows(self) -> Vec<T> {
        self.0.into_iter().collect()
    }
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(IndexSet::new())
    }
}

/// What a kernel's row is made of while calls are still being met.
struct Used {
    declaration: Fingerprint,
    variants: IndexMap<Id, Fingerprint>,
}

/// The tables while they grow.
struct Writer<'a> {
    known: &'a Kernels,
    texts: Table<&'a str>,
    kernels: IndexMap<Id, Used>,
    exprs: Table<ExprRow>,
    views: Table<ViewRow>,
    spans: Table<Span>,
    bodies: Table<BodyRow>,
    fills: Table<FillRow>,
    calls: Table<CallRow>,
    meanings: Table<MeaningRow>,
}

/// The body of a plan's file. Every call must fit a kernel that `known` has, with its code.
pub fn body<'a>(plan: &'a Plan, known: &'a Kernels) -> Result<Body<'a>, PlanFileError> {
    let mut w = Writer {
        known,
        texts: Table::default(),
        kernels: IndexMap::new(),
        exprs: Table::default(),
        views: Table::default(),
        spans: Table::default(),
        bodies: Table::default(),
        fills: Table::default(),
        calls: Table::default(),
        meanings: Table::default(),
    };
    let row = w.plan(plan)?;
    Ok(Body { form: plan.form, tables: w.tables(), plan: row })
}

impl<'a> Writer<'a> {
    fn tables(self) -> Tables<'a> {
        let kernels = self.kernels.into_iter().map(|(name, used)| KernelRow {
            name,
            declaration: used.declaration,
            variants: used.variants.into_iter().collect(),
        });
        Tables {
            kernels: kernels.collect(),
            texts: self.texts.rows(),
            exprs: self.exprs.rows(),
            views: self.views.rows(),
            spans: self.spans.rows(),
            bodies: self.bodies.rows(),
            fills: self.fills.rows(),
            calls: self.calls.rows(),
            meanings: self.meanings.rows(),
        }
    }

    fn plan(&mut self, plan: &'a Plan) -> Result<PlanRow<'a>, PlanFileError> {
        Ok(PlanRow {
            name: self.texts.id(&plan.name),
            graph: plan.graph,
            target: plan.target.without_table(),
            table: plan.table.clone(),
            precision: plan.precision,
            placement: plan.placement,
            symbols: plan.symbols.clone(),
            scalars: self.scalars(plan),
            params: self.params(plan),
            joined: plan.joined.clone(),
            constants: self.constants(plan),
            states: self.states(plan),
            entries: plan.entries.iter().map(|e| self.entry(e)).collect(),
            inputs: plan.inputs.iter().map(|s| self.io(s)).collect(),
            outputs: plan.outputs.iter().map(|s| self.io(s)).collect(),
            status_ops: plan.status_ops.iter().map(|name| self.texts.id(name)).collect(),
            regions: plan.regions.clone(),
            load: self.program(&plan.load)?,
            streams: plan.streams.iter().map(|s| self.stream(s)).collect::<Result<_, _>>()?,
            runs: plan.runs.iter().map(|r| self.run(r)).collect::<Result<_, _>>()?,
        })
    }

    fn scalars(&mut self, plan: &'a Plan) -> Vec<ScalarRow> {
        let row = |s: &'a crate::plan::ScalarSlot| ScalarRow {
            name: self.texts.id(&s.name),
            dtype: s.dtype,
            min: s.min,
            max: s.max,
            default: s.default,
            advance: s.advance.as_ref().map(|e| self.expr(e)),
        };
        plan.scalars.iter().map(row).collect()
    }

    fn params(&mut self, plan: &'a Plan) -> Vec<ParamRow> {
        let row = |p: &'a crate::plan::ParamSlot| ParamRow {
            name: self.texts.id(&p.name),
            encoding: p.encoding,
            shape: p.shape.clone(),
            span: self.spans.id(p.span),
        };
        plan.params.iter().map(row).collect()
    }

    fn stream(&mut self, s: &'a Stream) -> Result<StreamRow, PlanFileError> {
        Ok(StreamRow { param: s.param, program: self.program(&s.program)?, room: s.room.clone() })
    }

    fn constants(&mut self, plan: &'a Plan) -> Vec<ConstantRow<'a>> {
        let row = |c: &'a crate::plan::ConstantSlot| ConstantRow {
            encoding: c.data.encoding(),
            shape: c.data.shape().to_vec(),
            data: c.data.bytes(),
            span: self.spans.id(c.span),
        };
        plan.constants.iter().map(row).collect()
    }

    fn states(&mut self, plan: &'a Plan) -> Vec<StateRow<'a>> {
        let row = |s: &'a crate::plan::StateSlot| StateRow {
            name: self.texts.id(&s.name),
            dtype: s.dtype,
            shape: s.shape.clone(),
            capacity_axis: s.capacity_axis,
            init: match &s.init {
                StateInit::Zeros => InitRow::Zeros,
                StateInit::Param(param) => InitRow::Param(*param),
                StateInit::Data(bytes) => InitRow::Data(bytes),
                StateInit::Given => InitRow::Given,
            },
            span: self.spans.id(s.span),
        };
        plan.states.iter().map(row).collect()
    }

    fn entry(&mut self, entry: &'a Entry) -> EntryRow {
        EntryRow {
            name: self.texts.id(&entry.name),
            inputs: entry.inputs.clone(),
            outputs: entry.outputs.clone(),
            symbols: entry.symbols.clone(),
            advancing: entry.advancing.clone(),
        }
    }

    fn io(&mut self, s: &'a IoSlot) -> IoRow {
        IoRow {
            name: self.texts.id(&s.name),
            dtype: s.dtype,
            shape: self.list(&s.shape),
            span: self.spans.id(s.span),
        }
    }

    fn run(&mut self, run: &'a Run) -> Result<RunRow, PlanFileError> {
        let words = run.frame.words.iter().map(|slot| match slot {
            FrameSlot::Bound(symbol) => WordRow::Bound(symbol.0),
            FrameSlot::Scalar(scalar) => WordRow::Scalar(scalar.0),
            FrameSlot::Expr(e) => WordRow::Expr(self.expr(e)),
            FrameSlot::Temporary => WordRow::Temporary,
            FrameSlot::Stopped => WordRow::Stopped,
            FrameSlot::Replays => WordRow::Replays,
        });
        Ok(RunRow {
            entry: run.entry,
            ranges: run.ranges.clone(),
            words: words.collect(),
            advance: run.frame.advance.clone(),
            found: run.frame.found.clone(),
            program: self.program(&run.program)?,
            checks: run.checks.iter().map(|c| self.check(c)).collect(),
            outputs: run.outputs.clone(),
            states: run.states.clone(),
            stats: run.stats.clone(),
        })
    }

    fn check(&mut self, check: &'a RunCheck) -> CheckRow {
        CheckRow {
            value: self.expr(&check.value),
            min: check.min,
            max: check.max,
            what: self.texts.id(&check.what),
            sides: check.sides.as_ref().map(|sides| [self.expr(&sides[0]), self.expr(&sides[1])]),
        }
    }

    fn program(&mut self, program: &'a Program) -> Result<ProgramRow, PlanFileError> {
        Ok(ProgramRow {
            steps: program.steps.iter().map(|s| self.step(s)).collect::<Result<_, _>>()?,
            levels: program.levels.clone(),
            segments: program.segments.clone(),
            values: program.values.iter().map(|v| self.value(v)).collect(),
        })
    }

    fn step(&mut self, step: &'a Step) -> Result<StepRow, PlanFileError> {
        let kind = match &step.kind {
            StepKind::Dispatch { call, grid } => KindRow::Dispatch(self.call(call)?, grid.clone()),
            StepKind::Advance { call } => KindRow::Advance(self.call(call)?),
            StepKind::Host => KindRow::Host,
            StepKind::Copy => KindRow::Copy,
            StepKind::Fill(word) => KindRow::Fill(*word),
        };
        Ok(StepRow {
            kind,
            uses: step.uses.iter().map(|u| self.one_use(u)).collect(),
            origin: self.texts.id(&step.origin),
            reason: self.texts.id(&step.reason),
            meaning: self.meaning(&step.meaning.graph),
            inputs: step.meaning.inputs.iter().map(|i| (self.texts.id(&i.name), i.at)).collect(),
            outputs: step.meaning.outputs.to_vec(),
            status: step.meaning.status,
            cost: self.cost(&step.cost),
            when: step.when.branches().iter().map(|b| (self.expr(&b.taken), b.otherwise)).collect(),
        })
    }

    fn meaning(&mut self, graph: &'a MeaningGraph) -> Id {
        let text = self.texts.id(&graph.text);
        let inputs = graph.inputs.iter().map(|name| self.texts.id(name)).collect();
        self.meanings.id(MeaningRow { text, symbols: graph.symbols.to_vec(), inputs })
    }

    fn one_use(&mut self, u: &'a Use) -> UseRow {
        UseRow { span: self.spans.id(u.span), access: u.access, content: u.content, view: self.view(&u.view) }
    }

    fn value(&mut self, v: &'a PlanValue) -> ValueRow {
        ValueRow {
            name: self.texts.id(&v.name),
            origin: v.origin,
            encoding: v.encoding,
            shape: self.list(&v.shape),
            span: self.spans.id(v.span),
            live: v.live,
        }
    }

    fn view(&mut self, view: &View) -> Id {
        let row = ViewRow {
            dtype: view.dtype,
            storage: view.storage,
            shape: self.list(&view.shape),
            strides: self.list(&view.strides),
            offset: self.expr(&view.offset),
        };
        self.views.id(row)
    }

    fn list(&mut self, exprs: &[DimExpr]) -> Vec<Id> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    /// Operands of an atom get their rows before the expression does.
    fn cost(&mut self, cost: &Cost) -> CostRow {
        CostRow { bytes: self.expr(&cost.bytes), flops: self.expr(&cost.flops), precision: cost.precision }
    }

    fn expr(&mut self, e: &DimExpr) -> Id {
        let terms = e.terms().map(|(coefficient, factors)| {
            let factors = factors.iter().map(|atom| self.atom(atom)).collect();
            (coefficient, factors)
        });
        let row = ExprRow { terms: terms.collect(), constant: e.constant_part() };
        self.exprs.id(row)
    }

    fn atom(&mut self, atom: &Atom) -> AtomRow {
        let mut both = |p: &(DimExpr, DimExpr)| (self.expr(&p.0), self.expr(&p.1));
        match atom {
            Atom::Var(Var::Symbol(id)) => AtomRow::Symbol(id.0),
            Atom::Var(Var::Scalar(id)) => AtomRow::Scalar(id.0),
            Atom::FloorDiv(p) => {
                let (a, b) = both(p);
                AtomRow::FloorDiv(a, b)
            }
            Atom::CeilDiv(p) => {
                let (a, b) = both(p);
                AtomRow::CeilDiv(a, b)
            }
            Atom::Min(p) => {
                let (a, b) = both(p);
                AtomRow::Min(a, b)
            }
            Atom::Max(p) => {
                let (a, b) = both(p);
                AtomRow::Max(a, b)
            }
        }
    }

    fn call(&mut self, call: &'a KernelCall) -> Result<Id, PlanFileError> {
        let (kernel, variant) = self.variant(call)?;
        let row = CallRow {
            kernel,
            variant,
            spec: call.spec.clone(),
            args: call.args.clone(),
            operands: call.operands.to_vec(),
            slots: call.slots.to_vec(),
            fills: call.holes.iter().map(|h| self.fill(h)).collect(),
            literals: call.literals.clone(),
        };
        Ok(self.calls.id(row))
    }

    /// Rows of a call's kernel and of its variant.
    fn variant(&mut self, call: &'a KernelCall) -> Result<(Id, Id), PlanFileError> {
        let (name, variant): (&'a str, &'a str) = (&call.kernel.0, &call.variant);
        let declaration = super::declaration(self.known, name)?;
        let code = super::code(self.known, name, variant)?;
        let (name, variant) = (self.texts.id(name), self.texts.id(variant));
        let entry = self.kernels.entry(name);
        let row = entry.index() as Id;
        let used = entry.or_insert_with(|| Used { declaration, variants: IndexMap::new() });
        let (at, _) = used.variants.insert_full(variant, code);
        Ok((row, at as Id))
    }

    fn fill(&mut self, fill: &'a HoleFill) -> Id {
        let row = FillRow {
            hole: self.texts.id(&fill.hole),
            body: self.body(&fill.expr),
            inputs: fill.inputs.to_vec(),
            result: fill.result,
            stores: fill.stores.to_vec(),
        };
        self.fills.id(row)
    }

    fn body(&mut self, expr: &ScalarExpr) -> Id {
        let insts = expr.insts().iter().map(|i| (i.op, i.ty, i.args.iter().map(|r| r.0).collect()));
        let row = BodyRow {
            inputs: expr.inputs().to_vec(),
            insts: insts.collect(),
            outputs: expr.outputs().iter().map(|r| r.0).collect(),
        };
        self.bodies.id(row)
    }
}
