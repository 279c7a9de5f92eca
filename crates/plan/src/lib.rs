//! The execution plan of pumice.
//!
//! A [`Plan`] is data: regions and spans, steps with their uses, levels with their barriers, segments, the frame, and
//! the stored params that the load program maps to what kernels want. It is made with no GPU, printed, saved, and
//! checked by [`check`], which shares no code with the planner. Nothing here knows an op: what a step means is opaque
//! text to everyone but the evaluator.

pub mod check;
pub mod checked;
pub mod cost;
pub mod diff;
pub mod entry;
pub mod file;
pub mod frame;
pub mod hist;
pub mod kernel;
pub mod kernels;
pub mod needs;
pub mod plan;
pub mod print;
pub mod region;
pub mod step;
pub mod stream;
pub mod view;

pub use check::{Allowance, BindingError};
pub use checked::{CheckedPlan, Unsound};
pub use cost::{Cost, Work};
pub use entry::Entry;
pub use file::{PlanFileError, PlanForm, read_plan_file};
pub use frame::{AdvanceKind, AdvanceOp, Frame, FrameBuilder, FrameError, FrameSlot, FrameWord};
pub use kernel::{ArgValue, Fingerprint, HoleFill, HoleInput, KernelCall, KernelDecl, Kernels, UseIndex};
pub use needs::{Lack, Limit, Needs};
pub use plan::{
    Again, Barrier, ConstantSlot, Floor, Hazard, HazardKind, IoSlot, JoinedParams, Level, ParamSlot,
    Placement, Plan, PlanValue, Program, Run, RunCheck, ScalarSlot, Segment, StateInit, StateSlot, Stats,
    VersionOrigin,
};
pub use pumice_types::Precision;
pub use region::{DeviceIndex, Region, RegionKind, SLOT_ALIGNMENT, Span};
pub use step::{
    Access, Grid, InputError, InputUse, Meaning, MeaningGraph, Step, StepId, StepKind, Use, VersionId,
};
pub use stream::{Residence, Stream};
pub use view::{Storage, View, dense_strides};
