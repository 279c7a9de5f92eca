//! One step: its kernel call against the declaration and the target, its uses against their values and its kind, its
//! meaning against its uses, its frame words against the frame.

use super::Scope;
use super::error::{Fault, Findings};
use super::interface::misplaced;
use crate::file::PlanForm;
use crate::frame::FrameSlot;
use crate::kernel::layout::MAX_PUSH_CONSTANTS;
use crate::kernel::{
    ArgValue, Feature, FloatStorage, HoleInput, KernelCall, KernelDecl, OperandAccess, OperandDecl, TYPED_ID,
    VARIES_ID,
};
use crate::kernels::copy::StatusBegin;
use crate::kernels::find;
use crate::kernels::frame::FrameFind;
use crate::needs::offers;
use crate::plan::{Plan, VersionOrigin};
use crate::region::{RegionKind, Span};
use crate::step::{Access, Grid, InputError, Meaning, Step, StepId, StepKind, Use};
use crate::view::{Storage, View};
use pumice_types::{Bytes, DType, Encoding};
use std::fmt;
use std::sync::Arc;

/// Operands of a kernel begin at multiples of this: it may load 16 bytes at once.
const OPERAND_ALIGNMENT: u64 = 16;

/// Checks one step of a level. Of a kernel's, the declaration that its call fits.
pub(super) fn check(
    scope: &Scope<'_>,
    level: u32,
    (id, step): (StepId, &Step),
    findings: &mut Findings,
) -> Option<&'static KernelDecl> {
    let mut faults = Vec::new();
    for (index, u) in step.uses.iter().enumerate() {
        if let Some(why) = use_fault(scope, step, u) {
            faults.push(Fault::Use { index, access: u.access, span: u.span, why });
        }
    }
    let decl = match &step.kind {
        StepKind::Dispatch { call, grid } => {
            let decl = kernel(scope, step, call, &mut faults);
            self::grid(scope, step, grid, &mut faults);
            decl
        }
        StepKind::Advance { call } => {
            let decl = kernel(scope, step, call, &mut faults);
            advance(scope, step, call, &mut faults);
            decl
        }
        StepKind::Host | StepKind::Copy | StepKind::Fill(_) => None,
    };
    meaning(scope, step, &mut faults);
    live(scope, level, step, &mut faults);
    faults.into_iter().for_each(|f| findings.at(id, &step.origin, f));
    decl
}

fn use_fault(scope: &Scope<'_>, step: &Step, u: &Use) -> Option<String> {
    let value = scope.program.value(u.content)?;
    if !value.span.contains(&u.span) {
        return Some(format!("it lies outside {} at {}", value.name, value.span));
    }
    if let Some(why) = misplaced(scope.region(u.span.region), u.span) {
        return Some(why.to_owned());
    }
    if u.view.shape.len() != u.view.strides.len() {
        return Some("its view has not one stride per axis".to_owned());
    }
    if let (StepKind::Host, Access::HostRead | Access::HostWrite) = (&step.kind, u.access) {
        let is_row = matches!(value.origin, VersionOrigin::Found(_)) && u.access == Access::HostRead;
        return if is_row { None } else { host_fault(u).map(str::to_owned) };
    }
    if !is_of_kind(step, u) {
        return Some("steps of this kind have no such use".to_owned());
    }
    let kernel = matches!(step.kind, StepKind::Dispatch { .. } | StepKind::Advance { .. });
    if kernel && !u.span.offset.0.is_multiple_of(OPERAND_ALIGNMENT) {
        return Some("operands begin at multiples of 16 bytes".to_owned());
    }
    None
}

/// Why a host step cannot read or write this, if it cannot.
fn host_fault(u: &Use) -> Option<&'static str> {
    if !matches!(u.span.region, RegionKind::IoIn | RegionKind::IoOut) {
        return Some("host steps touch io regions only");
    }
    let natural = match u.view.storage {
        Storage::Natural => true,
        Storage::Arena => u.view.dtype.same_in_arena(),
        Storage::Encoded(_) => false,
    };
    (!natural || !u.view.is_dense()).then_some("host steps see dense bytes of natural width")
}

/// Whether steps of this kind, but for host steps, have such a use.
fn is_of_kind(step: &Step, u: &Use) -> bool {
    use Access as A;
    match (&step.kind, u.access) {
        (StepKind::Dispatch { .. }, A::ShaderRead) => u.span.region != RegionKind::Status,
        (StepKind::Dispatch { .. }, A::ShaderWrite) => true,
        (StepKind::Dispatch { .. }, A::IndirectRead) => u.span.region == RegionKind::Frame,
        (StepKind::Dispatch { .. }, A::StatusAtomic) => u.span.region == RegionKind::Status,
        (StepKind::Advance { .. }, A::ShaderWrite) => u.span.region == RegionKind::Frame,
        (StepKind::Advance { .. }, A::ShaderRead) => u.span.region != RegionKind::Frame,
        (StepKind::Copy, A::TransferRead) => std::ptr::eq(u, &step.uses[0]),
        (StepKind::Copy, A::TransferWrite) => step.uses.get(1).is_some_and(|w| std::ptr::eq(u, w)),
        (StepKind::Fill(_), A::TransferWrite) => true,
        _ => false,
    }
}

fn kernel(
    scope: &Scope<'_>,
    step: &Step,
    call: &KernelCall,
    faults: &mut Vec<Fault>,
) -> Option<&'static KernelDecl> {
    let decl = call.check().map_err(|e| faults.push(e.into())).ok()?;
    constants(call, faults);
    offered(scope.plan, call, decl, faults);
    operands(step, call, decl, faults);
    slots(step, call, faults);
    words(scope, step, call, decl, faults);
    Some(decl)
}

/// Specialization constants are in order, and the one for arguments that do not vary says so of constants alone.
fn constants(call: &KernelCall, faults: &mut Vec<Fault>) {
    if !call.spec.is_sorted_by(|a, b| a.0 < b.0) {
        faults.push(Fault::Argument { what: "its specialization constants are not in order".to_owned() });
    }
    let varies = call.spec.iter().find(|(id, _)| *id == VARIES_ID).is_none_or(|(_, v)| *v == 1);
    let constant = |a: &ArgValue| matches!(a, ArgValue::U32(_));
    if !varies && (!call.args.iter().all(constant) || call.spec.contains(&(VARIES_ID, 1))) {
        faults.push(Fault::Argument { what: "it is compiled for arguments that do not vary".to_owned() });
    }
}

/// The target has what the call needs: push constants, the features of its variant and of its holes.
fn offered(plan: &Plan, call: &KernelCall, decl: &KernelDecl, faults: &mut Vec<Fault>) {
    let target = &plan.target;
    let bytes = decl.layout().push_bytes();
    let limit = target.limits.max_push_constants.min(MAX_PUSH_CONSTANTS);
    if bytes > limit {
        faults.push(Fault::PushConstants { bytes, limit });
    }
    if let Some(variant) = decl.variant(&call.variant) {
        for &feature in variant.features.iter().filter(|f| !offers(target, **f)) {
            faults.push(Fault::Feature { variant: call.label(), feature });
        }
    }
    for fill in &call.holes {
        if decl.hole(&fill.hole).is_some_and(|hole| fill.is_too_wide(hole)) {
            let what = format!("hole `{}` has 32 bits of an element, its body 64", fill.hole);
            faults.push(Fault::Argument { what });
        }
    }
    if !target.features.int64 && call.holes.iter().any(|h| h.expr.computes_int64()) {
        faults.push(Fault::Feature { variant: call.label(), feature: Feature::Int64 });
    }
}

/// Each declared operand is a use of the declared access and of the storage that the call is compiled for.
fn operands(step: &Step, call: &KernelCall, decl: &KernelDecl, faults: &mut Vec<Fault>) {
    for (k, (declared, at)) in decl.operands.iter().zip(&call.operands).enumerate() {
        let Some(u) = step.uses.get(usize::from(at.0)) else {
            faults.push(missing(declared.name.to_owned(), at.0, step));
            continue;
        };
        if !agrees(declared.access, u.access) {
            let (operand, declared) = (declared.name.to_owned(), declared.access);
            faults.push(Fault::OperandAccess { operand, declared, access: u.access });
        }
        if declared.typed {
            typed(declared, call, k as u32, &u.view, faults);
        }
    }
}

fn missing(what: String, index: u16, step: &Step) -> Fault {
    Fault::UseIndex { what, index, count: step.uses.len() }
}

/// Whether a use says what the kernel does. A kernel that reads and writes has a writing use.
fn agrees(declared: OperandAccess, access: Access) -> bool {
    match declared {
        OperandAccess::Read => access == Access::ShaderRead,
        OperandAccess::Write | OperandAccess::ReadWrite => access == Access::ShaderWrite,
        OperandAccess::Status => access == Access::StatusAtomic,
    }
}

/// A typed operand is compiled for the storage that its use has.
fn typed(declared: &OperandDecl, call: &KernelCall, operand: u32, view: &View, faults: &mut Vec<Fault>) {
    let stated = call.spec.iter().find(|(id, _)| *id == TYPED_ID + operand).map_or(0, |(_, v)| *v);
    let viewed = match (view.storage, view.dtype) {
        (Storage::Natural, DType::F16) | (Storage::Encoded(Encoding::Plain(DType::F16)), _) => {
            FloatStorage::F16
        }
        (Storage::Natural, DType::BF16) | (Storage::Encoded(Encoding::Plain(DType::BF16)), _) => {
            FloatStorage::BF16
        }
        (Storage::Encoded(Encoding::Blocks(scheme)), _) => FloatStorage::Blocks(scheme),
        (Storage::Encoded(Encoding::Codes(_)), _) => FloatStorage::Codes,
        (Storage::Encoded(Encoding::Plain(dtype)), _) if !dtype.is_float() => FloatStorage::Codes,
        _ => FloatStorage::F32,
    }
    .code();
    let in_blocks = matches!(view.storage, Storage::Encoded(Encoding::Blocks(_)));
    let reads = declared.blocks
        && find(&call.kernel.0).and_then(|d| d.variant(&call.variant)).is_some_and(|v| v.reads_blocks());
    if stated != viewed || (in_blocks && !reads) {
        faults.push(Fault::TypedStorage { operand: declared.name.to_owned(), stated, viewed });
    }
}

/// A slot that a hole stores to is written, one that it loads is read.
fn slots(step: &Step, call: &KernelCall, faults: &mut Vec<Fault>) {
    for (slot, at) in call.slots.iter().enumerate() {
        let operand = format!("slot {slot}");
        let Some(u) = step.uses.get(usize::from(at.0)) else {
            faults.push(missing(operand, at.0, step));
            continue;
        };
        let stored = call.holes.iter().flat_map(|h| &h.stores).any(|(s, _)| usize::from(*s) == slot);
        let is_slot = |i: &HoleInput| matches!(i, HoleInput::Slot(s) if usize::from(*s) == slot);
        let loaded = call.holes.iter().flat_map(|h| &h.inputs).any(is_slot);
        let access = u.access;
        if stored && !matches!(access, Access::ShaderWrite | Access::StatusAtomic) {
            faults.push(Fault::OperandAccess { operand, declared: OperandAccess::Write, access });
        } else if loaded && !stored && access != Access::ShaderRead {
            faults.push(Fault::OperandAccess { operand, declared: OperandAccess::Read, access });
        } else if loaded && stored {
            faults.push(Fault::OperandAccess { operand, declared: OperandAccess::ReadWrite, access });
        }
    }
}

/// Arguments that lie in the frame: the word exists, and a use of the frame covers it.
fn words(scope: &Scope<'_>, step: &Step, call: &KernelCall, decl: &KernelDecl, faults: &mut Vec<Fault>) {
    debug_assert_eq!(decl.arg_words() as usize, call.args.len());
    for arg in &call.args {
        if let ArgValue::Frame(word) = *arg {
            frame_words(scope, step, word, 1, Access::ShaderRead, faults);
        }
    }
}

fn frame_words(
    scope: &Scope<'_>,
    step: &Step,
    word: u32,
    count: u32,
    access: Access,
    faults: &mut Vec<Fault>,
) {
    let there = scope.run.map_or(0, |r| r.frame.words.len() as u64);
    if u64::from(word) + u64::from(count) > there {
        let what = format!("words {word}..{} of {there}", u64::from(word) + u64::from(count));
        return faults.push(Fault::Frame(what));
    }
    let words = scope.run.map_or(&[][..], |r| &r.frame.words);
    // What they hold after a replay the host does not know: rules would be asked at the 0 that it writes.
    if words.iter().skip(word as usize).take(count as usize).any(FrameSlot::is_of_device) {
        faults.push(Fault::Frame(format!("word {word} is the device's own, not a value")));
    }
    let (offset, len) = (Bytes(4 * u64::from(word)), Bytes(4 * u64::from(count)));
    let needed = Span::new(RegionKind::Frame, offset, len);
    if !step.uses.iter().any(|u| u.access == access && u.span.contains(&needed)) {
        let what = format!("word {word} is read, and no use of the step says so ({})", access.name());
        faults.push(Fault::Frame(what));
    }
}

fn grid(scope: &Scope<'_>, step: &Step, grid: &Grid, faults: &mut Vec<Fault>) {
    let counts = match grid {
        Grid::Static(counts) => counts,
        Grid::Frame { word, upper } => {
            frame_words(scope, step, word.0, 3, Access::IndirectRead, faults);
            upper
        }
    };
    for (dimension, (&groups, &limit)) in
        counts.iter().zip(&scope.plan.target.limits.max_workgroup_count).enumerate()
    {
        if groups > limit {
            faults.push(Fault::Grid { dimension, groups: groups.into(), limit: limit.into() });
        }
    }
}

/// The advance runs the frame's own program: where it lies and how long it is.
fn advance(scope: &Scope<'_>, step: &Step, call: &KernelCall, faults: &mut Vec<Fault>) {
    let Some(run) = scope.run else { return };
    let at = ArgValue::U32(run.frame.words.len() as u32);
    let count = ArgValue::U32(run.frame.advance.len() as u32);
    if call.args != [at, count] {
        faults.push(Fault::Frame(format!(
            "the advance has the arguments {:?}, not {at:?} and {count:?}",
            call.args
        )));
    }
    let len = Bytes(4 * run.frame.len_words());
    let whole = Span::new(RegionKind::Frame, Bytes::ZERO, len);
    // The kernel finds its words from the first byte of its operand on.
    let words = call.operands.first().and_then(|at| step.uses.get(usize::from(at.0)));
    let begins = |u: &Use| u.span.offset == Bytes::ZERO && u.span.contains(&whole);
    if !words.is_some_and(|u| u.access == Access::ShaderWrite && begins(u)) {
        faults.push(Fault::Frame("the advance has no use of the whole frame".into()));
    }
}

/// An input or output of a meaning.
enum Part<'m> {
    Input(&'m str),
    Output(usize),
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Input(name) => write!(f, "input `{name}`"),
            Part::Output(i) => write!(f, "output {i}"),
        }
    }
}

/// Inputs of the meaning are reads, outputs writes; a status number belongs to a use of the status block.
fn meaning(scope: &Scope<'_>, step: &Step, faults: &mut Vec<Fault>) {
    let m = &step.meaning;
    parts(step, faults);
    faults.extend(names(m).err().map(Fault::Input));
    let says = match &step.kind {
        StepKind::Host => true,
        StepKind::Dispatch { .. } if scope.plan.form == PlanForm::Run => false,
        StepKind::Dispatch { call, .. } => {
            ![StatusBegin::DECL.name, FrameFind::DECL.name].contains(&&*call.kernel.0)
        }
        StepKind::Advance { .. } | StepKind::Copy | StepKind::Fill(_) => false,
    };
    if says == m.graph.text.is_empty() {
        faults.push(Fault::Meaning(format!("it is {}empty", if says { "" } else { "not " })));
    }
    if let Some(number) = m.status {
        status(scope.plan, step, number, faults);
    }
}

/// Inputs of the meaning are uses that read, outputs uses that write.
fn parts(step: &Step, faults: &mut Vec<Fault>) {
    let m = &step.meaning;
    let inputs = m.inputs.iter().map(|i| (Part::Input(&i.name), i.at));
    let outputs = (0..).zip(&m.outputs).map(|(i, &at)| (Part::Output(i), at));
    for (part, at) in inputs.chain(outputs) {
        let writes = matches!(part, Part::Output(_));
        match step.uses.get(usize::from(at)) {
            None => faults.push(missing(format!("{part} of the meaning"), at, step)),
            Some(u) if u.access.writes() != writes || u.access == Access::StatusAtomic => {
                let access = u.access.name();
                faults.push(Fault::Meaning(format!("its {part} is use {at}, which is {access}")));
            }
            Some(_) => {}
        }
    }
}

/// A status number is that of the op whose step it is, and the step uses the status block.
fn status(plan: &Plan, step: &Step, number: u32, faults: &mut Vec<Fault>) {
    let ops = plan.status_ops.len();
    match plan.status_ops.get(number as usize) {
        None => faults.push(Fault::Meaning(format!("its status number is {number} of {ops}"))),
        Some(name) if **name != *step.origin => {
            faults.push(Fault::Meaning(format!("its status number {number} is that of {name}")));
        }
        Some(_) => {}
    }
    if !step.uses.iter().any(|u| u.access == Access::StatusAtomic) {
        faults.push(Fault::Meaning("it has a status number and no use of the status block".into()));
    }
}

/// Every input of the graph is bound by its name, once. Without a graph there is nothing to name.
fn names(m: &Meaning) -> Result<(), InputError> {
    if !m.graph.text.is_empty() {
        return m.order(m.graph.inputs.iter().map(|name| &**name)).map(|_| ());
    }
    let named = m.inputs.iter().find(|i| !i.name.is_empty());
    named.map_or(Ok(()), |i| Err(InputError::Unknown(Arc::clone(&i.name))))
}

/// Temporary values are touched in the levels they are said to live in.
fn live(scope: &Scope<'_>, level: u32, step: &Step, faults: &mut Vec<Fault>) {
    for u in &step.uses {
        let Some(value) = scope.program.value(u.content) else { continue };
        let temporary = matches!(value.origin, crate::plan::VersionOrigin::Step);
        let inside = value.live.is_some_and(|(first, last)| (first..=last).contains(&level));
        if temporary && !inside {
            faults.push(Fault::Live { name: value.name.to_string(), level, live: value.live });
        }
    }
}
