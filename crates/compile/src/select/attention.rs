//! Which attention kernel. In: upper bounds of extents. Out: a [`AttentionKernel`]. Operands, strides and masks are lowering's.

use super::rule::{Candidate, Reader, Rule};
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::attention::{Attention, AttentionLanes, AttentionParts, AttentionSplit, DECLS};
use pumice_types::{EncodingClass, Target};

/// Families of rows that are read here.
pub const FAMILIES: &[&str] = &["attention"];
/// Widths of queries and values, the larger of them; queries and keys of a head; query heads of all batches; whether
/// there is a mask, and whether both widths are multiples of four (1 or 0); how often tiles of 32 queries fill all compute
/// units, rounded up.
const MEASURES: &[&str] = &["d", "dv", "width", "queries", "keys", "heads", "masked", "by_four", "waves_32"];

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// [`Attention`].
    Tile,
    /// [`AttentionLanes`].
    Lanes,
    /// [`AttentionSplit`].
    Split,
    /// [`AttentionParts`], of so many parts; no table names it.
    Parts(u32),
}

impl Form {
    /// The kernel's declaration.
    pub const fn decl(self) -> &'static KernelDecl {
        match self {
            Form::Tile => &Attention::DECL,
            Form::Lanes => &AttentionLanes::DECL,
            Form::Split => &AttentionSplit::DECL,
            Form::Parts(_) => &AttentionParts::DECL,
        }
    }
}

/// A chosen kernel and the tile of the result one workgroup makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionKernel {
    /// The kernel.
    pub form: Form,
    /// Its variant.
    pub variant: &'static str,
    /// Queries of a tile.
    pub rows: u64,
    /// Columns of a tile.
    pub columns: u64,
}

/// What the choice depends on: upper bounds of extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Width of queries and keys.
    pub d: u64,
    /// Width of the values.
    pub dv: u64,
    /// Queries of a head.
    pub queries: u64,
    /// Query heads of all batches.
    pub heads: u64,
    /// Keys of a head.
    pub keys: u64,
    /// Whether there is a mask tensor.
    pub masked: bool,
}

impl Extents {
    fn measures(&self, target: &Target) -> [u64; 9] {
        let units = u64::from(target.tuning.compute_units.max(1));
        let tiles = self.queries.div_ceil(32).saturating_mul(self.heads);
        let by_four = self.d.is_multiple_of(4) && self.dv.is_multiple_of(4);
        [
            self.d,
            self.dv,
            self.d.max(self.dv),
            self.queries,
            self.keys,
            self.heads,
            self.masked.into(),
            by_four.into(),
            tiles.div_ceil(units),
        ]
    }
}

/// Rules of attention.
#[derive(Clone, Debug)]
pub struct Rules(Vec<Rule<Entry>>);

/// A candidate with its tile.
#[derive(Clone, Copy, Debug)]
struct Entry {
    candidate: Candidate,
    choice: AttentionKernel,
}

impl Entry {
    /// The tile is the declaration's; none where the kernel is of another family.
    fn of(candidate: Candidate) -> Option<Entry> {
        let define = |name: &str| candidate.define(name);
        let (form, rows, columns) = match candidate.decl.name {
            name if name == Attention::DECL.name => (Form::Tile, define("BQ")?, define("DP")?),
            name if name == AttentionLanes::DECL.name => (Form::Lanes, 8 * define("ROWS")?, define("W")?),
            name if name == AttentionSplit::DECL.name => {
                (Form::Split, 32 / define("LANES")?.max(1) * define("ROWS")?, define("W")?)
            }
            _ => return None,
        };
        Some(Entry {
            candidate,
            choice: AttentionKernel { form, variant: candidate.variant.name, rows, columns },
        })
    }

    /// Whether the kernel takes such rows on the target at all.
    fn takes(&self, target: &Target, e: &Extents) -> bool {
        let fits = match self.choice.form {
            Form::Tile => true,
            Form::Lanes => e.d <= self.choice.columns,
            Form::Split | Form::Parts(_) => e.d.max(e.dv) <= self.choice.columns,
        };
        fits && self.candidate.runs_on(target)
    }

    fn ends(&self, target: &Target, e: &Extents) -> bool {
        self.candidate.ends(target, &[("sk", e.keys), ("d", e.d), ("mask_kind", e.masked.into())])
    }
}

impl Rules {
    /// Reads the rows of the table.
    pub fn read(reader: &Reader<'_>) -> Result<Rules, String> {
        let rules = reader.some_rules("attention", MEASURES, |row| {
            let [] = row.counts([])?;
            Entry::of(row.candidate(DECLS)?).ok_or_else(|| row.mistake("it computes no attention"))
        });
        Ok(Rules(rules?))
    }

    /// The form for extents on a target: the fastest, or one whose loops end by themselves where those of the fastest would
    /// be ended by the driver.
    pub fn choose(&self, target: &Target, e: &Extents) -> AttentionKernel {
        let measures = e.measures(target);
        let holds = |r: &&Rule<Entry>| r.holds(&measures, EncodingClass::F32) && r.take.takes(target, e);
        let best = self.0.iter().find(holds).map(|r| r.take);
        let ends = |entry: &Entry| entry.ends(target, e);
        let chosen = best.filter(ends).or_else(|| others(target, e).into_iter().find(ends));
        chosen.or(best).map_or(WIDEST, |entry| entry.choice)
    }
}

/// What takes rows of any width on any device.
const WIDEST: AttentionKernel =
    AttentionKernel { form: Form::Tile, variant: Attention::plain, rows: 16, columns: 256 };

/// Every form that can take such rows on the target, from the one that is quickest to build on; of each kernel the
/// narrowest variant that holds a row, and of the tiles, which take a row in pieces, the widest where none does.
fn others(target: &Target, e: &Extents) -> Vec<Entry> {
    let width = e.d.max(e.dv);
    let of = |kernel: &str| -> Vec<Entry> {
        let decl = DECLS.iter().filter(move |d| d.name == kernel);
        let variants =
            decl.flat_map(|decl| decl.variants.iter().map(move |variant| Candidate { decl, variant }));
        variants.filter_map(Entry::of).filter(|entry| entry.takes(target, e)).collect()
    };
    let narrowest = |entries: &[Entry], width: u64| {
        let hold = entries.iter().filter(|entry| width <= entry.choice.columns);
        hold.min_by_key(|entry| entry.choice.columns).copied()
    };
    let mut split = of(AttentionSplit::DECL.name);
    split.retain(|entry| entry.candidate.variant.plain);
    let tiles = of(Attention::DECL.name);
    let widest = || tiles.iter().max_by_key(|entry| entry.choice.columns).copied();
    let lanes = of(AttentionLanes::DECL.name);
    let lanes = narrowest(&lanes, e.d.max(e.dv.min(128)));
    [narrowest(&split, width), narrowest(&tiles, width).or_else(widest), lanes]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    fn choose(target: &Target, e: &Extents) -> AttentionKernel {
        Selection::exact(target).attention.choose(target, e)
    }

    #[test]
    fn the_form_follows_width_and_number_of_tiles() {
        let of = |target: &Target, d, queries, heads| {
            let c = choose(target, &Extents { d, dv: d, queries, heads, keys: queries, masked: false });
            (c.form, c.variant, c.rows, c.columns)
        };
        let (gpu, cpu) = (Target::h200(), Target::lavapipe());
        assert_eq!(of(&gpu, 32, 128, 12), (Form::Split, AttentionSplit::w32, 16, 32));
        assert_eq!(of(&gpu, 32, 128, 12 * 32), (Form::Split, AttentionSplit::plain, 32, 32));
        assert_eq!(of(&gpu, 33, 1, 1), (Form::Split, AttentionSplit::w64, 16, 64));
        assert_eq!(of(&gpu, 65, 1, 1), (Form::Tile, Attention::plain_w128, 16, 128));
        assert_eq!(of(&gpu, 129, 1, 1), (Form::Tile, Attention::plain, 16, 256));
        assert_eq!(of(&cpu, 32, 128, 12), (Form::Lanes, AttentionLanes::shuffle_w32, 64, 32));
        assert_eq!(of(&cpu, 64, 8, 9), (Form::Lanes, AttentionLanes::shuffle_w64_row, 8, 64));
        let mut floor = cpu;
        floor.features.subgroup_shuffle = false;
        assert_eq!(of(&floor, 32, 128, 12), (Form::Lanes, AttentionLanes::w32, 64, 32));
        let mut floor = gpu;
        floor.features.subgroup_shuffle = false;
        assert_eq!(of(&floor, 32, 1, 1), (Form::Split, AttentionSplit::plain, 32, 32));
        assert_eq!(of(&floor, 64, 1, 1), (Form::Tile, Attention::plain_w64, 16, 64));
    }

    /// Many keys: fewer turns a key, or none of the forms.
    #[test]
    fn long_keys_take_the_form_that_turns_least() {
        let of = |d, keys, masked| {
            let e = Extents { d, dv: d, queries: 1, heads: 1, keys, masked };
            let c = choose(&Target::lavapipe(), &e);
            let decl = match c.form {
                Form::Tile => Attention::DECL,
                Form::Lanes => AttentionLanes::DECL,
                Form::Split => AttentionSplit::DECL,
                Form::Parts(_) => AttentionParts::DECL,
            };
            let turns = decl.turns_of(c.variant, &[("sk", keys), ("d", d), ("mask_kind", masked.into())]);
            (c.form, c.variant, turns <= 65_535)
        };
        assert_eq!(of(64, 219_000, false), (Form::Lanes, AttentionLanes::shuffle_w64_row, true));
        assert_eq!(of(66, 8_000, false).0, Form::Tile);
        assert_eq!(of(66, 200_000, false), (Form::Lanes, AttentionLanes::w128, true));
        assert!(!of(66, 300_000, false).2, "refused by name");
    }
}
