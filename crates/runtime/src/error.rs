//! What can go wrong at run time, of three kinds that never mix: the caller's program is wrong (everything that names
//! an input, param, state, scalar, symbol or output), pumice has a defect ([`RuntimeError::Plan`]), the device failed
//! ([`RuntimeError::Device`]). Every error names the thing and says what would help. No text is parsed by anyone.

use crate::device::DeviceError;
use crate::outcome::RunStatus;
use pumice_plan::{BindingError, FrameError, Plan, Unsound};
use pumice_types::{DType, Encoding, EvalError, TensorError};
use std::fmt;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// An entry of the program.
    Entry,
    /// An input of the graph.
    Input,
    /// An output of the graph.
    Output,
    /// A param.
    Param,
    /// A persistent state.
    State,
    /// A dynamic scalar.
    Scalar,
    /// A symbol.
    Symbol,
    /// An intermediate value of a run.
    Value,
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameKind::Entry => "entry",
            NameKind::Input => "input",
            NameKind::Output => "output",
            NameKind::Param => "param",
            NameKind::State => "state",
            NameKind::Scalar => "scalar",
            NameKind::Symbol => "symbol",
            NameKind::Value => "value",
        })
    }
}

/// Who gave a symbol its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolSource {
    /// An axis of an input.
    Input {
        /// The input.
        name: String,
        /// Which axis.
        axis: usize,
    },
    /// `Session::bind_symbol`.
    Bound,
}

impl fmt::Display for SymbolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymbolSource::Input { name, axis } => write!(f, "axis {axis} of input `{name}`"),
            SymbolSource::Bound => f.write_str("bind_symbol"),
        }
    }
}

/// Any failure of an executable or a session.
#[derive(thiserror::Error)]
pub enum RuntimeError {
    /// The device failed, or was asked for more than it has. States of the session are unspecified if it happened
    /// while a run was under way.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A source of params could not give what it was asked for.
    #[error(transparent)]
    Source(#[from] pumice_types::SourceError),
    /// A plan in which the checker found faults.
    #[error(transparent)]
    Unsound(#[from] Unsound),
    /// A plan from bytes that breaks a law for the extents and scalars of this run; nothing was written.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// Something that the plan says of this run has no value for these extents and scalars; nothing was written.
    #[error("replay {replay}: {what} has no value: {source}")]
    NoValue {
        /// What it is.
        what: String,
        /// Why.
        source: EvalError,
        /// Which replay of the run, counted from 0.
        replay: u32,
    },
    /// No run of the plan is for these extents.
    #[error("plan `{plan}` has no run for these extents")]
    NotCovered {
        /// Name of the plan.
        plan: String,
    },
    /// The plan contradicts itself.
    #[error("plan `{plan}`: {what}; it was changed after it was made, or this is a defect of pumice")]
    Plan {
        /// Name of the plan.
        plan: String,
        /// What is wrong.
        what: String,
    },
    /// A name that the plan does not have.
    #[error("there is no {kind} `{name}`; the plan has {}", list(.known))]
    UnknownName {
        /// What was looked for.
        kind: NameKind,
        /// The name given.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A name was given twice in one call.
    #[error("{kind} `{name}` is given twice; give each once")]
    Duplicate {
        /// What it is.
        kind: NameKind,
        /// Its name.
        name: String,
    },
    /// Inputs without a value.
    #[error("no value for input {}; pass it to the run, bind it with bind_input, or set RunOptions::keep after a run that had it", list(.names))]
    MissingInputs {
        /// All of them.
        names: Vec<String>,
    },
    /// An input that was to be kept, but whose bytes the last run used for something else, or a device failure made
    /// unknown.
    #[error("the earlier value of input {} is gone; pass it again, or bind it with bind_input", list(.names))]
    InputNotKept {
        /// All of them.
        names: Vec<String>,
    },
    /// Params that were never set.
    #[error("no value for param {}; set it with Executable::set_param", list(.names))]
    MissingParams {
        /// All of them, in the plan's order.
        names: Vec<String>,
    },
    /// States that begin with what is given, and were not given.
    #[error("no value for state {}; write it with Session::state", list(.names))]
    MissingStates {
        /// All of them, in the plan's order.
        names: Vec<String>,
    },
    /// A param that passes through: only what was made of it is there.
    #[error(
        "param `{name}` cannot be read back: only what is derived from it stays; name it in Options::keep when compiling"
    )]
    NotKept {
        /// The param.
        name: String,
    },
    /// Params were set from code that a run of the same executable called: a host step.
    #[error(
        "params cannot be set from a host step of the same executable's run; set them before or after the run"
    )]
    SetInsideRun,
    /// A run, or another set, was begun from code that setting params of the same executable called: a source, its
    /// progress, a host step that runs while loading.
    #[error(
        "an executable cannot run, nor set params, inside what sets its params (a source, its progress, a host step); \
         wait until they are set"
    )]
    InsideSet,
    /// A tensor of another dtype than declared.
    #[error("{kind} `{name}` is {expected}, {given} was given; {remedy}")]
    DType {
        /// What it is for.
        kind: NameKind,
        /// Its name.
        name: String,
        /// What is declared.
        expected: Encoding,
        /// What was given.
        given: Encoding,
        /// What would help.
        remedy: &'static str,
    },
    /// A tensor of another rank than declared.
    #[error("{kind} `{name}` has rank {expected}, a tensor of rank {given} was given")]
    Rank {
        /// What it is for.
        kind: NameKind,
        /// Its name.
        name: String,
        /// The rank declared.
        expected: usize,
        /// The rank given.
        given: usize,
    },
    /// An extent other than declared.
    #[error("{kind} `{name}`: axis {axis} is {expected}, {given} was given")]
    Extent {
        /// What it is for.
        kind: NameKind,
        /// Its name.
        name: String,
        /// Which axis.
        axis: usize,
        /// The extent declared, as text: a number, or an expression with its value in this run.
        expected: String,
        /// The extent given.
        given: u64,
    },
    /// A number of elements or bytes other than declared.
    #[error("{kind} `{name}` takes {expected} {unit}, {given} were given")]
    Length {
        /// What it is for.
        kind: NameKind,
        /// Its name.
        name: String,
        /// `elements` or `bytes`.
        unit: &'static str,
        /// How many it takes.
        expected: u64,
        /// How many were given.
        given: u64,
    },
    /// A view whose bytes and shape disagree.
    #[error("{kind} `{name}`: {source}")]
    Tensor {
        /// What it is for.
        kind: NameKind,
        /// Its name.
        name: String,
        /// What is wrong with the view.
        source: TensorError,
    },
    /// Two extents that must be equal are not.
    #[error("symbol `{symbol}` is {} by {} and {} by {}; they must be equal", .first.1, .first.0, .second.1, .second.0)]
    DimConstraint {
        /// The symbol both stand for.
        symbol: String,
        /// Who bound it first, and to what.
        first: Box<(SymbolSource, u64)>,
        /// Who contradicts, and with what.
        second: Box<(SymbolSource, u64)>,
    },
    /// A symbol's value outside its declaration.
    #[error(
        "symbol `{symbol}` is {value} by {by}; it must be in {min}..={max}{}",
        if *.multiple_of > 1 { format!(" and a multiple of {multiple_of}") } else { String::new() }
    )]
    SymbolRange {
        /// The symbol.
        symbol: String,
        /// Its value.
        value: u64,
        /// Who bound it.
        by: SymbolSource,
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
        /// What the value must be a multiple of.
        multiple_of: u64,
    },
    /// Symbols that no input binds.
    #[error("no value for symbol {}; no input has it as an extent of its own: set it with bind_symbol", list(.names))]
    UnboundSymbols {
        /// All of them.
        names: Vec<String>,
    },
    /// A value for a symbol that the program finds.
    #[error("symbol `{symbol}` is found while the program runs: nobody binds it")]
    FoundSymbol {
        /// Its name.
        symbol: String,
    },
    /// A scalar outside its declared range.
    #[error("scalar `{name}` would be {value} in replay {replay}; it must be in {min}..={max}")]
    ScalarRange {
        /// The scalar.
        name: String,
        /// The value.
        value: f64,
        /// Which replay of the run, counted from 0.
        replay: u32,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// A fraction, a NaN, an infinity or a number beyond 64 bits for an integer scalar.
    #[error("scalar `{name}` is {dtype}; {value} is not an integer")]
    ScalarFraction {
        /// The scalar.
        name: String,
        /// Its dtype.
        dtype: DType,
        /// The value given.
        value: f64,
    },
    /// Two extents stand otherwise to each other than the program needs.
    #[error(
        "{what}: {} {} {}{}{}", extent(.left), if *.equal { "must be equal to" } else { "must be at most" }, extent(.right),
        with_values(.with), in_replay(.replay, .replays)
    )]
    Extents {
        /// What they are of, with the node that needs it.
        what: String,
        /// One extent: the expression with the names of its symbols, and its value.
        left: Box<(String, i64)>,
        /// Whether they must be equal; else the first must not exceed the second.
        equal: bool,
        /// The other extent.
        right: Box<(String, i64)>,
        /// The symbols and scalars that the extents are made of, with their values, but for those that are an extent by
        /// themselves.
        with: Vec<(String, i64)>,
        /// Which replay of the run, counted from 0.
        replay: u32,
        /// How many replays the run has.
        replays: u32,
    },
    /// A condition of the program does not hold for these extents and scalars.
    #[error("{what} is {value}{}; it must be in {min}..={max}", in_replay(.replay, .replays))]
    RunCheck {
        /// What the condition is about.
        what: String,
        /// The value it has.
        value: i64,
        /// Smallest value allowed.
        min: i64,
        /// Largest value allowed.
        max: i64,
        /// Which replay of the run, counted from 0.
        replay: u32,
        /// How many replays the run has.
        replays: u32,
    },
    /// A word of the frame has no value.
    #[error("replay {replay}: {source}")]
    Frame {
        /// Which replay of the run, counted from 0.
        replay: u32,
        /// Why.
        source: FrameError,
    },
    /// The run ended (with host steps: the first replay that reported, and none after it), but an op met an index out
    /// of range, a full state or a division by zero (OPS 1.5).
    #[error(
        "the run reported {0}; outputs and states hold what the op left (0 was read, writes were dropped, \
         counts are within their range)"
    )]
    Status(RunStatus),
    /// An output index past the last output.
    #[error("there is no output {index}; the plan has {count}")]
    OutputIndex {
        /// The index given.
        index: usize,
        /// Outputs there are.
        count: usize,
    },
    /// An axis past the last one.
    #[error("{kind} `{name}` has rank {rank}; there is no axis {axis}")]
    Axis {
        /// What was read or written.
        kind: NameKind,
        /// Its name.
        name: String,
        /// The axis given.
        axis: usize,
        /// Its rank.
        rank: usize,
    },
    /// Rows past the last one.
    #[error("{kind} `{name}`: rows {start}..{end} of axis {axis}, which has {extent}")]
    Rows {
        /// What was read or written.
        kind: NameKind,
        /// Its name.
        name: String,
        /// The axis.
        axis: usize,
        /// First row.
        start: u64,
        /// One past the last row.
        end: u64,
        /// Rows there are.
        extent: u64,
    },
    /// Outputs or values were asked for before any run ended, or after one in which the device failed.
    #[error("no run has left its results in this session; run it first")]
    NoResults,
    /// Intermediate values were asked for, but their bytes are used again during the run.
    #[error(
        "the plan is Packed: bytes of intermediate values are used again; compile with Placement::Bump to read them"
    )]
    Packed,
    /// A run of no steps.
    #[error("a run takes at least one step")]
    NoSteps,
}

pumice_types::debug_as_display!(RuntimeError);

impl RuntimeError {
    pub(crate) fn plan(plan: &Plan, what: impl Into<String>) -> RuntimeError {
        RuntimeError::Plan { plan: plan.name.clone(), what: what.into() }
    }
}

/// `n + 1 = 5`, or the number alone where the extent is one.
fn extent((expression, value): &(String, i64)) -> String {
    let value = value.to_string();
    if *expression == value { value } else { format!("{expression} = {value}") }
}

/// Values of variables for a message, if there are any.
fn with_values(variables: &[(String, i64)]) -> String {
    let shown: Vec<String> = variables.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if shown.is_empty() { String::new() } else { format!(", with {}", shown.join(", ")) }
}

/// The replay for a message, where there are several.
fn in_replay(replay: &u32, replays: &u32) -> String {
    if *replays > 1 { format!(" in replay {replay}") } else { String::new() }
}

/// Names for a message: all of them up to sixteen.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 16;
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
    let rest = names.len().saturating_sub(SHOWN);
    if rest == 0 { shown.join(", ") } else { format!("{} and {rest} more", shown.join(", ")) }
}
