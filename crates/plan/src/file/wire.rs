//! What lies in the body of a plan file, row by row: serde types that the encoding (postcard) writes as they stand.
//!
//! Everything that repeats is a row of a table and is named by its number: texts, expressions, views, spans, bodies,
//! calls, meanings. An expression names only expressions before it, so nothing here is nested deeper than a row, and
//! reading cannot recurse. Never here: what a plan means, or whether its numbers are right.

use super::PlanForm;
use crate::frame::{AdvanceOp, FoundRow};
use crate::kernel::{ArgValue, Fingerprint, HoleInput, UseIndex};
use crate::plan::{JoinedParams, Level, Placement, Segment, Stats, VersionOrigin};
use crate::region::{Region, Span};
use crate::step::{Access, Grid, VersionId};
use crate::view::Storage;
use pumice_types::scalar::{Opcode, RegType};
use pumice_types::{DType, Encoding, Precision, ScalarId, SymbolId, SymbolTable, TableId, Target};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Number of a row.
pub type Id = u32;

/// The whole body.
#[derive(Serialize, Deserialize)]
pub struct Body<'a> {
    /// What is in it.
    pub form: PlanForm,
    /// The tables.
    #[serde(borrow)]
    pub tables: Tables<'a>,
    /// What names their rows.
    #[serde(borrow)]
    pub plan: PlanRow<'a>,
}

/// What repeats.
#[derive(Default, Serialize, Deserialize)]
pub struct Tables<'a> {
    #[serde(borrow)]
    pub texts: Vec<&'a str>,
    pub kernels: Vec<KernelRow>,
    pub exprs: Vec<ExprRow>,
    pub views: Vec<ViewRow>,
    pub spans: Vec<Span>,
    pub bodies: Vec<BodyRow>,
    pub fills: Vec<FillRow>,
    pub calls: Vec<CallRow>,
    pub meanings: Vec<MeaningRow>,
}

/// A kernel of which the plan uses variants, with what it was when the plan was saved.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KernelRow {
    pub name: Id,
    pub declaration: Fingerprint,
    pub variants: Vec<(Id, Fingerprint)>,
}

/// A sum of products.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExprRow {
    pub terms: Vec<(i64, Vec<AtomRow>)>,
    pub constant: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AtomRow {
    Symbol(u32),
    Scalar(u32),
    FloorDiv(Id, Id),
    CeilDiv(Id, Id),
    Min(Id, Id),
    Max(Id, Id),
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ViewRow {
    pub dtype: DType,
    pub storage: Storage,
    pub shape: Vec<Id>,
    pub strides: Vec<Id>,
    pub offset: Id,
}

/// A scalar expression.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BodyRow {
    pub inputs: Vec<RegType>,
    pub insts: Vec<(Opcode, RegType, Vec<u32>)>,
    pub outputs: Vec<u32>,
}

/// What a hole is filled with.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FillRow {
    pub hole: Id,
    pub body: Id,
    pub inputs: Vec<HoleInput>,
    pub result: Option<u16>,
    pub stores: Vec<(u8, u16)>,
}

/// A kernel call; `variant` counts the variants of its kernel's row.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallRow {
    pub kernel: Id,
    pub variant: Id,
    pub spec: Vec<(u32, u32)>,
    pub args: Vec<ArgValue>,
    pub operands: Vec<UseIndex>,
    pub slots: Vec<UseIndex>,
    pub fills: Vec<Id>,
    pub literals: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MeaningRow {
    pub text: Id,
    pub symbols: Vec<SymbolId>,
    pub inputs: Vec<Id>,
}

#[derive(Serialize, Deserialize)]
pub struct PlanRow<'a> {
    pub name: Id,
    pub graph: Option<Fingerprint>,
    pub target: Target,
    pub table: TableId,
    pub precision: Precision,
    pub placement: Placement,
    pub symbols: SymbolTable,
    pub scalars: Vec<ScalarRow>,
    pub params: Vec<ParamRow>,
    pub joined: Vec<JoinedParams>,
    #[serde(borrow)]
    pub constants: Vec<ConstantRow<'a>>,
    #[serde(borrow)]
    pub states: Vec<StateRow<'a>>,
    pub entries: Vec<EntryRow>,
    pub inputs: Vec<IoRow>,
    pub outputs: Vec<IoRow>,
    pub status_ops: Vec<Id>,
    pub regions: Vec<Region>,
    pub load: ProgramRow,
    pub streams: Vec<StreamRow>,
    pub runs: Vec<RunRow>,
}

#[derive(Serialize, Deserialize)]
pub struct ScalarRow {
    pub name: Id,
    pub dtype: DType,
    pub min: f64,
    pub max: f64,
    pub default: f64,
    pub advance: Option<Id>,
}

#[derive(Serialize, Deserialize)]
pub struct ParamRow {
    pub name: Id,
    pub encoding: Encoding,
    pub shape: Vec<u64>,
    pub span: Id,
}

#[derive(Serialize, Deserialize)]
pub struct ConstantRow<'a> {
    pub encoding: Encoding,
    pub shape: Vec<u64>,
    #[serde(borrow)]
    pub data: &'a [u8],
    pub span: Id,
}

#[derive(Serialize, Deserialize)]
pub struct StateRow<'a> {
    pub name: Id,
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub capacity_axis: Option<u32>,
    #[serde(borrow)]
    pub init: InitRow<'a>,
    pub span: Id,
}

#[derive(Serialize, Deserialize)]
pub enum InitRow<'a> {
    Zeros,
    Param(u32),
    #[serde(borrow)]
    Data(&'a [u8]),
    Given,
}

#[derive(Serialize, Deserialize)]
pub struct EntryRow {
    pub name: Id,
    pub inputs: Range<u32>,
    pub outputs: Range<u32>,
    pub symbols: Vec<SymbolId>,
    pub advancing: Vec<ScalarId>,
}

#[derive(Serialize, Deserialize)]
pub struct IoRow {
    pub name: Id,
    pub dtype: DType,
    pub shape: Vec<Id>,
    pub span: Id,
}

#[derive(Serialize, Deserialize)]
pub struct StreamRow {
    pub param: u32,
    pub program: ProgramRow,
    pub room: Region,
}

#[derive(Serialize, Deserialize)]
pub struct ProgramRow {
    pub steps: Vec<StepRow>,
    pub levels: Vec<Level>,
    pub segments: Vec<Segment>,
    pub values: Vec<ValueRow>,
}

#[derive(Serialize, Deserialize)]
pub struct StepRow {
    pub kind: KindRow,
    pub uses: Vec<UseRow>,
    pub origin: Id,
    pub reason: Id,
    pub meaning: Id,
    pub inputs: Vec<(Id, u16)>,
    pub outputs: Vec<u16>,
    pub status: Option<u32>,
    pub cost: CostRow,
    /// Which extents decide, each with whether it is the second branch.
    pub when: Vec<(Id, bool)>,
}

#[derive(Serialize, Deserialize)]
pub struct CostRow {
    pub bytes: Id,
    pub flops: Id,
    pub precision: Precision,
}

#[derive(Serialize, Deserialize)]
pub enum KindRow {
    Dispatch(Id, Grid),
    Advance(Id),
    Host,
    Copy,
    Fill(u32),
}

#[derive(Serialize, Deserialize)]
pub struct UseRow {
    pub span: Id,
    pub access: Access,
    pub content: VersionId,
    pub view: Id,
}

#[derive(Serialize, Deserialize)]
pub struct ValueRow {
    pub name: Id,
    pub origin: VersionOrigin,
    pub encoding: Encoding,
    pub shape: Vec<Id>,
    pub span: Id,
    pub live: Option<(u32, u32)>,
}

#[derive(Serialize, Deserialize)]
pub struct RunRow {
    pub entry: u32,
    pub ranges: Vec<(u64, u64)>,
    pub words: Vec<WordRow>,
    pub advance: Vec<AdvanceOp>,
    pub found: Vec<FoundRow>,
    pub program: ProgramRow,
    pub checks: Vec<CheckRow>,
    pub outputs: Vec<VersionId>,
    pub states: Vec<VersionId>,
    pub stats: Stats,
}

/// A word of the frame.
#[derive(Serialize, Deserialize)]
pub enum WordRow {
    Bound(u32),
    Scalar(u32),
    Expr(Id),
    Temporary,
    Stopped,
    Replays,
}

#[derive(Serialize, Deserialize)]
pub struct CheckRow {
    pub value: Id,
    pub min: i64,
    pub max: i64,
    pub what: Id,
    pub sides: Option<[Id; 2]>,
}
