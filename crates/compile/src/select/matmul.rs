//! Which kernel a matrix product takes, and into how many parts its k is cut.
//!
//! In: extents and the target. Out: a [`ProductKernel`], a number of parts. Tiles, steps and needs are those of the declarations;
//! which is fastest where is the table's: a row of `matmul` names a kernel for a class of shapes, or says `cheapest`,
//! which is the tile of least time by the rows of `matmul.tile`. Rows of `matmul.parts` say when k is cut: `busy` as
//! little as keeps the compute units busy, `faster` where the tiles' times and the sum of the parts say so.

use super::rule::{Candidate, Reader, RowReader, Rule};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::matmul::{DECLS, MatmulF32, MatmulF32Columns, MatmulF32Dot, MatmulF32Lanes};
use pumice_types::{EncodingClass, ProductExtents, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["matmul", "matmul.tile", "matmul.parts"];
/// Extents; multiplications (`work`); whether neighbours of the right operand are neighbours along k, whether the parts
/// are added where they are read (1 or 0); how often groups of 8 x 32 or of 16 x 64 results fill all compute units,
/// rounded down.
const MEASURES: &[&str] =
    &["m", "n", "k", "batches", "work", "b_along_k", "merged", "groups_8x32", "groups_16x64"];

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// [`MatmulF32`].
    Tile,
    /// [`MatmulF32Lanes`].
    Lanes,
    /// [`MatmulF32Dot`].
    Dot,
    /// [`MatmulF32Columns`] with this many quads.
    Columns(u32),
}

/// The kernel form a product takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductKernel {
    /// Which kernel.
    pub class: Class,
    /// Which variant of it.
    pub variant: &'static str,
    /// Rows of the result a group makes.
    pub rows: u64,
    /// Columns of the result a group makes.
    pub columns: u64,
    /// Terms of k that one step takes; `k_tail` is 0 where k is a multiple of it.
    pub step: u64,
    /// Least k for `k_tail` 2.
    pub least_k: u64,
    /// Modes 1 and 3 lose to 0 and 2.
    pub scalar: bool,
}

/// A choice with its declaration.
#[derive(Clone, Copy, Debug)]
struct Entry {
    candidate: Candidate,
    choice: ProductKernel,
}

/// A tile with its times in microseconds: of a step of 16 terms of k for one group that has a compute unit to itself, and
/// for each of many.
#[derive(Clone, Copy, Debug)]
struct Tile {
    entry: Entry,
    alone: f64,
    crowded: f64,
}

#[derive(Clone, Copy, Debug)]
enum Take {
    Entry(Entry),
    Cheapest,
}

#[derive(Clone, Copy, Debug)]
enum Cutting {
    /// The fewest parts whose groups, of one row and so many columns of the result, are so many for each compute unit; no
    /// part has fewer terms. Below `least_k_apart` a sum that is a step of its own costs what it saves.
    Busy { columns: u64, groups_per_unit: u64, terms: u64, least_k_apart: u64 },
    /// More parts where that takes less than this share of the time; no part has fewer terms. A sum that is a step of its
    /// own takes a level and `sum_us`.
    Faster { terms: u64, share: f64, sum_us: f64 },
}

/// Rules of products.
#[derive(Clone, Debug)]
pub struct Rules {
    take: Vec<Rule<Take>>,
    tiles: Vec<Rule<Tile>>,
    parts: Vec<Rule<Cutting>>,
}

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let tiles = reader.rules("matmul.tile", MEASURES, |row| {
            let [alone, crowded, scalar] = row.figures(["alone_us", "crowded_us", "scalar"])?;
            let mut entry =
                Entry::of(row.candidate(DECLS)?, 0).ok_or_else(|| row.mistake("it is no tile"))?;
            entry.choice.scalar = scalar != 0.0;
            match entry.choice.class {
                Class::Tile => Ok(Tile { entry, alone, crowded }),
                _ => Err(row.mistake("it is no tile")),
            }
        })?;
        let take = reader.some_rules("matmul", MEASURES, |row| match row.take() {
            "cheapest" if tiles.is_empty() => Err(row.mistake("there is no row of matmul.tile")),
            "cheapest" => row.counts([]).map(|[]| Take::Cheapest),
            _ => read_entry(row).map(Take::Entry),
        })?;
        let parts = reader.rules("matmul.parts", MEASURES, read_cutting)?;
        if tiles.is_empty() && parts.iter().any(|r| matches!(r.take, Cutting::Faster { .. })) {
            return Err("matmul.parts, faster: there is no row of matmul.tile".into());
        }
        Ok(Rules { take, tiles, parts })
    }

    /// The form for a product on a target: the fastest, or one whose loops end by themselves where those of the fastest
    /// would be ended by the driver.
    pub fn choose(&self, product: &ProductExtents, target: &Target) -> ProductKernel {
        let p = at_least_one(product);
        let best = self.fastest(&p, target);
        let ends = |e: &Entry| e.ends(target, p.k);
        if ends(&best) {
            return best.choice;
        }
        shared_k(&p).into_iter().find(ends).unwrap_or(best).choice
    }

    /// The tile of least time; none where the table has no tiles.
    pub fn tile(&self, product: &ProductExtents, target: &Target) -> Option<ProductKernel> {
        self.cheapest(&at_least_one(product), target).map(|(_, entry)| entry.choice)
    }

    fn fastest(&self, p: &ProductExtents, target: &Target) -> Entry {
        let (measures, encoding) = (measures(p, false, target), encoding(p));
        let holding = self.take.iter().filter(|r| r.holds(&measures, encoding));
        let mut taken = holding.filter_map(|r| match r.take {
            Take::Entry(entry) => entry.takes(p, target).then_some(entry),
            Take::Cheapest => self.cheapest(p, target).map(|(_, entry)| entry),
        });
        taken.next().unwrap_or_else(plainest)
    }

    /// The tile of least time, with that time in microseconds besides what every product takes.
    fn cheapest(&self, p: &ProductExtents, target: &Target) -> Option<(f64, Entry)> {
        let units = u64::from(target.tuning.compute_units.max(1));
        let (measures, encoding) = (measures(p, false, target), encoding(p));
        let tiles = self.tiles.iter().filter(|r| r.holds(&measures, encoding)).map(|r| r.take);
        let timed = tiles.filter(|tile| tile.entry.takes(p, target)).map(|tile| {
            let ProductKernel { rows, columns, .. } = tile.entry.choice;
            let groups = p.m.div_ceil(rows).saturating_mul(p.n.div_ceil(columns)).saturating_mul(p.batches);
            let waves = groups.div_ceil(units) as f64;
            let step = if waves > 1.0 { tile.alone.max(waves * tile.crowded) } else { tile.alone };
            let mut entry = tile.entry;
            entry.choice.scalar &= p.b_words;
            (p.k.div_ceil(16) as f64 * step, entry)
        });
        // The first of those that take equally long.
        timed.fold(None, |best, next| match best {
            Some((time, _)) if time <= next.0 => best,
            _ => Some(next),
        })
    }

    /// Into which of these numbers of parts the k of a product is best cut (split-K): the parts are as many products side
    /// by side, added where they are read (`merged`) or by a step of its own. `allowed` ascends, begins with 1 and divides
    /// k.
    pub fn parts(&self, product: &ProductExtents, allowed: &[u64], merged: bool, target: &Target) -> u64 {
        let p = at_least_one(product);
        let (measures, encoding) = (measures(&p, merged, target), encoding(&p));
        let Some(rule) = self.parts.iter().find(|r| r.holds(&measures, encoding)) else { return 1 };
        match rule.take {
            Cutting::Busy { columns, groups_per_unit, terms, least_k_apart } => {
                if !merged && p.k < least_k_apart {
                    return 1;
                }
                let units = u64::from(target.tuning.compute_units.max(1));
                let groups = p.batches.saturating_mul(p.n.div_ceil(columns));
                let enough = |s: &u64| *s == 1 || p.k >= terms.saturating_mul(*s);
                let mut worth = allowed.iter().copied().filter(enough);
                let busy = |s: &u64| groups.saturating_mul(*s) >= groups_per_unit.saturating_mul(units);
                worth.clone().find(busy).or(worth.next_back()).unwrap_or(1)
            }
            Cutting::Faster { terms, share, sum_us } => {
                let sum_us = if merged { 0.0 } else { target.tuning.level_us + sum_us };
                let time = |s: u64| self.time_in_parts(&p, s, sum_us, target);
                let fewer = |best: u64, s: u64| if time(s) < share * time(best) { s } else { best };
                allowed.iter().copied().filter(|s| p.k >= terms.saturating_mul(*s)).fold(1, fewer)
            }
        }
    }

    /// Microseconds of a product cut into parts, with their bytes and sum.
    fn time_in_parts(&self, p: &ProductExtents, s: u64, sum_us: f64, target: &Target) -> f64 {
        let part = ProductExtents { k: p.k / s.max(1), batches: p.batches.saturating_mul(s), ..*p };
        let results = p.m.saturating_mul(p.n).saturating_mul(p.batches) as f64;
        let bytes = 4.0 * results * 2.0 * (s - 1) as f64 / target.tuning.bytes_per_us;
        let tile = self.cheapest(&part, target).map_or(f64::INFINITY, |(time, _)| time);
        tile + bytes + if s == 1 { 0.0 } else { sum_us }
    }
}

fn read_entry(row: &RowReader<'_>) -> Result<Entry, String> {
    let candidate = row.candidate(DECLS)?;
    let quads = if candidate.decl.name == MatmulF32Columns::DECL.name {
        let [quads] = row.counts(["quads"])?;
        if !quads.is_power_of_two() || quads > 128 {
            return Err(row.mistake("quads are a power of two up to 128"));
        }
        quads as u32
    } else {
        row.counts([]).map(|[]| 0)?
    };
    Entry::of(candidate, quads).ok_or_else(|| row.mistake("it makes no product"))
}

fn read_cutting(row: &RowReader<'_>) -> Result<Cutting, String> {
    match row.take() {
        "busy" => {
            let [columns, groups_per_unit, terms, least_k_apart] =
                row.counts(["columns", "groups_per_unit", "terms", "least_k_apart"])?;
            if columns == 0 {
                return Err(row.mistake("a group has a column at least"));
            }
            Ok(Cutting::Busy { columns, groups_per_unit, terms, least_k_apart })
        }
        "faster" => {
            let [terms, share, sum_us] = row.figures(["terms", "share", "sum_us"])?;
            Ok(Cutting::Faster { terms: row.count("terms", terms)?, share, sum_us })
        }
        _ => Err(row.mistake("the rules are `busy` and `faster`")),
    }
}

fn at_least_one(p: &ProductExtents) -> ProductExtents {
    ProductExtents { m: p.m.max(1), n: p.n.max(1), batches: p.batches.max(1), ..*p }
}

fn encoding(p: &ProductExtents) -> EncodingClass {
    match (p.b_words, p.b_blocks) {
        (true, _) => EncodingClass::F32,
        (false, false) => EncodingClass::Half,
        (false, true) => EncodingClass::Blocks,
    }
}

fn measures(p: &ProductExtents, merged: bool, target: &Target) -> [u64; 9] {
    let units = u64::from(target.tuning.compute_units.max(1));
    let groups = |rows: u64, columns: u64| {
        p.m.div_ceil(rows).saturating_mul(p.n.div_ceil(columns)).saturating_mul(p.batches) / units
    };
    let work = p.m.saturating_mul(p.n).saturating_mul(p.batches).saturating_mul(p.k.max(1));
    let (along, merged) = (p.b_along_k.into(), merged.into());
    [p.m, p.n, p.k, p.batches, work, along, merged, groups(8, 32), groups(16, 64)]
}

impl Entry {
    /// What the declaration says of a candidate; none where it is of another family.
    fn of(candidate: Candidate, quads: u32) -> Option<Entry> {
        let define = |name: &str| candidate.define(name);
        let name = candidate.decl.name;
        let (class, rows, columns, step, least_k) = if name == MatmulF32::DECL.name {
            (Class::Tile, define("BM")?, define("BN")?, define("BK")? * define("SK")?, define("BK")?)
        } else if name == MatmulF32Lanes::DECL.name {
            (Class::Lanes, define("MR")?, 32 * define("NQ")?, 1, 0)
        } else if name == MatmulF32Dot::DECL.name {
            (Class::Dot, define("MM")?, 4 * define("NQ")?, 4, 0)
        } else if name == MatmulF32Columns::DECL.name {
            (Class::Columns(quads), define("MM")?, 4 * u64::from(quads), 4, 0)
        } else {
            return None;
        };
        let variant = candidate.variant.name;
        Some(Entry {
            candidate,
            choice: ProductKernel { class, variant, rows, columns, step, least_k, scalar: false },
        })
    }

    /// Whether the kernel reads such operands on the target at all. What lies in blocks lies along k, where column sums do
    /// not read it.
    fn takes(&self, p: &ProductExtents, target: &Target) -> bool {
        let reads = !p.b_blocks || self.candidate.variant.reads_blocks();
        let can = match self.choice.class {
            Class::Tile | Class::Lanes => true,
            Class::Dot => p.b_along_k,
            Class::Columns(_) => !p.b_blocks,
        };
        reads && can && self.candidate.runs_on(target)
    }

    fn ends(&self, target: &Target, k: u64) -> bool {
        match self.choice.class {
            Class::Columns(quads) => self.candidate.ends(target, &[("k", k), ("quads", quads.into())]),
            _ => self.candidate.ends(target, &[("k", k)]),
        }
    }
}

/// A candidate of this family by its declaration.
fn named(decl: &KernelDecl, variant: &str, quads: u32) -> Option<Entry> {
    let decl = DECLS.iter().find(|d| d.name == decl.name)?;
    Entry::of(Candidate { decl, variant: decl.variant(variant)? }, quads)
}

/// What makes any product on any device.
fn plainest() -> Entry {
    named(&MatmulF32::DECL, MatmulF32::plain, 0).expect("the family has a plain tile")
}

/// Forms that share k among the threads of a group, from those that share it least.
fn shared_k(p: &ProductExtents) -> Vec<Entry> {
    let at = match p.m {
        1 => 0,
        2..=4 => 1,
        _ => 2,
    };
    let words = [MatmulF32Dot::plain, MatmulF32Dot::plain_m4, MatmulF32Dot::plain_m8];
    let native = [MatmulF32Dot::native, MatmulF32Dot::native_m4, MatmulF32Dot::native_m8];
    let dot = if p.b_blocks { native } else { words }[at];
    let along_k = p.b_along_k.then(|| named(&MatmulF32Dot::DECL, dot, 0)).flatten();
    let columns = [MatmulF32Columns::plain, MatmulF32Columns::plain_m4, MatmulF32Columns::plain_m8][at];
    let quads = if p.b_blocks { [].as_slice() } else { &[8, 4, 2, 1] };
    let quads = quads.iter().filter_map(|&q| named(&MatmulF32Columns::DECL, columns, q));
    along_k.into_iter().chain(quads).collect()
}

#[cfg(test)]
mod tests;
