//! Regions and their slots: how bytes are handed out, how large a slot may be.

use crate::arena::{ArenaRequest, place};
use crate::error::CompileError;
use crate::options::Options;
use crate::unplaced::{BufferId, UnplacedProgram};
use pumice_plan::{Placement, Region, RegionKind, SLOT_ALIGNMENT, Span};
use pumice_types::{Bytes, DimExpr, SymbolTable, Target, Var};

/// Hands out bytes one slot after the other; no slot crosses a chunk border.
#[derive(Clone, Copy)]
pub struct Cursor {
    region: RegionKind,
    next: u64,
    chunk: u64,
    guard: u64,
}

impl Cursor {
    /// Nothing of the region is taken.
    pub fn new(region: RegionKind, target: &Target, guard: u64) -> Cursor {
        Cursor { region, next: 0, chunk: chunk_size(target), guard }
    }

    /// The next slot of so many bytes.
    pub fn take(&mut self, bytes: u64) -> Span {
        let request = [ArenaRequest { bytes, first: 0, last: 0 }];
        let rest = self.chunk - self.next % self.chunk;
        let size = place(&request, Placement::Bump, self.chunk, self.guard).size;
        if size > rest {
            self.next += rest;
        }
        let span = Span::new(self.region, Bytes(self.next), Bytes(bytes));
        self.next += size;
        span
    }

    /// Where the last slot ends.
    pub fn end(&self) -> u64 {
        self.next
    }
}

/// Size of the chunks of a region on that target.
pub fn chunk_size(target: &Target) -> u64 {
    (target.limits.max_allocation.0 / SLOT_ALIGNMENT).max(1) * SLOT_ALIGNMENT
}

/// A region of that many bytes in chunks of the target's size.
pub fn region(kind: RegionKind, size: u64, target: &Target) -> Region {
    let chunk = chunk_size(target);
    let mut chunks = vec![Bytes(chunk); (size / chunk) as usize];
    if !size.is_multiple_of(chunk) {
        chunks.push(Bytes((size % chunk).next_multiple_of(SLOT_ALIGNMENT)));
    }
    Region { kind, chunks }
}

/// Bytes of region `weights` that have no place yet.
pub fn unplaced(bytes: u64) -> Span {
    Span::new(RegionKind::Weights, Bytes::ZERO, Bytes(bytes))
}

/// A value as a slot that is too small for it is told: its name, and its symbols at their upper bounds.
pub struct Wanted {
    name: String,
    bounds: Vec<(String, u64)>,
}

impl Wanted {
    /// A value of that shape.
    pub fn of(name: &str, shape: &[DimExpr], symbols: &SymbolTable) -> Wanted {
        let mut bounds: Vec<(String, u64)> = Vec::new();
        let mut note = |v: Var| {
            let Var::Symbol(id) = v else { return };
            let Some(symbol) = symbols.get(id) else { return };
            if bounds.iter().all(|(name, _)| *name != symbol.name) {
                bounds.push((symbol.name.clone(), symbol.max));
            }
        };
        shape.iter().for_each(|extent| extent.visit_vars(&mut note));
        Wanted { name: name.to_owned(), bounds }
    }
}

/// A slot with its guard lies in one chunk.
///
/// # Errors
/// A slot that does not.
pub fn fits(
    bytes: u64,
    target: &Target,
    guard: u64,
    value: impl FnOnce() -> Wanted,
) -> Result<u64, CompileError> {
    let (needed, available) = (Bytes(bytes.saturating_add(guard)), Bytes(chunk_size(target)));
    if bytes == 0 || needed <= available {
        return Ok(bytes);
    }
    let (Wanted { name, bounds }, target) = (value(), target.name.clone());
    Err(CompileError::TooLarge { name, needed, bounds, available, target })
}

/// Refuses scratch buffers that no allocation holds.
pub fn check_buffers(
    unplaced: &UnplacedProgram,
    symbols: &SymbolTable,
    target: &Target,
    guard: u64,
) -> Result<(), CompileError> {
    for (i, b) in (0..).zip(&unplaced.buffers) {
        let shape = || unplaced.versions.iter().find(|c| c.buffer == BufferId(i)).map(|c| &*c.ty.shape);
        let value = || Wanted::of(unplaced.name_of(BufferId(i)), shape().unwrap_or(&[]), symbols);
        fits(b.bytes, target, guard, value)?;
    }
    Ok(())
}

/// Slots and their guards lie inside one allocation, so that no sum of them leaves 64 bits.
pub fn check_guard(options: &Options, target: &Target) -> Result<(), CompileError> {
    let (guard, most) = (options.guard_bytes, chunk_size(target) / 2);
    if guard <= most {
        return Ok(());
    }
    let what = format!(
        "guard_bytes is {guard}; half of the largest allocation of {}, {most}, is the most",
        target.name
    );
    Err(CompileError::Options(what))
}
