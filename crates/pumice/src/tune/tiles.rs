//! Times of product tiles: of one group alone on each compute unit, and of several that share one.
//!
//! Two lengths of k, so that what every product takes (a level, the epilogue) falls out of the difference.

use super::grid::Product;
use super::time::{Loaded, side_by_side};
use super::{Finding, Scope, Tuned, Tuner, code, has, three_digits};
use crate::device::Device;
use pumice_plan::kernels;
use pumice_types::{Table, TableRow};

/// Groups of a compute unit that count as many.
const CROWD: u64 = 4;

/// Measures the tile of row `at`; leaves it as it is where the device cannot run it.
pub fn measure(tuner: &Tuner<'_>, table: &mut Table, at: usize, findings: &mut Vec<Finding>) -> Tuned<bool> {
    let before = table.rows[at].clone();
    let Some(tile) = tile(&before) else { return Ok(true) };
    let device = tuner.with(&alone(table, &before));
    let tuning = &device.target().tuning;
    let units = u64::from(tuning.compute_units.max(1));
    let lengths = terms(tuner.scope);
    let Some(Products { mut loaded, shapes }) = products(&device, &before, tile, units, lengths)? else {
        return Ok(true);
    };
    let times = side_by_side(&mut loaded, tuner.scope)?;
    // What the device's rate makes of all steps of a wave.
    let [short, long] = lengths;
    let flops = 2.0 * (tile.0 * tile.1 * units * (long - short)) as f64;
    let at_rate = flops / tuning.f32_flops_per_us;
    let of =
        |short: f64, long: f64, waves: u64| three_digits((long - short).max(1e-3) / waves as f64 / at_rate);
    let mut after = before.clone();
    after.figures.insert("alone".into(), of(times[0], times[1], 1));
    after.figures.insert("crowded".into(), of(times[2], times[3], CROWD));
    findings.push(Finding::of(&before, &after, 1.0, shapes));
    table.rows[at] = after;
    Ok(true)
}

/// Products that are ready to be timed, with their names.
struct Products {
    loaded: Vec<Loaded>,
    shapes: Vec<String>,
}

/// Short and long products of one group of the tile on each unit, then of [`CROWD`]; nothing where the device does not
/// take the row for them.
fn products(
    device: &Device,
    row: &TableRow,
    (rows, columns): (u64, u64),
    units: u64,
    [short, long]: [u64; 2],
) -> Tuned<Option<Products>> {
    let mut all = Products { loaded: Vec::new(), shapes: Vec::new() };
    for (waves, k) in [(1, short), (1, long), (CROWD, short), (CROWD, long)] {
        let m = rows * units * waves;
        let case = Product { m, n: columns, k, along_k: false, half: false, cut: false }.case();
        if !has(&code(&*case.plan(device)?), &row.take) {
            return Ok(None);
        }
        all.shapes.push(case.name.clone());
        all.loaded.push(Loaded::new(device, &case)?);
    }
    Ok(Some(all))
}

/// Terms of k of the shorter and of the longer products.
fn terms(scope: Scope) -> [u64; 2] {
    match scope {
        Scope::Tiny => [64, 128],
        Scope::Quick => [256, 512],
        Scope::Brief => [1024, 2048],
        Scope::Full => [1024, 4096],
    }
}

/// The table with this tile for every product, and nothing else.
fn alone(table: &Table, tile: &TableRow) -> Table {
    let mut alone = Table::clone(table);
    alone.rows.retain(|row| row.family != "matmul.tile" && row.family != "matmul");
    let everywhere = TableRow { when: Default::default(), ..tile.clone() };
    let (family, take) = ("matmul".into(), "cheapest".into());
    let cheapest = TableRow { family, take, figures: Default::default(), ..everywhere.clone() };
    alone.rows.extend([everywhere, cheapest]);
    alone
}

/// Rows and columns of a row's tile, as its declaration states them.
fn tile(row: &TableRow) -> Option<(u64, u64)> {
    let (kernel, variant) = row.take.split_once('.')?;
    let variant = kernels::find(kernel)?.variant(variant)?;
    let define = |name: &str| variant.defines.iter().find(|d| d.0 == name)?.1.parse().ok();
    Some((define("BM")?, define("BN")?))
}
