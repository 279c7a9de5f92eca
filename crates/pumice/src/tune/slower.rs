//! Whether a table makes shapes slower than the one that tuning began with. Rows are measured one at a time, and tiles
//! alone; what they make together is seen here, over the shapes of the grid and some that it lacks.

use super::grid::{self, Case};
use super::time::{Loaded, side_by_side};
use super::{Tuned, Tuner, Until, code, is_over};
use pumice_types::Table;

/// Longer times than this are slower, if they are found twice.
const SLOWER: f64 = 1.03;

/// Families whose rows decide together, by the beginnings of their names. Of products the times of tiles and the parts,
/// which are a model, are given up before the rest.
const GROUPS: [(&[&str], &[&str]); 11] = [
    (&["matmul"], &["matmul.tile", "matmul.parts"]),
    (&["attention"], &["attention.deal", "attention.parts"]),
    (&["reduce"], &["reduce.parts", "reduce.apart"]),
    (&["rows", "softmax"], &[]),
    (&["elementwise"], &[]),
    (&["copy"], &[]),
    (&["convolution"], &[]),
    (&["experts"], &[]),
    (&["scatter"], &[]),
    (&["transform"], &[]),
    (&["recurrence", "sort"], &[]),
];

/// Gives rows of `before` back to the families by which a shape is slower, and names those families.
pub fn put_back(tuner: &Tuner<'_>, before: &Table, table: &mut Table, until: Until) -> Tuned<Vec<String>> {
    let mut all = Vec::new();
    for (group, first) in GROUPS {
        for families in [first, group].into_iter().filter(|families| !families.is_empty()) {
            if same(group, before, table) || !is_slower(tuner, group, before, table, until)? {
                break;
            }
            restore(families, before, table);
            all.extend(families.iter().map(|&family| family.to_owned()));
        }
    }
    Ok(all)
}

fn is_of(families: &[&str], family: &str) -> bool {
    families.iter().any(|beginning| family.starts_with(beginning))
}

fn same(families: &[&str], before: &Table, table: &Table) -> bool {
    let mut pairs = before.rows.iter().zip(&table.rows).filter(|(row, _)| is_of(families, &row.family));
    pairs.all(|(before, after)| before == after)
}

fn restore(families: &[&str], before: &Table, table: &mut Table) {
    for (row, old) in table.rows.iter_mut().zip(&before.rows) {
        if is_of(families, &old.family) {
            *row = old.clone();
        }
    }
}

/// Whether a shape that the families decide is slower by the table; also where the time is over before that is known.
fn is_slower(tuner: &Tuner<'_>, group: &[&str], before: &Table, table: &Table, until: Until) -> Tuned<bool> {
    // Nothing else differs, so that what another group does is not blamed on this one.
    let mut only = before.clone();
    restore(group, table, &mut only);
    let (old, new) = (tuner.with(before), tuner.with(&only));
    for case in cases(tuner, group, before) {
        if code(&*case.plan(&old)?) == code(&*case.plan(&new)?) {
            continue;
        }
        if is_over(until) {
            return Ok(true);
        }
        let mut both = [Loaded::new(&old, &case)?, Loaded::new(&new, &case)?];
        let mut slower = || {
            let times = side_by_side(&mut both, tuner.scope)?;
            Ok::<bool, super::TuneError>(times[1] > SLOWER * times[0])
        };
        if slower()? && slower()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Each shape once, however many families of the group are measured with it.
fn cases(tuner: &Tuner<'_>, group: &[&str], table: &Table) -> Vec<Case> {
    let mut families: Vec<&str> = table.rows.iter().map(|row| row.family.as_str()).collect();
    families.dedup();
    families.retain(|family| is_of(group, family));
    let mut all: Vec<Case> = Vec::new();
    let of_grid = families.iter().flat_map(|family| grid::of(family, tuner.scope, tuner.is_cpu()));
    for case in of_grid.chain(grid::further(group, tuner.scope, tuner.is_cpu())) {
        if all.iter().all(|other| other.name != case.name || other.cut != case.cut) {
            all.push(case);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::Target;

    #[test]
    fn every_family_is_of_one_group_and_gets_its_rows_back() {
        for before in [Target::h200().table, Target::lavapipe().table] {
            let mut table = Table::clone(&before);
            for row in &mut table.rows {
                let groups = GROUPS.iter().filter(|(group, _)| is_of(group, &row.family)).count();
                assert_eq!(groups, 1, "{}", row.family);
                row.take.push('x');
            }
            for (group, first) in GROUPS {
                assert!(first.iter().all(|family| is_of(group, family)), "{first:?}");
                let changed = before.rows.iter().any(|row| is_of(group, &row.family));
                assert_eq!(same(group, &before, &table), !changed, "{group:?}");
                restore(group, &before, &mut table);
                assert!(same(group, &before, &table));
            }
            assert_eq!(table, *before);
        }
    }
}
