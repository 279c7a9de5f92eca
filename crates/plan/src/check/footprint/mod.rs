//! Footprints: which elements a kernel touches, by its arguments, and how many groups that takes.
//!
//! The rule of every kernel family stands in a file of its own here, written from the kernel's declaration and source
//! and from nothing of the planner: given the numbers of a call it says, for each operand and slot, the first element,
//! how many lie how far apart along each axis ([`Accesses`]), how many groups are needed, and which constants are
//! legal. The laws, the same for all:
//! - the elements a kernel accesses are exactly those of the use's view, in bytes: so a call whose offsets, strides or
//!   extents were changed contradicts its views, and what `bounds` proves of views holds for kernels;
//! - every index fits the 32 bits that kernels count in, with a margin ([`LARGEST_INDEX`]);
//! - the grid is the smallest of its width that holds the groups needed: no element is left out, none comes twice;
//! - what is accessed over the same axes is taken together as the views show it at one place (`joint`), and operands
//!   are taken in the order of their views' axes (`order`), where a plan says it;
//! - what the meaning reads and writes, the kernel touches;
//! - a word that the kernel does not read is 0 (`unread`).
//!
//! Numbers are tried at bindings: where the run's ranges end, and at some values between. Extents and strides are
//! polynomials of low degree almost everywhere; what agrees at all of these is taken to agree of a plan that was just
//! compiled. Of any other plan the laws are evaluated again at each binding that runs ([`super::bindings`]).
//!
//! Never here: the meaning of a call, values (eps, scale, literals in holes).

mod accesses;
mod alike;
mod attention;
mod attention_grad;
mod call;
mod choice;
mod codes;
mod convolution;
mod copy;
mod count;
mod elementwise;
mod experts;
mod gather;
mod joint;
mod kv;
mod matmul;
mod norm;
mod norm_grad;
mod order;
mod pool;
mod random;
mod recurrence;
mod reduce;
mod resample;
mod rotary;
mod scan;
mod scatter;
mod slots;
mod softmax;
mod sort;
mod transform;
mod tuple;
mod unread;
mod window;

pub(in crate::check) use accesses::ViewElements;
pub(super) use alike::Alike;

use self::accesses::Accesses;
use self::call::Call;
use super::Scope;
use super::bounds::Corners;
use super::error::{Fault, Findings};
use super::expressions::{view_names_scalar, word_names_scalar};
use super::numbers::{At, Intervals, Number};
use crate::frame::{Frame, FrameSlot};
use crate::kernel::{ArgValue, HoleInput, KernelCall, KernelDecl, OperandAccess, UseIndex};
use crate::kernels::frame::FrameFind;
use crate::plan::Run;
use crate::region::RegionKind;
use crate::step::{Access, Grid, Step, StepId, StepKind, Use};
use pumice_types::limits::LARGEST_INDEX;
use pumice_types::{Bindings, DType, DimExpr, EvalError, ScalarId};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::Cell;

/// What breaks a law of one family: a constant, an alignment, a count.
type Wrong = String;

/// The rule of a kernel.
type Rule = for<'i> fn(&Call<'i>) -> Result<Footprint<'i>, Wrong>;

/// Lists the families: each file has the rules of its kernels. The advance of the frame has none; `step` looks at it.
macro_rules! families {
    ($($family:ident)*) => { const FAMILIES: &[&[(&str, Rule)]] = &[$($family::RULES),*]; };
}

families! {
    attention attention_grad choice convolution copy count elementwise experts gather kv matmul norm norm_grad
    pool random recurrence reduce resample rotary scan scatter softmax sort transform
}

/// The rule of a kernel.
fn rule_of(kernel: &str) -> Option<Rule> {
    FAMILIES.iter().copied().flatten().find(|(name, _)| *name == kernel).map(|(_, rule)| *rule)
}

/// One of the things a kernel touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    /// An operand, by its number in the declaration.
    Operand(usize),
    /// A slot.
    Slot(usize),
}

/// What a call touches at some bindings.
struct Footprint<'i> {
    /// Elements of operands and slots; what is not listed is not touched.
    accesses: Vec<(Port, Accesses<'i>)>,
    /// Whether an argument tells the kernel the value of an input without axes: bytes that it need not touch.
    by_argument: bool,
    /// Workgroups that work; those after them do nothing.
    groups: Number<'i>,
    /// What the kernel multiplies the number of a group by, in 32 bits.
    stride: u64,
    /// Where the kernel works along an axis of an operand: elements before it, along it, after it. Its bytes do not say
    /// which axis that is.
    axis: Option<[Number<'i>; 3]>,
    /// The operand whose axis it is.
    axis_of: usize,
    /// What is accessed over the same axes, element by element: then what belongs together is compared as well.
    together: Together,
}

/// Accesses over the same axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    /// None that are compared.
    Nothing,
    /// All of them.
    Everything,
    /// The operand of this number, and the slots.
    Slots(usize),
}

impl Together {
    fn has(self, port: Port) -> bool {
        match self {
            Together::Nothing => false,
            Together::Everything => true,
            Together::Slots(operand) => matches!(port, Port::Slot(_)) || port == Port::Operand(operand),
        }
    }
}

impl<'i> Footprint<'i> {
    fn new(groups: impl Into<Number<'i>>, stride: u64) -> Footprint<'i> {
        let (accesses, groups) = (Vec::with_capacity(4), groups.into());
        Footprint {
            accesses,
            by_argument: false,
            groups,
            stride,
            axis: None,
            axis_of: 0,
            together: Together::Nothing,
        }
    }

    fn operand(mut self, operand: usize, accesses: Accesses<'i>) -> Footprint<'i> {
        self.accesses.push((Port::Operand(operand), accesses));
        self
    }

    /// The same, where the kernel works along an axis of the first operand.
    fn along<N: Into<Number<'i>>>(self, axis: [N; 3]) -> Footprint<'i> {
        self.along_of(0, axis)
    }

    /// The same, of another operand.
    fn along_of<N: Into<Number<'i>>>(self, axis_of: usize, axis: [N; 3]) -> Footprint<'i> {
        Footprint { axis: Some(axis.map(Into::into)), axis_of, ..self }
    }

    /// The axis that it works along, where it is one of what is bound there.
    fn axis_at(&self, port: Port) -> Option<[Number<'i>; 3]> {
        self.axis.filter(|_| port == Port::Operand(self.axis_of))
    }

    fn by_argument(self) -> Footprint<'i> {
        Footprint { by_argument: true, ..self }
    }
}

/// What the dispatches of a program are tried at.
pub(super) struct Samples<'c> {
    all: Vec<Sample<'c>>,
}

impl<'c> Samples<'c> {
    /// At the ends of the ranges, and between them.
    pub fn of(scope: &Scope<'_>, corners: &'c Corners) -> Samples<'c> {
        let none = Frame::default();
        let frame = scope.run.map_or(&none, |r| &r.frame);
        let bindings = corners.all().chain(&corners.inside);
        Samples { all: bindings.filter_map(|b| Sample::new(scope, frame, b)).collect() }
    }

    /// Checks a step whose call fits this declaration. What was found sound is not tried again: the layers of a model
    /// are alike.
    pub fn check<'p>(
        &self,
        scope: &Scope<'p>,
        (decl, sound): (&'static KernelDecl, &mut Alike<'p>),
        (id, step): (StepId, &'p Step),
        findings: &mut Findings,
    ) {
        let StepKind::Dispatch { call, .. } = &step.kind else { return };
        let mut faults = Vec::new();
        // What it touches, `found` says.
        if call.kernel.0 == FrameFind::DECL.name {
            return;
        }
        let Some(rule) = rule_of(&call.kernel.0) else {
            let what = format!("kernel {} is for the advance of the frame alone", call.kernel);
            return findings.at(id, &step.origin, Fault::Argument { what });
        };
        status_number(scope, step, call, decl, &mut faults);
        faults.extend(unread::check(call, decl).err().map(|what| Fault::Argument { what }));
        if faults.is_empty()
            && let Some(subject) = Subject::of(scope.run, step, decl, rule)
            && !sound.knows(&subject)
        {
            let count = if subject.varies() { self.all.len() } else { self.all.len().min(1) };
            match self.all[..count].iter().find_map(|sample| subject.try_at(sample).err()) {
                Some(fault) => faults.push(fault),
                None => sound.add(subject),
            }
        }
        faults.into_iter().for_each(|f| findings.at(id, &step.origin, f));
    }

    /// Whether some argument that varies with a scalar steers a dispatch; as far as is known.
    pub fn steered_by_scalars(&self, subject: &Subject<'_>) -> bool {
        let asks = |sample: &Sample<'_>| subject.try_at(sample) != Ok(Steered::BySymbols);
        subject.varying.contains(&true) && (self.all.is_empty() || self.all.iter().any(asks))
    }
}

/// Bindings with the words of the frame that they give.
pub(super) struct Sample<'b> {
    pub bindings: &'b Bindings,
    pub words: Cow<'b, [u32]>,
    /// All that may be found at once, with what the words are.
    pub found: Option<(&'b Intervals, &'b [FrameSlot])>,
}

impl<'b> Sample<'b> {
    /// Where it is.
    pub fn at(&self) -> At<'b> {
        At { bindings: self.bindings, found: self.found.map(|(found, _)| found) }
    }

    /// A word of the frame.
    fn word(&self, word: u32) -> Option<Number<'b>> {
        let held = Number::from(*self.words.get(word as usize)?);
        let Some((_, slots)) = self.found else { return Some(held) };
        match slots.get(word as usize)? {
            FrameSlot::Expr(e) => self.at().number(e).ok(),
            FrameSlot::Bound(id) => self.at().number(&DimExpr::symbol(*id)).ok(),
            _ => Some(held),
        }
    }

    /// `None` where a word has no value: such a run is refused before it begins.
    fn new(scope: &Scope<'_>, frame: &Frame, bindings: &'b Bindings) -> Option<Sample<'b>> {
        let bits = |id: ScalarId| match scope.plan.scalars.get(id.0 as usize) {
            Some(s) if s.dtype == DType::F32 => (s.default as f32).to_bits(),
            Some(_) => bindings.get(pumice_types::Var::Scalar(id)).map_or(0, |v| v as u32),
            None => 0,
        };
        let words = frame.evaluate_as_found(bindings, &bits).ok()?;
        Some(Sample { bindings, words: words.into(), found: None })
    }
}

/// A dispatch under test.
pub(super) struct Subject<'p> {
    step: &'p Step,
    call: &'p KernelCall,
    decl: &'static KernelDecl,
    grid: &'p Grid,
    rule: Rule,
    /// Which argument words vary with scalars.
    varying: SmallVec<[bool; 128]>,
}

/// What the laws of a dispatch depend on, where they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steered {
    /// On symbols alone: whatever varies with scalars is a value.
    BySymbols,
    /// On scalars, too.
    ByScalars,
}

impl<'p> Subject<'p> {
    /// Of a step of a run; none for what is no dispatch that has a rule.
    pub fn of_run(run: &'p Run, step: &'p Step) -> Option<Subject<'p>> {
        let StepKind::Dispatch { call, .. } = &step.kind else { return None };
        Subject::of(Some(run), step, call.check().ok()?, rule_of(&call.kernel.0)?)
    }

    fn of(
        run: Option<&'p Run>,
        step: &'p Step,
        decl: &'static KernelDecl,
        rule: Rule,
    ) -> Option<Subject<'p>> {
        let StepKind::Dispatch { call, grid } = &step.kind else { return None };
        let words = run.map_or(&[][..], |r| &r.frame.words);
        let varies = |arg: &ArgValue| match *arg {
            ArgValue::U32(_) => false,
            ArgValue::Frame(w) => words.get(w as usize).is_none_or(word_names_scalar),
        };
        let varying = call.args.iter().map(varies).collect();
        Some(Subject { step, call, decl, grid, rule, varying })
    }

    /// Whether anything depends on bindings.
    pub fn varies(&self) -> bool {
        let args = self.call.args.iter().any(|a| matches!(a, ArgValue::Frame(_)));
        args || matches!(self.grid, Grid::Frame { .. }) || self.step.uses.iter().any(|u| !u.view.is_static())
    }

    /// Whether views or grid vary with scalars; `words` are those of the frame.
    pub fn shown_by_scalars(&self, words: &[FrameSlot]) -> bool {
        let grid = match self.grid {
            Grid::Static(_) => false,
            Grid::Frame { word, .. } => words.iter().skip(word.0 as usize).take(3).any(word_names_scalar),
        };
        grid || self.step.uses.iter().any(|u| view_names_scalar(&u.view))
    }

    /// Evaluates the rule at a binding, and compares.
    pub fn try_at(&self, sample: &Sample<'_>) -> Result<Steered, Fault> {
        let word = |w: u32| sample.word(w);
        if !self.holds(sample)? {
            let [x, y, z] = self.launched(word);
            return match x * y * z == 0 {
                true => Ok(Steered::BySymbols),
                false => Err(Fault::Groups { needed: 0, launched: [x, y, z].map(shown) }),
            };
        }
        let words = self.call.args.iter().map(|a| match *a {
            ArgValue::U32(value) => Some(value.into()),
            ArgValue::Frame(w) => word(w),
        });
        let words: Option<Vec<Number<'_>>> = words.collect();
        let Some(words) = words else {
            return Err(Fault::Frame("an argument is a word that there is not".to_owned()));
        };
        let (decl, step, varying) = (self.decl, self.step, &self.varying[..]);
        let call = Call { decl, call: self.call, words: &words, step, varying, asked: Cell::new(false) };
        let footprint = (self.rule)(&call).map_err(|what| Fault::Argument { what })?;
        self.grid(&footprint, word)?;
        self.covers_meaning(&footprint)?;
        let views = footprint
            .accesses
            .iter()
            .map(|(port, accesses)| self.accesses(*port, accesses, footprint.axis_at(*port), sample.at()));
        let views = views.collect::<Result<Vec<_>, Fault>>()?;
        self.together(&footprint, &views)?;
        self.order(&footprint, &views)?;
        Ok(if call.asked.get() { Steered::ByScalars } else { Steered::BySymbols })
    }

    /// Whether the branches are taken in which it stands.
    fn holds(&self, sample: &Sample<'_>) -> Result<bool, Fault> {
        let wrong = |e: EvalError| Fault::Expression { what: "a choice".to_owned(), why: e.to_string() };
        sample.at().takes(&self.step.when).map_err(wrong)
    }

    /// The groups that are launched.
    fn launched<'i>(&self, word: impl Fn(u32) -> Option<Number<'i>>) -> [Number<'i>; 3] {
        match self.grid {
            Grid::Static(groups) => groups.map(Number::from),
            Grid::Frame { word: first, .. } => {
                let number = |i| first.0.checked_add(i).and_then(&word);
                [0, 1, 2].map(|i| number(i).map_or(u32::MAX.into(), |n| n.as_word(0)))
            }
        }
    }

    /// The grid holds the groups that work: no fewer, and no line of groups more.
    fn grid<'i>(
        &self,
        footprint: &Footprint<'i>,
        word: impl Fn(u32) -> Option<Number<'i>>,
    ) -> Result<(), Fault> {
        let [x, y, z] = self.launched(word);
        let (launched, needed) = (x * y * z, footprint.groups);
        let spare = if z > 1 {
            x * y
        } else if y > 1 {
            x
        } else {
            1.into()
        };
        let idle = launched - needed;
        if idle >= 0 && (idle < spare || idle == 0) && needed * footprint.stride <= u32::MAX - (1 << 26) {
            return Ok(());
        }
        Err(Fault::Groups { needed: needed.fixed_extent(), launched: [x, y, z].map(shown) })
    }

    /// The number of what is bound.
    fn at(&self, port: Port) -> UseIndex {
        match port {
            Port::Operand(k) => self.call.operands[k],
            Port::Slot(k) => self.call.slots[k],
        }
    }

    /// The use that is bound.
    fn used(&self, port: Port) -> Option<&Use> {
        self.step.uses.get(usize::from(self.at(port).0))
    }

    /// What people call it.
    fn name(&self, port: Port) -> String {
        match port {
            Port::Operand(k) => self.decl.operands[k].name.to_owned(),
            Port::Slot(k) => format!("slot {k}"),
        }
    }

    /// The accesses are to what the use's view shows: what the view shows, where there is a use.
    fn accesses<'i>(
        &self,
        port: Port,
        accesses: &Accesses<'i>,
        axis: Option<[Number<'i>; 3]>,
        at: At<'i>,
    ) -> Result<Option<ViewElements<'i>>, Fault> {
        let Some(used) = self.used(port) else { return Ok(None) };
        let wrong = |why: String| Err(Fault::Footprint { operand: self.name(port), why });
        if let Some(largest) = accesses.largest_index().filter(|i| *i > LARGEST_INDEX) {
            return wrong(format!("it reaches element {largest}, kernels count to {LARGEST_INDEX}"));
        }
        let view = match ViewElements::of(&used.view, at) {
            Ok(view) => view,
            Err(why) => return wrong(format!("its view has no value: {why}")),
        };
        if used.access.writes() && accesses.repeats() {
            return wrong("it writes an element twice".to_owned());
        }
        if let Some(why) = accesses.differs(&view).or_else(|| accesses.differs_in_shape(&view)) {
            return wrong(why);
        }
        // One that is stretched does not show the axis.
        let whole = |axis: &[Number<'i>; 3]| view.elements() == call::product(axis);
        match axis.filter(|axis| !view.is_empty() && whole(axis)) {
            Some(axis) if !view.has_axis(axis) => {
                let [outer, extent, inner] = axis;
                wrong(format!("no axis of it has {extent} elements, {outer} before it and {inner} after it"))
            }
            _ => Ok(Some(view)),
        }
    }

    /// What the meaning reads and writes is touched by the kernel, or lies in the frame.
    fn covers_meaning(&self, footprint: &Footprint<'_>) -> Result<(), Fault> {
        let touched = |i: u16| {
            let used = &self.step.uses[usize::from(i)];
            let same = |port: &Port| {
                let at = self.at(*port);
                // A kernel that reads and writes an operand has one writing use, and a reading one beside it.
                at.0 == i
                    || self.reads_too(*port)
                        && self.step.uses.get(usize::from(at.0)).is_some_and(|w| w.span == used.span)
            };
            let by_argument = footprint.by_argument && used.view.shape.is_empty() && !used.access.writes();
            by_argument
                || used.span.region == RegionKind::Frame
                || footprint.accesses.iter().any(|(port, _)| same(port))
        };
        let stray = |&i: &u16| usize::from(i) < self.step.uses.len() && !touched(i);
        match self.step.meaning.uses().find(stray) {
            None => Ok(()),
            Some(i) => Err(Fault::Meaning(format!("it has use {i}, which the kernel does not touch"))),
        }
    }

    fn reads_too(&self, port: Port) -> bool {
        match port {
            Port::Operand(k) => self.decl.operands[k].access == OperandAccess::ReadWrite,
            Port::Slot(_) => false,
        }
    }
}

/// A number of groups, for people.
fn shown(n: Number<'_>) -> u32 {
    u32::try_from(n.fixed_extent()).unwrap_or(u32::MAX)
}

/// An op reports under its own number, into a block that has a word for it.
fn status_number(
    scope: &Scope<'_>,
    step: &Step,
    call: &KernelCall,
    decl: &KernelDecl,
    faults: &mut Vec<Fault>,
) {
    let atomic = |u: &Use| u.access == Access::StatusAtomic;
    let reports = step.uses.iter().any(atomic);
    let block = 4 * crate::kernel::status::block_words(scope.plan.status_ops.len() as u64);
    if step.uses.iter().any(|u| atomic(u) && (u.span.offset.0 != 0 || u.span.len.0 < block)) {
        faults.push(Fault::Meaning(format!("its use of the status block is not all of its {block} bytes")));
    }
    let mut at = 0;
    for arg in decl.args {
        if matches!(arg.name, "op" | "status_op") && arg.len.is_none() {
            let stated = call.args.get(at).copied();
            let number = step.meaning.status.map(ArgValue::U32);
            let unused = number.is_none()
                && stated.is_some_and(
                    |s| matches!(s, ArgValue::U32(n) if (n as usize) < scope.plan.status_ops.len().max(1)),
                );
            let silent = !reports && stated == Some(ArgValue::ZERO);
            if stated != number && !(unused && reports) && !silent {
                faults.push(Fault::Argument {
                    what: format!("it reports as {stated:?}, its op is {number:?}"),
                });
            }
        }
        at += arg.words() as usize;
    }
}

/// Whether a hole's fill loads a slot, or stores to it.
fn fill_touches(fill: &crate::kernel::HoleFill, slot: usize) -> bool {
    let loads = fill.inputs.iter().any(|i| matches!(i, HoleInput::Slot(s) if usize::from(*s) == slot));
    loads || fill.stores.iter().any(|(s, _)| usize::from(*s) == slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_rule() {
        let of_frame = |d: &KernelDecl| crate::kernels::frame::DECLS.iter().any(|f| f.name == d.name);
        for decl in crate::kernels::all().filter(|d| !of_frame(d)) {
            assert!(rule_of(decl.name).is_some(), "{} has no rule of its footprint", decl.name);
        }
        assert_eq!(
            FAMILIES.concat().len() + crate::kernels::frame::DECLS.len(),
            crate::kernels::all().count()
        );
    }
}
