//! Figures of a run: counts, floor, levels per layer.

use pumice_plan::{Floor, Program, Step};
use pumice_types::target::LevelTime;
use pumice_types::{SymbolTable, Target};
use std::collections::BTreeMap;

/// T ≥ Σ over levels of level cost + further dispatches + max(bytes / bandwidth, flops / rate) (docs/measuring.md). The
/// submission is left out; host levels count nothing. All at the upper bounds of the symbols.
pub fn floor(program: &Program, symbols: &SymbolTable, target: &Target) -> Floor {
    let mut floor = Floor::default();
    for level in &program.levels {
        let steps: Vec<&Step> = program.steps_of(level).map(|(_, s)| s).filter(|s| !s.is_host()).collect();
        if steps.is_empty() {
            continue;
        }
        let time = level_time(&steps, symbols, target);
        floor.levels_us += time.dispatch_us;
        if time.bytes_us >= time.flops_us {
            floor.bytes_us += time.bytes_us;
        } else {
            floor.flops_us += time.flops_us;
        }
    }
    floor.total_us = floor.levels_us + floor.bytes_us + floor.flops_us;
    floor
}

/// Time of steps of one level at the upper bounds of the symbols.
fn level_time(steps: &[&Step], symbols: &SymbolTable, target: &Target) -> LevelTime {
    let t = &target.tuning;
    let (mut bytes, mut flops_us) = (0.0, 0.0);
    for step in steps {
        let work = step.cost.upper(symbols);
        bytes += work.bytes.0 as f64;
        flops_us += work.flops as f64 / t.flops_per_us(step.cost.precision);
    }
    t.level(steps.len(), bytes, flops_us)
}

/// Time of a step in a level of its own, in microseconds, at the upper bounds of the symbols.
pub fn step_us(step: &Step, symbols: &SymbolTable, target: &Target) -> f64 {
    level_time(&[step], symbols, target).total_us()
}

/// Says at each step that alone is predicted to pass the bound of a submission that it does: a driver may end it.
pub fn note_long_steps(program: &mut Program, symbols: &SymbolTable, target: &Target) {
    let bound = target.submission_bound;
    if bound.is_zero() {
        return;
    }
    for step in program.steps.iter_mut().filter(|s| !s.is_host()) {
        let us = step_us(step, symbols, target);
        if us <= bound.as_secs_f64() * 1e6 {
            continue;
        }
        let note = format!("predicted to take {:.0} ms, a submission may last {bound:?}", us / 1e3);
        let before = std::mem::take(&mut step.reason);
        step.reason = if before.is_empty() { note } else { format!("{before}; {note}") };
    }
}

/// Levels that hold a step of each layer. A layer is a name up to its first component that is a number
/// (`encoder.layer.3.attention.q` belongs to `encoder.layer.3`).
pub fn layers(program: &Program) -> Vec<(String, u32)> {
    let mut layers: BTreeMap<(String, u64), u32> = BTreeMap::new();
    for level in &program.levels {
        let mut here: Vec<(String, u64)> =
            program.steps_of(level).filter_map(|(_, s)| layer(&s.origin)).collect();
        here.sort();
        here.dedup();
        here.into_iter().for_each(|l| *layers.entry(l).or_default() += 1);
    }
    layers.into_iter().map(|((stem, n), levels)| (format!("{stem}.{n}"), levels)).collect()
}

fn layer(origin: &str) -> Option<(String, u64)> {
    let parts: Vec<&str> = origin.split('.').collect();
    let i = parts.iter().position(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))?;
    if i == 0 {
        return None;
    }
    Some((parts[..i].join("."), parts[i].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::layer;

    #[test]
    fn layers_are_found_in_names() {
        assert_eq!(layer("encoder.layer.11.mlp.fc1"), Some(("encoder.layer".into(), 11)));
        assert_eq!(layer("pooler.dense"), None);
    }
}
