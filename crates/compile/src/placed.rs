//! Programs with places: the load program, streams and runs, and the regions that they need.
//!
//! In: what lowering made, the load steps in their groups. Out: everything of a plan that has bytes. Never here: which
//! steps there are.

use crate::error::CompileError;
use crate::interface::Interface;
use crate::layout::region;
use crate::load::DerivedOf;
use crate::lowered::{Lowered, LoweredRange};
use crate::memory::{self, Needed};
use crate::options::Options;
use crate::program::{self, PlaceCx, PlacedProgram};
use crate::residence::{self, Group, LoadGroups, UnplacedLoad};
use crate::weights::Weights;
use crate::{hazard, stats, unplaced};
use pumice_plan::kernel::status::block_words;
use pumice_plan::{
    ConstantSlot, JoinedParams, ParamSlot, Program, Region, RegionKind, Run, Span, Stats, Stream, VersionId,
    VersionOrigin,
};
use pumice_types::{Bytes, SymbolTable, Target};
use std::collections::BTreeSet;

/// Everything that has a place.
pub struct Placed {
    /// Params.
    pub params: Vec<ParamSlot>,
    /// Params that lie side by side.
    pub joined: Vec<JoinedParams>,
    /// Constants.
    pub constants: Vec<ConstantSlot>,
    /// The load program.
    pub load: Program,
    /// What streamed params pass through.
    pub streams: Vec<Stream>,
    /// The runs.
    pub runs: Vec<Run>,
    /// The regions.
    pub regions: Vec<Region>,
}

/// What placing is for.
pub struct Placing<'a> {
    /// The interface.
    pub interface: &'a Interface,
    /// What for.
    pub target: &'a Target,
    /// The options.
    pub options: &'a Options,
}

impl Placing<'_> {
    /// Places weights, then programs.
    ///
    /// # Errors
    /// A stream that needs more memory than there is. What runs need is not judged here.
    pub fn place(
        &self,
        lowered: Lowered,
        LoadGroups { loads, groups }: LoadGroups,
    ) -> Result<Placed, CompileError> {
        let streamed: BTreeSet<u32> = groups.iter().map(|g| g.param).collect();
        let (is_streamed, device) = (|p| streamed.contains(&p), (self.target, self.options.guard_bytes));
        let weights =
            Weights::place(self.interface, is_streamed, &lowered.constants, loads.derived(), device);
        let (rest, cut) = residence::cut(loads.unplaced, &groups, &weights.derived);
        let (load, scratch) = self.load_program(&weights, rest)?;
        let streams = groups.iter().zip(cut).map(|(group, load)| self.stream(&weights, group, load));
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let status = 4 * block_words(lowered.status_ops.len() as u64);
        let mut sizes = Sizes { status, scratch, ..Sizes::default() };
        let runs = lowered.ranges.into_iter().zip(loads.of_runs);
        let runs = runs.map(|(range, derived)| self.run(range, &derived, &weights, &mut sizes));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        let passed = self.passed(&weights, &streams)?;
        Ok(Placed {
            params: weights.params(self.interface, &streams, &passed),
            joined: weights.joined(self.interface),
            constants: weights.constants(lowered.constants),
            load,
            streams,
            runs,
            regions: self.regions(&weights, &sizes),
        })
    }

    fn cx<'c>(&'c self, weights: &'c Weights, derived: &'c [Option<Span>], words: [u64; 2]) -> PlaceCx<'c> {
        let ([frame_bytes, status_bytes], Placing { interface, target, options }) = (words, self);
        PlaceCx { interface, weights, derived, frame_bytes, found: &[], status_bytes, target, options }
    }

    /// The load program, or part of it, and how much scratch it needs.
    fn load_program(&self, weights: &Weights, load: UnplacedLoad) -> Result<(Program, u64), CompileError> {
        let cx = self.cx(weights, &load.derived, [0, 4]);
        let placed = program::place(load.unplaced, &mut self.interface.io.clone(), &cx)?;
        Ok((placed.program, placed.scratch))
    }

    fn stream(&self, weights: &Weights, group: &Group, load: UnplacedLoad) -> Result<Stream, CompileError> {
        let (program, scratch) = self.load_program(weights, load)?;
        Ok(Stream { param: group.param, program, room: region(RegionKind::Scratch, scratch, self.target) })
    }

    fn run(
        &self,
        range: LoweredRange,
        derived: &DerivedOf,
        weights: &Weights,
        sizes: &mut Sizes,
    ) -> Result<Run, CompileError> {
        let derived: Vec<Option<Span>> = derived.iter().map(|b| b.and_then(|b| weights.derived[b])).collect();
        let frame_bytes = 4 * range.frame.len_words().max(1);
        let found = &range.frame.found;
        let cx = PlaceCx { found, ..self.cx(weights, &derived, [frame_bytes, sizes.status]) };
        let mut io = self.interface.io;
        let ids = |list: &[unplaced::UnplacedVersion]| list.iter().map(|c| VersionId(c.0)).collect();
        let (outputs, states) = (ids(&range.unplaced.outputs), ids(&range.unplaced.states));
        let placed = program::place(range.unplaced, &mut io, &cx)?;
        sizes.scratch = sizes.scratch.max(placed.scratch);
        sizes.io_in = sizes.io_in.max(io.input.end());
        sizes.io_out = sizes.io_out.max(io.output.end());
        sizes.frame = sizes.frame.max(frame_bytes);
        let stats = self.stats(&placed, &range.symbols);
        let ranges = range.symbols.iter().map(|(_, s)| (s.min, s.max)).collect();
        let PlacedProgram { program, .. } = placed;
        Ok(Run {
            entry: range.entry,
            ranges,
            frame: range.frame,
            program,
            checks: range.checks,
            outputs,
            states,
            stats,
        })
    }

    fn stats(&self, placed: &PlacedProgram, symbols: &SymbolTable) -> Stats {
        let program = &placed.program;
        Stats {
            steps: program.steps.len() as u32,
            levels: program.levels.len() as u32,
            barriers: hazard::count(&program.levels),
            barriers_unlimited: placed.barriers_unlimited,
            scratch: Bytes(placed.scratch),
            scratch_lower_bound: Bytes(placed.scratch_lower_bound),
            scratch_earliest: Bytes(placed.scratch_earliest),
            floor: stats::floor(program, symbols, self.target),
            layers: stats::layers(program),
            again: None,
        }
    }

    /// Weights fit with the scratch of each stream. The result says where in that scratch params lie.
    fn passed(&self, weights: &Weights, streams: &[Stream]) -> Result<Vec<Span>, CompileError> {
        let passed = streams.iter().map(|stream| {
            memory::fits(
                self.options,
                self.target,
                Needed {
                    weights: weights.bytes,
                    states: self.interface.states_bytes,
                    scratch: stream.room.size().0,
                    besides: 0,
                },
            )?;
            let origin = VersionOrigin::Param(stream.param);
            let value = stream.program.values.iter().find(|v| v.origin == origin);
            value
                .map(|v| v.span)
                .ok_or_else(|| CompileError::Defect("a stream does not read its param".into()))
        });
        passed.collect()
    }

    fn regions(&self, weights: &Weights, sizes: &Sizes) -> Vec<Region> {
        let size = |kind| match kind {
            RegionKind::Weights => weights.bytes,
            RegionKind::States => self.interface.states_bytes,
            RegionKind::Scratch => sizes.scratch,
            RegionKind::IoIn => sizes.io_in,
            RegionKind::IoOut => sizes.io_out,
            RegionKind::Frame => sizes.frame,
            RegionKind::Status => sizes.status,
        };
        RegionKind::ALL.iter().map(|&kind| region(kind, size(kind), self.target)).collect()
    }
}

/// Region sizes that the runs decide: the largest of any. The status block has room for every name.
#[derive(Default)]
struct Sizes {
    scratch: u64,
    io_in: u64,
    io_out: u64,
    frame: u64,
    status: u64,
}
