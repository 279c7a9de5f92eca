//! A step while a lowering puts it together.
//!
//! In: operands and results as they lie; inputs of the meaning by name, outputs in the order of the meaning's. Out: an
//! unplaced step with its cost.

use crate::cost;
use crate::cx::{LowerCx, LowerResult, Refusal, node_meaning};
use crate::hole::Filled;
use crate::meaning::{StepMeaning, operand};
use crate::unplaced::{PlacedView, UnplacedStep, UnplacedUse, UnplacedVersion};
use pumice_ir::NodeId;
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, KernelCall, UseIndex, Words};
use pumice_plan::{Access, Cost, FrameWord, Grid, Meaning, StepKind, View};
use pumice_types::{DimExpr, Precision};
use smallvec::SmallVec;
use std::sync::Arc;

/// A step under construction.
pub struct StepBuilder {
    uses: Vec<UnplacedUse>,
    inputs: Vec<(Arc<str>, u16)>,
    outputs: SmallVec<[u16; 8]>,
    status: Option<u32>,
    flops: DimExpr,
    precision: Precision,
    /// Uses of which not all elements are read, with how many are.
    read_parts: SmallVec<[(u16, DimExpr); 2]>,
}

impl StepBuilder {
    /// An empty step.
    pub fn new() -> StepBuilder {
        StepBuilder {
            uses: Vec::new(),
            inputs: Vec::new(),
            outputs: SmallVec::new(),
            status: None,
            flops: DimExpr::constant(0),
            precision: Precision::Exact,
            read_parts: SmallVec::new(),
        }
    }

    /// A use that the meaning does not mention.
    pub fn touch(&mut self, at: &PlacedView, access: Access) -> Bound {
        self.uses.push(UnplacedUse { version: at.version, part: at.part, access, view: at.view.clone() });
        Bound::new(UseIndex(self.uses.len() as u16 - 1), &at.view)
    }

    /// A use that is operand `k` of the node, by which name its meaning knows it.
    pub fn read(&mut self, k: usize, at: &PlacedView) -> Bound {
        let bound = self.touch(at, Access::ShaderRead);
        self.input(operand(k), &bound);
        bound
    }

    /// A use is the input of the meaning that has this name.
    pub fn input(&mut self, name: Arc<str>, bound: &Bound) {
        self.inputs.push((name, bound.at().0));
    }

    /// The next output of the meaning.
    pub fn write(&mut self, at: &PlacedView) -> Bound {
        let bound = self.touch(at, Access::ShaderWrite);
        self.wrote(&bound);
        bound
    }

    /// The next output of the meaning is a use that is already there.
    pub fn wrote(&mut self, bound: &Bound) {
        self.outputs.push(bound.at().0);
    }

    /// The next output of the meaning, written by the host.
    pub fn write_host(&mut self, at: &PlacedView) {
        let bound = self.touch(at, Access::HostWrite);
        self.wrote(&bound);
    }

    /// Binds the slots of a hole and the kernel's own result, and names what the meaning reads and leaves: the
    /// operands, then what the hole reads. `along` gives the strides of a slot by its number and its view.
    ///
    /// # Errors
    /// Those of `along`.
    pub fn through(
        &mut self,
        hole: &Filled,
        operands: &[&Bound],
        y: &PlacedView,
        names: &[(Arc<str>, usize)],
        along: impl Fn(usize, &View) -> LowerResult<Vec<DimExpr>>,
    ) -> LowerResult<(Bound, Vec<Bound>)> {
        let slots = self.slots(hole, along)?;
        let reads: Vec<&Bound> = operands.iter().copied().chain(&slots).collect();
        names.iter().for_each(|(name, i)| self.input(Arc::clone(name), reads[*i]));
        let own = self.write(y);
        slots[hole.operands..].iter().for_each(|bound| self.wrote(bound));
        Ok((own, slots))
    }

    /// Binds what a hole reads, then what it stores.
    fn slots(
        &mut self,
        hole: &Filled,
        along: impl Fn(usize, &View) -> LowerResult<Vec<DimExpr>>,
    ) -> LowerResult<Vec<Bound>> {
        let bind = |(i, at): (usize, &PlacedView)| {
            let access = if i < hole.operands { Access::ShaderRead } else { Access::ShaderWrite };
            Ok(self.touch(at, access).along(along(i, &at.view)?))
        };
        hole.slots.iter().enumerate().map(bind).collect()
    }

    /// The status block, for the op of that number.
    pub fn status(&mut self, cx: &LowerCx<'_>, op: u32) -> Bound {
        self.status = Some(op);
        let at = cx.status();
        self.touch(&at, Access::StatusAtomic)
    }

    /// The status block as an operand that the kernel will not touch.
    pub fn status_unused(&mut self, cx: &LowerCx<'_>) -> Bound {
        let at = cx.status();
        self.touch(&at, Access::StatusAtomic)
    }

    /// Arithmetic of matrix products, and in what it is done.
    pub fn flops(&mut self, flops: DimExpr, precision: Precision) {
        (self.flops, self.precision) = (flops, precision);
    }

    /// Of a use only so many elements are read.
    pub fn reads_only(&mut self, bound: &Bound, elements: DimExpr) {
        self.read_parts.push((bound.at().0, elements));
    }

    /// As [`StepBuilder::dispatch`] with so many groups, for a node whose step reads every operand.
    ///
    /// # Errors
    /// As [`StepBuilder::dispatch`]; more groups than a grid has.
    pub fn dispatch_node(
        self,
        cx: &mut LowerCx<'_>,
        id: NodeId,
        call: CallBuilder,
        groups: &DimExpr,
    ) -> LowerResult {
        let grid = cx.grid(groups)?;
        let meaning = node_meaning(cx, id)?;
        self.dispatch(cx, call, grid, meaning)
    }

    /// The finished kernel step. The frame is a use where an argument or the grid lies in it.
    ///
    /// # Errors
    /// A call that does not fit the declaration of its kernel; see [`StepBuilder::finish`].
    pub fn dispatch(
        mut self,
        cx: &mut LowerCx<'_>,
        call: CallBuilder,
        grid: Grid,
        meaning: StepMeaning,
    ) -> LowerResult {
        let call = call.resolve(cx).map_err(|e| Refusal(e.to_string()))?;
        self.touch_words(cx, &call, &grid);
        self.finish(cx, StepKind::Dispatch { call, grid }, meaning)
    }

    /// Uses of the frame: of the words that the host writes, and of each row of found ones.
    fn touch_words(&mut self, cx: &LowerCx<'_>, call: &KernelCall, grid: &Grid) {
        let args = call.args.iter().filter_map(|a| match a {
            ArgValue::Frame(word) => Some((FrameWord(*word), Access::ShaderRead)),
            ArgValue::U32(_) => None,
        });
        let grid = match grid {
            Grid::Frame { word, .. } => Some((*word, Access::IndirectRead)),
            Grid::Static(_) => None,
        };
        let mut words: SmallVec<[(UnplacedVersion, Access); 2]> = SmallVec::new();
        for (word, access) in args.chain(grid) {
            let version = cx.version_of_word(word);
            if !words.contains(&(version, access)) {
                words.push((version, access));
                self.touch(&PlacedView { version, ..cx.frame_words() }, access);
            }
        }
    }

    /// The finished step of any kind.
    ///
    /// # Errors
    /// Inputs of the meaning that are not bound once, names or results that it does not have.
    pub fn finish(self, cx: &mut LowerCx<'_>, kind: StepKind, meaning: StepMeaning) -> LowerResult {
        let inputs = meaning.uses(&self.inputs)?;
        if self.outputs.len() != meaning.outputs {
            return Err(format!("{} results, its meaning has {}", self.outputs.len(), meaning.outputs).into());
        }
        let cost = Cost { bytes: self.bytes(cx), flops: self.flops.clone(), precision: self.precision };
        let meaning = Meaning { graph: meaning.graph, inputs, outputs: self.outputs, status: self.status };
        let mut uses = self.uses;
        uses.shrink_to_fit();
        let origin = cx.origin();
        let (reason, when, waits) = (String::new(), cx.when(), cx.waits_of(&uses));
        cx.push(UnplacedStep { kind, uses, origin, reason, waits, meaning, cost, when, counted: None });
        Ok(())
    }

    /// Unique bytes that are read, and those that are written.
    fn bytes(&self, cx: &LowerCx<'_>) -> DimExpr {
        let symbols = cx.graph.symbols();
        let mut seen: Vec<UnplacedVersion> = Vec::new();
        let mut bytes = DimExpr::constant(0);
        for (at, u) in (0u16..).zip(&self.uses) {
            let counted =
                matches!(u.access, Access::ShaderRead | Access::ShaderWrite | Access::TransferWrite);
            if !counted || (!u.access.writes() && seen.contains(&u.version)) {
                continue;
            }
            seen.push(u.version);
            let part = self.read_parts.iter().find(|(of, _)| *of == at).map(|(_, elements)| elements);
            let elements = part.cloned().unwrap_or_else(|| cost::product(&u.view.shape, symbols));
            let unit = u.view.storage.unit(u.view.dtype);
            let of_use = elements.ceil_div(&unit.elements.into()) * unit.bytes;
            bytes = cost::sum(&bytes, &of_use, symbols);
        }
        bytes
    }
}

impl Words for LowerCx<'_> {
    fn word(&mut self, expr: &DimExpr) -> Option<ArgValue> {
        Some(self.arg(expr))
    }
}

impl Default for StepBuilder {
    fn default() -> StepBuilder {
        StepBuilder::new()
    }
}
