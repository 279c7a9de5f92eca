//! Times of product tiles: of one group alone on each compute unit, and of several that share one.
//!
//! Two lengths of k, so that what every product takes (a level, the epilogue) falls out of the difference.

use super::grid::Product;
use super::time::{Loaded, side_by_side};
use super::{Finding, Scope, Tuned, Tuner, three_digits, words};
use pumice_plan::kernels;
use pumice_types::{Table, TableRow};

/// Groups of a compute unit that count as many.
const CROWD: u64 = 4;

/// Measures the tile of row `at`; leaves it as it is where the device cannot run it.
pub fn measure(tuner: &Tuner<'_>, table: &mut Table, at: usize, findings: &mut Vec<Finding>) -> Tuned<()> {
    let before = table.rows[at].clone();
    let Some((rows, columns)) = tile(&before) else { return Ok(()) };
    let mut alone = Table::clone(table);
    // This tile and nothing else.
    alone.rows.retain(|row| row.family != "matmul.tile" && row.family != "matmul");
    let cheapest = TableRow {
        family: "matmul".into(),
        take: "cheapest".into(),
        when: Default::default(),
        figures: Default::default(),
        ..before.clone()
    };
    alone.rows.extend([TableRow { when: Default::default(), ..before.clone() }, cheapest]);
    let device = tuner.with(&alone);
    let units = u64::from(device.target().tuning.compute_units.max(1));
    let (short, long) = match tuner.scope {
        Scope::Tiny => (64, 128),
        Scope::Quick => (256, 512),
        Scope::Full => (1024, 4096),
    };
    let mut loaded = Vec::new();
    let mut shapes = Vec::new();
    for (waves, k) in [(1, short), (1, long), (CROWD, short), (CROWD, long)] {
        let case =
            Product { m: rows * units * waves, n: columns, k, along_k: false, half: false, cut: false }
                .case();
        let plan = case.plan(&device)?;
        if !super::code(&plan).iter().any(|c| c.starts_with(&format!("{} ", before.take))) {
            return Ok(());
        }
        shapes.push(case.name.clone());
        loaded.push(Loaded::new(&device, &case)?);
    }
    let times = side_by_side(&mut loaded, tuner.scope)?;
    let steps = (long - short) as f64 / 16.0;
    let of =
        |short: f64, long: f64, waves: u64| three_digits((long - short).max(1e-3) / steps / waves as f64);
    let mut after = before.clone();
    after.figures.insert("alone_us".into(), of(times[0], times[1], 1));
    after.figures.insert("crowded_us".into(), of(times[2], times[3], CROWD));
    findings.push(Finding {
        family: before.family.clone(),
        when: before.when.iter().map(|(name, bounds)| (name.clone(), bounds.to_string())).collect(),
        before: words(&before),
        after: words(&after),
        share: 1.0,
        shapes,
    });
    table.rows[at] = after;
    Ok(())
}

/// Rows and columns of a row's tile, as its declaration states them.
fn tile(row: &TableRow) -> Option<(u64, u64)> {
    let (kernel, variant) = row.take.split_once('.')?;
    let variant = kernels::find(kernel)?.variant(variant)?;
    let define = |name: &str| variant.defines.iter().find(|d| d.0 == name)?.1.parse().ok();
    Some((define("BM")?, define("BN")?))
}
