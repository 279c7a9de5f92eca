//! Which kernel a matrix product takes, and into how many parts its k is cut.
//!
//! In: extents and the target. Out: a [`Choice`], a number of parts. Tiles, steps and needs are those of the
//! declarations; which is fastest where is the table's: a row of `matmul` names a kernel for a class of shapes, or
//! says `cheapest`, which is the tile of least time by the rows of `matmul.tile`. Rows of `matmul.parts` say when k
//! is cut: `busy` as little as keeps the compute units busy, `faster` where the tiles' times and the sum of the parts
//! say so.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Row, Shape};
use super::read::{Figure, Reader, count, number, upto};
use pumice_plan::kernel::{KernelDecl, Roles};
use pumice_plan::kernels::matmul::DECLS;
use pumice_types::{EncodingClass, ProductExtents, Target};

/// Extents; multiplications (`work`); whether neighbours of the right operand are neighbours along k, whether the parts
/// are added where they are read (1 or 0); how often groups of 8 x 32 or of 16 x 64 results fill all compute units,
/// rounded down.
const MEASURES: &[&str] =
    &["m", "n", "k", "batches", "work", "b_along_k", "merged", "groups_8x32", "groups_16x64"];
/// The tile of least time.
const CHEAPEST: &str = "cheapest";
/// The fewest parts whose groups, of one row and so many columns of the result, are so many for each compute unit; no
/// part has fewer terms. Below `least_k_apart` a sum that is a step of its own costs what it saves.
const BUSY: (&str, &[Figure]) = (
    "busy",
    &[upto("columns", u32::MAX as u64), count("groups_per_unit"), count("terms"), count("least_k_apart")],
);
/// More parts where that takes less than this share of the time; no part has fewer terms. A sum that is a step of its
/// own takes the time of so many levels.
const FASTER: (&str, &[Figure]) = ("faster", &[count("terms"), number("share"), number("levels")]);

/// Which kernel a product takes.
pub const PRODUCT: &FamilyDecl = &FamilyDecl {
    kernels: DECLS,
    rules: &[(CHEAPEST, &[])],
    // Those that share k among the threads of a group, from those that share it least; and what makes any product.
    last: &[
        ("matmul_f32_dot", &[]),
        ("matmul_f32_columns", &[8.0]),
        ("matmul_f32_columns", &[4.0]),
        ("matmul_f32_columns", &[2.0]),
        ("matmul_f32_columns", &[1.0]),
        ("matmul_f32.plain", &[]),
        ("matmul_codes.plain", &[]),
    ],
    fits: Some(("m", |roles| roles.rows)),
    ..FamilyDecl::new("matmul", MEASURES)
};
/// What `cheapest` compares: the time of a tile for one group that has a compute unit to itself, and for each of
/// many, as a multiple of what the device's rate of f32 products makes of it; whether words are better read one by
/// one.
pub const TILE: &FamilyDecl = &FamilyDecl {
    kernels: DECLS,
    figures: &[number("alone"), number("crowded"), number(SCALAR)],
    optional: true,
    ..FamilyDecl::new("matmul.tile", MEASURES)
};
/// When k is cut.
pub const PARTS: &FamilyDecl =
    &FamilyDecl { rules: &[BUSY, FASTER], optional: true, ..FamilyDecl::new("matmul.parts", MEASURES) };
/// When a right operand in blocks is decoded by a step of its own, whose values the product reads.
pub const DECODED: &FamilyDecl =
    &FamilyDecl { rules: &[("before", &[])], optional: true, ..FamilyDecl::new("matmul.decoded", MEASURES) };

/// What a choice says of words: 1 where modes 1 and 3 lose to 0 and 2.
pub const SCALAR: &str = "scalar";

/// Rules of products.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) product: Family,
    pub(super) tiles: Family,
    pub(super) parts: Family,
    pub(super) decoded: Family,
}

impl Rules {
    /// What a table says of products.
    pub(super) fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let [product, tiles, parts, decoded] =
            [PRODUCT, TILE, PARTS, DECODED].map(|decl| reader.family(decl));
        Rules { product: product?, tiles: tiles?, parts: parts?, decoded: decoded? }.sound()
    }

    /// The same, if a row that compares tiles has tiles to compare.
    fn sound(self) -> Result<Rules, String> {
        let compares = |family: &Family, rule| family.says(rule).then_some(rule);
        let compared = compares(&self.product, CHEAPEST).or(compares(&self.parts, FASTER.0));
        match compared {
            Some(rule) if self.tiles.is_empty() => Err(format!("{rule}: there is no row of matmul.tile")),
            _ => Ok(self),
        }
    }

    /// Whether some right operand may be decoded before.
    pub fn decodes(&self) -> bool {
        !self.decoded.is_empty()
    }

    /// The same rules, by which right operands are read in their blocks.
    pub fn without_decoding(mut self) -> Rules {
        self.decoded.rows.clear();
        self.decoded.last.clear();
        self
    }

    /// Whether a right operand in blocks is decoded before.
    pub fn decodes_before(&self, product: &ProductExtents, target: &Target) -> bool {
        self.decoded.holds(&shape(&at_least_one(product), false, target))
    }

    /// The kernel for a product on a target: the fastest, or one whose loops end by themselves where those of the
    /// fastest would be ended by the driver.
    pub fn choose(&self, product: &ProductExtents, target: &Target) -> Option<Choice> {
        let p = at_least_one(product);
        let shape = shape(&p, false, target);
        self.product.choose_by(&shape, |row| {
            if row.says(CHEAPEST) {
                return self.cheapest(&p, target, |tile| Some((p.k, tile))).map(|(_, tile)| tile);
            }
            self.product.choice(row, &shape)
        })
    }

    /// Of the tiles that a kernel has as well, that of least time, as a choice of that kernel; none where the table has
    /// no such tiles. `terms` says how many terms a sum has by a tile of such roles, with those that fill its steps.
    pub fn tile(
        &self,
        product: &ProductExtents,
        target: &Target,
        decl: &'static KernelDecl,
        terms: impl Fn(&Roles) -> u64,
    ) -> Option<Choice> {
        let taken = |tile: Choice| Some((terms(&tile.roles), tile.twin(decl)?));
        self.cheapest(&at_least_one(product), target, taken).map(|(_, tile)| tile)
    }

    /// The tile of least time among those that can be taken, with that time in microseconds besides what every product
    /// takes. Of a tile, `taken` gives the terms of a sum and the choice that it becomes.
    fn cheapest(
        &self,
        p: &ProductExtents,
        target: &Target,
        taken: impl Fn(Choice) -> Option<(u64, Choice)>,
    ) -> Option<(f64, Choice)> {
        let shape = shape(p, false, target);
        let timed = self.tiles.holding(&shape).filter_map(|row| {
            let tile = self.tiles.choice(row, &shape).filter(|tile| self.tiles.takes(tile, &shape))?;
            let (k, tile) = taken(tile)?;
            let [.., scalar] = row.figures::<3>();
            let scalar = scalar != 0.0 && p.b_stored == EncodingClass::F32;
            let time = time(&tile, row, &ProductExtents { k, ..*p }, target);
            Some((time, tile.with(SCALAR, scalar.into())))
        });
        // The first of those that take equally long.
        timed.fold(None, |best, next| match best {
            Some((time, _)) if time <= next.0 => best,
            _ => Some(next),
        })
    }

    /// Into which of these numbers of parts the k of a product is best cut (split-K): the parts are as many products
    /// side by side, added where they are read (`merged`) or by a step of its own. `allowed` ascends, begins with 1 and
    /// divides k.
    pub fn parts(&self, product: &ProductExtents, allowed: &[u64], merged: bool, target: &Target) -> u64 {
        let p = at_least_one(product);
        let shape = shape(&p, merged, target);
        let Some(row) = self.parts.holding(&shape).next() else { return 1 };
        if row.says(FASTER.0) {
            let [terms, share, levels] = row.figures();
            let sum_us = if merged { 0.0 } else { levels * target.tuning.level_us };
            let time = |s: u64| self.time_in_parts(&p, s, sum_us, target);
            let fewer = |best: u64, s: u64| if time(s) < share * time(best) { s } else { best };
            return parts_of(&p, terms as u64, allowed).fold(1, fewer);
        }
        let [columns, groups_per_unit, terms, least_k_apart] = row.counts();
        if !merged && p.k < least_k_apart {
            return 1;
        }
        let units = u64::from(target.tuning.compute_units.max(1));
        let groups = p.batches.saturating_mul(p.n.div_ceil(columns));
        let busy = |s: &u64| groups.saturating_mul(*s) >= groups_per_unit.saturating_mul(units);
        let worth = || parts_of(&p, terms, allowed);
        worth().find(busy).or(worth().last()).unwrap_or(1)
    }

    /// Microseconds of a product cut into parts, with their bytes and sum.
    fn time_in_parts(&self, p: &ProductExtents, s: u64, sum_us: f64, target: &Target) -> f64 {
        let part = ProductExtents { k: p.k / s.max(1), batches: p.batches.saturating_mul(s), ..*p };
        let results = p.m.saturating_mul(p.n).saturating_mul(p.batches) as f64;
        let bytes = 4.0 * results * 2.0 * (s - 1) as f64 / target.tuning.bytes_per_us;
        let tile =
            self.cheapest(&part, target, |tile| Some((part.k, tile))).map_or(f64::INFINITY, |(time, _)| time);
        tile + bytes + if s == 1 { 0.0 } else { sum_us }
    }
}

/// The numbers of parts that have so many terms each; one part may have fewer.
fn parts_of<'a>(p: &'a ProductExtents, terms: u64, allowed: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    allowed.iter().copied().filter(move |s| *s == 1 || p.k >= terms.saturating_mul(*s))
}

/// Microseconds of a product by a tile.
fn time(tile: &Choice, row: &Row, p: &ProductExtents, target: &Target) -> f64 {
    let [alone, crowded] = row.figures();
    let units = u64::from(target.tuning.compute_units.max(1));
    let tiles = p.m.div_ceil(tile.roles.rows).saturating_mul(p.n.div_ceil(tile.roles.columns));
    let waves = tiles.saturating_mul(p.batches).div_ceil(units) as f64;
    let step = if waves > 1.0 { alone.max(waves * crowded) } else { alone };
    let flops = 2.0 * 16.0 * tile.roles.rows as f64 * tile.roles.columns as f64;
    let at_rate = flops * units as f64 / target.tuning.f32_flops_per_us;
    p.k.div_ceil(16) as f64 * step * at_rate
}

fn at_least_one(p: &ProductExtents) -> ProductExtents {
    ProductExtents { m: p.m.max(1), n: p.n.max(1), batches: p.batches.max(1), ..*p }
}

fn shape<'a>(p: &ProductExtents, merged: bool, target: &'a Target) -> Shape<'a> {
    let units = u64::from(target.tuning.compute_units.max(1));
    let groups = |rows: u64, columns: u64| {
        p.m.div_ceil(rows).saturating_mul(p.n.div_ceil(columns)).saturating_mul(p.batches) / units
    };
    let work = p.m.saturating_mul(p.n).saturating_mul(p.batches).saturating_mul(p.k.max(1));
    let (along, merged) = (p.b_along_k.into(), merged.into());
    let measures = [p.m, p.n, p.k, p.batches, work, along, merged, groups(8, 32), groups(16, 64)];
    Shape::new(target, measures).stored(p.b_stored).multiplied(p.precision).looping([("k", p.k)])
}

#[cfg(test)]
mod tests;
