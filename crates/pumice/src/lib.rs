//! pumice compiles a neural-network graph into a plan (where every byte lives, which kernel runs when, which barrier
//! separates what) and replays that plan on any Vulkan GPU, or on the CPU interpreter.
//!
//! ```
//! use pumice::{Device, GraphBuilder, Options, TensorView, f32, sym};
//!
//! let g = GraphBuilder::new("mlp"); // methods take &self and collect mistakes
//! let x = g.input("x", f32([sym("batch", 1..=64), 4.into()]));
//! let w1 = g.param("w1", f32([4, 8]));
//! let h = g.relu(g.matmul(x, w1));
//! let w2 = g.param("w2", f32([8, 2]));
//! g.output("logits", g.matmul(h, w2));
//! let graph = g.build()?; // every mistake at once, with node names
//!
//! let device = Device::cpu(); // or Device::best(): a GPU if there is one
//! let exe = pumice::compile(&graph, &device, &Options::default())?;
//! exe.set_param("w1", &[0.5; 32])?;
//! exe.set_param("w2", &[0.25; 16])?;
//! let mut session = exe.session()?;
//! let out = session.run(&[("x", TensorView::f32(&[1.0; 8], [2, 4]))])?;
//! assert_eq!(out.get("logits")?.shape(), [2, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features: `vulkan` (default) for GPUs and CPU drivers, without which there is the interpreter; `models` for
//! architectures, tokenizers and the modules `embed` and `generate`; `hub` for models of the Hugging Face hub; `tune`
//! for measuring kernels; `cli` for the program `pumice`; `train` for training (module `train`); `tracing` for spans
//! around compiling, loading, preparing and running (target `pumice`, level debug); `ndarray` for arrays of that crate
//! as tensors.
//!
//! The parts have packages of their own: `pumice-ir` (graphs), `pumice-opt` (passes), `pumice-plan` (plans and their
//! checker), `pumice-compile`, `pumice-runtime` (sessions), `pumice-vulkan`, `pumice-cpu-ref` (the oracle and the
//! interpreter), `pumice-import` (files), `pumice-models` (architectures).

pub mod apart;
#[cfg(feature = "cli")]
pub mod cli;
pub mod custom;
pub mod device;
#[cfg(feature = "models")]
pub mod embed;
pub mod error;
#[cfg(feature = "models")]
pub mod generate;
#[cfg(feature = "hub")]
pub mod hub;
#[cfg(any(feature = "cli", feature = "hub"))]
mod hub_name;
#[cfg(feature = "vulkan")]
mod matrix_test;
pub mod model;
#[cfg(feature = "models")]
mod opened;
pub mod plan_file;
pub mod save;
#[cfg(feature = "train")]
pub mod train;
#[cfg(feature = "tune")]
pub mod tune;

pub use custom::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes};
pub use device::{Device, DeviceChoice, DeviceKind, MatrixUnits};
pub use error::Error;
pub use model::{Loaded, load, load_weights};
pub use pumice_compile::{Barriers, CompileError, OptOptions, Options, Unsupported};
pub use pumice_cpu_ref::RefHostOps;
pub use pumice_import::model::MismatchError;
pub use pumice_import::{
    EncodeError, FileKind, FormatProblem, GgufFile, GgufPlace, GgufProblem, GgufWriteError, ImportError,
    IndexProblem, MemoryWeights, Model, SafetensorsFile, WeightInfo, WeightSource,
};
pub use pumice_ir::{
    AttrError, BuildError, BuildErrors, CallSite, Constraint, CountRange, EntryError, Feed, FeedKind, Fill,
    FloatRange, GradError, Graph, GraphBuilder, Mistake, Node, NodeId, Op, OpError, Output, Patch,
    PatchError, Place, Relation, Succession, TypeSpec, Value, ValueId, ValueInfo, ValueType, VerifyError,
    bf16, bool_, dim, f16, f32, i32, i64, ops, shape::DimSpec, sym, tensor, text, u32,
};
#[cfg(feature = "models")]
pub use pumice_models::{
    CacheType, Conversion, ConvertedTensor, EncoderOptions, JsonValue, LanguageOptions, Message, ModelError,
    Note, Pooling, Sampler, SentenceOverrides, TextError,
};
pub use pumice_plan::check::CheckError;
pub use pumice_plan::kernel::{Feature, RegisterError};
pub use pumice_plan::{
    BindingError, CheckedPlan, DeviceIndex, Entry, Fingerprint, FrameError, InputError, InputUse, KernelDecl,
    Kernels, Lack, Limit, Meaning, MeaningGraph, Placement, Plan, PlanFileError, PlanForm, Precision,
    RegionKind, ScalarSlot, Span, StepId, Unsound, Use,
};
pub use pumice_runtime::{
    CustomError, DeviceError, DeviceSession, Executable, Extent, FillWeights, HistogramRow, HostError,
    HostOps, HostStep, Interrupt, Loaded as LoadedPlan, MemorySummary, NameKind, NonFinite, OnStatus,
    OpReport, OutputBuffer, Outputs, Profile, RegionSummary, RunOptions, RunStatus, RuntimeError,
    ScalarValue, ScratchSummary, Session, StateHandle, StateRows, StepProfile, StepTime, SymbolSource,
    TensorInfo,
};
pub use pumice_types::dim::Atom;
pub use pumice_types::encoding::{Field, FieldKind, SchemeInfo};
pub use pumice_types::target::{FigureError, Figures, LevelTime, Tuning};
pub use pumice_types::{
    Bindings, Bounds, ByteSource, Bytes, Code, DType, DimExpr, Element, Encoding, EncodingClass, EvalError,
    ScalarId, Scheme, SourceError, Stored, Symbol, SymbolId, SymbolTable, Table, TableError, TableId,
    TableRow, Target, Tensor, TensorError, TensorView, Var, WindowAxis,
};
#[cfg(feature = "vulkan")]
pub use pumice_vulkan::raw::{CallError, InstanceError};
#[cfg(feature = "vulkan")]
pub use pumice_vulkan::snapshot::Version;
#[cfg(feature = "vulkan")]
pub use pumice_vulkan::{
    Addressing, DeviceOptions, FaultPlan, HostAccess, KernelObserver, KernelProgress, KernelSource,
    OpenError, Pick, Poison, Refusal, Validation,
};

/// The packages below the facade, for what it does not name itself: the steps of a plan, passes, the parts of a target.
pub mod parts {
    pub use pumice_compile as compile;
    pub use pumice_cpu_ref as cpu_ref;
    pub use pumice_import as import;
    pub use pumice_ir as ir;
    #[cfg(feature = "models")]
    pub use pumice_models as models;
    pub use pumice_opt as opt;
    pub use pumice_plan as plan;
    pub use pumice_runtime as runtime;
    #[cfg(feature = "train")]
    pub use pumice_train as train;
    pub use pumice_types as types;
    #[cfg(feature = "vulkan")]
    pub use pumice_vulkan as vulkan;
}

/// Compiles a graph for a device and makes it ready to take params. Host steps are run by the CPU reference's host ops,
/// ops of users by those that the device was given ([`Device::with_custom_ops`]).
///
/// # Errors
/// [`Error::Custom`] for ops of users that the device was not given; [`Error::Compile`] for a graph that the device
/// cannot run, with every unsupported node; [`Error::Unsound`] if the independent checker finds the plan wrong (a
/// defect of pumice); [`Error::Runtime`] where the device fails.
pub fn compile(graph: &Graph, device: &Device, options: &Options) -> Result<Executable, Error> {
    let plan = plan_with(graph, device.target(), options, device.custom_ops())?;
    Ok(Executable::new(device.shared(), plan, device.host_ops())?)
}

/// Compiles several graphs into one executable: each an *entry* with inputs, outputs and ranges of its own, over the
/// same params, states, scalars and symbols. Weights, what is derived from them, states and scratch are there once; a
/// session runs the entries one after the other ([`Session::entry`]).
///
/// ```
/// use pumice::{Device, GraphBuilder, Options, TensorView, f32};
///
/// let add = GraphBuilder::new("add");
/// let (sum, x) = (add.state("sum", f32([2])), add.input("x", f32([2])));
/// add.state_write(sum, add.add(add.state_read(sum), x));
/// let tell = GraphBuilder::new("tell");
/// tell.output("sum", tell.state_read(tell.state("sum", f32([2]))));
///
/// let entries = [("add", &add.build()?), ("tell", &tell.build()?)];
/// let exe = pumice::compile_entries(&entries, &Device::cpu(), &Options::default())?;
/// let mut session = exe.session()?;
/// for _ in 0..3 {
///     session.entry("add")?.run(&[("x", TensorView::f32(&[1.0, 2.0], [2]))])?;
/// }
/// let told = session.entry("tell")?.run(&[])?;
/// assert_eq!(told.get("sum")?.to_vec::<f32>()?, [3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compile`]; [`CompileError::Entries`] names every param, state, scalar and symbol that is declared otherwise in
/// one graph than in another, and every name that is one kind of thing here and another there.
pub fn compile_entries(
    entries: &[(&str, &Graph)],
    device: &Device,
    options: &Options,
) -> Result<Executable, Error> {
    let plan = plan_entries_with(entries, device.target(), options, device.custom_ops())?;
    Ok(Executable::new(device.shared(), plan, device.host_ops())?)
}

/// As [`compile_entries`], for a target without any device.
///
/// # Errors
/// As [`compile_entries`], without those of a device.
pub fn plan_entries(
    entries: &[(&str, &Graph)],
    target: &Target,
    options: &Options,
) -> Result<CheckedPlan, Error> {
    plan_entries_with(entries, target, options, &CustomOps::new())
}

/// Compiles a graph for a target without any device, and has the independent checker go over the plan: what a device
/// loads is a checked plan, in every build.
///
/// # Errors
/// As [`compile`], without those of a device; every op of a user is unknown here.
pub fn plan(graph: &Graph, target: &Target, options: &Options) -> Result<CheckedPlan, Error> {
    plan_with(graph, target, options, &CustomOps::new())
}

/// As [`plan`], of a graph that may have these ops of users: their rules of types are asked.
///
/// # Errors
/// As [`compile`], without those of a device.
pub fn plan_with(
    graph: &Graph,
    target: &Target,
    options: &Options,
    custom: &CustomOps,
) -> Result<CheckedPlan, Error> {
    plan_entries_with(&[(Entry::MAIN, graph)], target, options, custom)
}

fn plan_entries_with(
    entries: &[(&str, &Graph)],
    target: &Target,
    options: &Options,
    custom: &CustomOps,
) -> Result<CheckedPlan, Error> {
    let mistakes: Vec<_> = entries.iter().flat_map(|(_, graph)| custom.mistakes(graph)).collect();
    if !mistakes.is_empty() {
        return Err(Error::Custom { mistakes });
    }
    #[cfg(feature = "tracing")]
    let _span = {
        let graph = entries.first().map_or("", |(_, graph)| graph.name());
        tracing::debug_span!(target: "pumice", "compile", graph).entered()
    };
    let plan = pumice_compile::compile_entries(entries, target, options, &pumice_cpu_ref::RefEval)?;
    Ok(CheckedPlan::compiled(plan)?)
}
