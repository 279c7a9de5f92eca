//! What a program is.
//!
//! A [`Graph`] is finished and immutable: nodes in an order in which every operand is defined before it is used,
//! values with their types, outputs, feeds, and the constraints between symbols. It is made by a [`GraphBuilder`],
//! read from `.ir` text, or made from another graph by [`Patch`]es; [`verify()`] states every rule and reports every
//! violation. An op is one line in [`for_each_op!`] and one file under `ops/`.
//!
//! Nothing here evaluates, optimizes or lowers.

pub mod attr;
pub mod builder;
mod conditions;
pub mod const_eval;
pub mod demand;
pub mod entity;
pub mod entries;
pub mod error;
pub mod form;
pub mod grad;
pub mod graph;
pub mod infer;
pub mod loops;
mod names;
pub mod ops;
pub mod patch;
mod place;
mod range;
pub mod sample;
pub mod shape;
mod sites;
pub mod state;
mod state_versions;
pub mod text;
mod variant;
pub mod verify;

pub use attr::{AttrError, AttrReader, AttrValue, Attrs, CountRange, FloatRange};
pub use builder::{BuildErrors, CallSite, GraphBuilder, Mistake, Value};
pub use conditions::Conditions;
pub use const_eval::ConstEval;
pub use demand::Demand;
pub use entity::{NodeId, ValueId};
pub use entries::EntryError;
pub use error::{BuildError, OpError};
pub use form::Form;
pub use grad::GradError;
pub use graph::{Constraint, Graph, Node, Output, Relation, ValueInfo};
pub use infer::Infer;
pub use loops::{LoopInfo, Loops};
pub use ops::{Op, OpDef};
pub use patch::{Patch, PatchError, PatchNode, PatchRef};
pub use place::Place;
pub use sample::{Fill, Sample};
pub use shape::{TypeSpec, ValueType, bf16, bool_, dim, f16, f32, i32, i64, sym, tensor, u32};
pub use state::{Feed, FeedKind};
pub use state_versions::Succession;
pub use verify::{VerifyError, verify};
