//! How rows that indices name find their places: every element looks at all indices, or a group of places lists
//! those of its own.
//!
//! In: places, elements of each and updates, at their upper bounds. Out: places and columns of a group that lists.

use super::family::{Family, FamilyDecl, Shape};
use super::read::{Figure, number};
use pumice_types::Target;

/// Every element looks.
const EACH: &str = "each";
/// Groups list; there should be so many for each compute unit.
const LISTED: &[Figure] = &[number("groups_per_unit")];
/// Updates; elements of the result.
pub const ROWS: &FamilyDecl = &FamilyDecl {
    rules: &[(EACH, &[]), ("listed", LISTED)],
    ..FamilyDecl::new("scatter.rows", &["updates", "elements"])
};

/// Threads of a group: elements that it makes at most.
const THREADS: u64 = 256;
/// Places that a group makes at most: their loops are counted.
const PLACES: u64 = 64;
/// Neighbouring columns that are read together: 32 bytes.
const SECTOR: u64 = 8;

/// Rules of scatters of rows.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

/// What a group makes: powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Places.
    pub rows: u32,
    /// Columns of each.
    pub columns: u32,
}

impl Rules {
    /// The groups that list; none where every element looks at at most `updates` for itself.
    pub fn group(&self, places: u64, inner: u64, updates: u64, target: &Target) -> Option<Group> {
        let shape = Shape::new(target, [updates, places.saturating_mul(inner)]);
        let [per_unit] = self.0.holding(&shape).next().filter(|row| !row.says(EACH))?.figures();
        let wanted = per_unit * f64::from(target.tuning.compute_units.max(1));
        Some(Group::of(places, inner, wanted))
    }
}

impl Group {
    /// As large as there are threads, smaller until there are so many groups.
    fn of(places: u64, inner: u64, wanted: f64) -> Group {
        let few = |rows: u64, columns: u64| {
            (places.div_ceil(rows).saturating_mul(inner.div_ceil(columns)) as f64) < wanted
        };
        let mut columns = inner.clamp(1, THREADS).next_power_of_two();
        let mut rows = (THREADS / columns).min(places.clamp(1, PLACES).next_power_of_two());
        while rows > 1 && few(rows, columns) {
            rows /= 2;
        }
        while columns > SECTOR && few(rows, columns) {
            columns /= 2;
        }
        Group { rows: rows as u32, columns: columns as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;

    #[test]
    fn groups_of_a_gpu_are_as_many_as_its_units() {
        let gpu = Target::h200();
        let of = |places, inner, updates| {
            let group = Selection::exact(&gpu).scatter.group(places, inner, updates, &gpu);
            group.map(|g| (g.rows, g.columns))
        };
        assert_eq!(of(300, 5, 4), None, "few updates");
        assert_eq!(of(6208, 7, 34_950), Some((32, 8)));
        assert_eq!(of(1984, 3, 11_328), Some((8, 4)), "fewer places, so that every unit has a group");
        assert_eq!(of(5, 91, 1199), Some((1, 8)), "fewer columns, too");
        assert_eq!(of(1 << 20, 1 << 10, 4096), Some((1, 256)));
        assert_eq!(of(0, 0, 4096), Some((1, 1)));
    }
}
