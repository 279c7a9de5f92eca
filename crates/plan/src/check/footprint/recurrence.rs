//! Recurrences: all of every operand.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::kernels::recurrence::{MOST_HIDDEN, RecurrentLayer, decay};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("linear_recurrence", linear), ("recurrent_layer", layer)];

/// All elements of a dense operand that has these axes.
fn dense<'i>(extents: &[u64]) -> Accesses<'i> {
    let all = extents.iter().fold(1u64, |n, &extent| n.saturating_mul(extent));
    Accesses::dense(4, all).within(1, extents, 1)
}

/// `linear_recurrence`.
fn linear<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [batches, steps, heads, keys, values] =
        call.fixed_counts(["batches", "steps", "heads", "keys", "values"])?;
    let [hq, hk, hv] = call.fixed_counts(["hq", "hk", "hv"])?;
    laws(call, [heads, hq, hk, hv], [keys, values])?;
    let columns = 256 / call.power_of_two("lanes", 256)?;
    let groups = iteration(&[batches, heads, values])?.div_ceil(columns);
    let each = [(0, hq, keys), (1, hk, keys), (2, hv, values), (7, heads, values)];
    let footprint = each.into_iter().fold(Footprint::new(groups, columns), |f, (operand, heads, width)| {
        f.operand(operand, dense(&[batches, steps, heads, width]))
    });
    states(call, steering(call, footprint, [batches, steps, hv, keys])?, [batches, hv, keys, values])
}

/// Heads that go together, and as many threads as keep the keys.
fn laws(call: &Call<'_>, [heads, hq, hk, hv]: [u64; 4], [keys, values]: [u64; 2]) -> Result<(), Wrong> {
    law(keys > 0 && values > 0 && hk > 0 && hk <= hv, || format!("{hk} heads of {keys} keys for {hv}"))?;
    law(heads == hq.max(hv) && hq > 0 && (hq <= hv || hq % hv == 0), || format!("{hq} heads read {hv}"))?;
    call.flag("delta")?;
    let (lanes, kept) = (call.power_of_two("lanes", 256)?, call.defined("KEPT")?);
    law(lanes == keys.div_ceil(kept).next_power_of_two(), || format!("{lanes} threads for {keys} keys"))
}

/// Adds decays, rates and betas.
fn steering<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    [b, t, hv, keys]: [u64; 4],
) -> Result<Footprint<'i>, Wrong> {
    let (decays, beta) = (call.choice("decays", 4)? as u32, call.choice("betas", 3)?);
    call.own_or_again(decays != decay::NONE, 3, 0)?;
    call.own_or_again(decays == decay::RATES, 4, 0)?;
    call.own_or_again(beta > 0, 5, 0)?;
    let heads = [b, t, hv];
    let mut touched = vec![];
    match decays {
        decay::NONE => {}
        decay::KEY => touched.push((3, dense(&[b, t, hv, keys]))),
        _ => touched.push((3, dense(&heads))),
    }
    touched.extend((decays == decay::RATES).then(|| (4, dense(&[hv, keys]))));
    touched.extend((beta > 0).then(|| (5, dense(&[b, t, if beta == 1 { hv } else { 1 }]))));
    Ok(touched.into_iter().fold(footprint, |f, (operand, accesses)| f.operand(operand, accesses)))
}

/// Adds the state before the first step, and that after the last one.
fn states<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    [b, hv, keys, values]: [u64; 4],
) -> Result<Footprint<'i>, Wrong> {
    let given = call.flag("given")?;
    call.own_or_again(given, 6, 0)?;
    let state = || match call.flag("by_value") {
        Ok(true) => Ok(dense(&[b, hv, values, keys])),
        Ok(false) => Ok(dense(&[b, hv, keys, values])),
        Err(wrong) => Err(wrong),
    };
    let footprint = footprint.operand(8, state()?);
    Ok(if given { footprint.operand(6, state()?) } else { footprint })
}

/// `recurrent_layer`.
fn layer<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [steps, batches, hidden, from] = call.fixed_counts(["steps", "batches", "hidden", "from"])?;
    let holds = hidden > 0 && hidden <= MOST_HIDDEN && RecurrentLayer::holds(&call.call.variant, hidden);
    law(holds, || format!("{hidden} hidden units"))?;
    let width = [1, 3, 4][call.choice("cell", 3)? as usize] * hidden;
    ["reverse", "after", "coupled", "clips"].into_iter().try_for_each(|name| call.flag(name).map(drop))?;
    ["act_f", "act_g", "act_h"].into_iter().try_for_each(|name| call.choice(name, 11).map(drop))?;
    law(call.flag("lengths")? || from == 0, || "a first step that nothing asks for".to_owned())?;
    let footprint = Footprint::new(batches, 1)
        .operand(0, dense(&[steps, batches, width]))
        .operand(1, dense(&[hidden, width]))
        .operand(7, dense(&[steps, batches, hidden]))
        .operand(8, dense(&[batches, hidden]))
        .operand(9, dense(&[batches, hidden]));
    optional(call, footprint, [batches, hidden])
}

/// Adds what a cell may lack.
fn optional<'i>(
    call: &Call<'i>,
    footprint: Footprint<'i>,
    [batches, hidden]: [u64; 2],
) -> Result<Footprint<'i>, Wrong> {
    let given = call.choice("given", 4)?;
    let optional = [
        (2, call.flag("biased")?, dense(&[hidden])),
        (3, call.flag("peepholes")?, dense(&[3, hidden])),
        (4, call.flag("lengths")?, dense(&[batches])),
        (5, given & 1 == 1, dense(&[batches, hidden])),
        (6, given & 2 == 2, dense(&[batches, hidden])),
    ];
    let mut all = footprint;
    for (operand, reads, accesses) in optional {
        call.own_or_again(reads, operand, 0)?;
        if reads {
            all = all.operand(operand, accesses);
        }
    }
    Ok(all)
}
