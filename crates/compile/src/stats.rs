//! Figures of a run: counts, floor, levels per layer.

use pumice_plan::{Floor, Program, Step};
use pumice_types::Target;
use std::collections::BTreeMap;

/// T ≥ Σ over levels of level cost + further dispatches + max(bytes / bandwidth, flops / rate) (docs/measuring.md). The
/// submission is left out; host levels count nothing.
pub fn floor(program: &Program, target: &Target) -> Floor {
    let t = &target.tuning;
    let mut floor = Floor::default();
    for level in &program.levels {
        let steps: Vec<&Step> = program.steps_of(level).map(|(_, s)| s).filter(|s| !s.is_host()).collect();
        if steps.is_empty() {
            continue;
        }
        let bytes: f64 = steps.iter().map(|s| s.cost.bytes.0 as f64).sum();
        let flops: f64 = steps.iter().map(|s| s.cost.flops as f64).sum();
        let (by_bytes, by_flops) = (bytes / t.bytes_per_us, flops / t.f32_flops_per_us);
        floor.levels_us += t.level_us + (steps.len() - 1) as f64 * t.dispatch_us;
        if by_bytes >= by_flops {
            floor.bytes_us += by_bytes;
        } else {
            floor.flops_us += by_flops;
        }
    }
    floor.total_us = floor.levels_us + floor.bytes_us + floor.flops_us;
    floor
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
