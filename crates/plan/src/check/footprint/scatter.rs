//! Scatter. Indices are data: kernels compare each with its axis, and read the updates that hit an element.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::tuple::Tuple;
use super::{Footprint, Rule, Wrong};
use pumice_types::MAX_RANK;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("scatter_floats", floats), ("scatter_words", words)];

/// What a call touches besides its result.
struct Updates {
    /// The elements that there are.
    data: Accesses,
    /// Index tensor.
    indices: Accesses,
    /// How many elements and indices there are.
    counts: [u64; 2],
    updates: Accesses,
}

impl Updates {
    /// Of elements of this width.
    fn of(call: &Call<'_>, unit: u64) -> Result<Updates, Wrong> {
        if call.flag("elements")? { Updates::of_elements(call, unit) } else { Updates::of_rows(call, unit) }
    }

    fn of_rows(call: &Call<'_>, unit: u64) -> Result<Updates, Wrong> {
        let [count, inner, along] = call.counts(["count", "inner", "along"])?;
        law(along == 0, || format!("rows along axis {along}"))?;
        for i in 0..MAX_RANK {
            law(call.count_at("taken", i)? == 0, || "rows that are taken apart".to_owned())?;
        }
        let tuple = Tuple::of(call, 1)?;
        Ok(Updates {
            data: tuple.table(unit, 1, inner)?,
            indices: tuple.indices(count)?,
            counts: [iteration(&[tuple.places, inner])?, iteration(&[count, tuple.parts])?],
            updates: Accesses::dense(unit, iteration(&[count, inner])?),
        })
    }

    fn of_elements(call: &Call<'_>, unit: u64) -> Result<Updates, Wrong> {
        let [count, inner, parts, along] = call.counts(["count", "inner", "parts", "along"])?;
        law((inner, parts) == (1, 1), || format!("elements in rows of {inner}, with {parts} indices each"))?;
        let wide = call.flag("wide")?;
        law(wide == call.is_wide(1), || format!("`wide` is {wide}, its indices are not"))?;
        let (mut dims, mut taken) = ([0; MAX_RANK], [0; MAX_RANK]);
        for i in 0..MAX_RANK {
            (dims[i], taken[i]) = (call.count_at("dims", i)?, call.count_at("taken", i)?);
            let fits = taken[i] <= dims[i] || i as u64 == along;
            law(fits, || format!("{} indices on an axis of {}", taken[i], dims[i]))?;
        }
        let unused = MAX_RANK.saturating_sub(call.rank(0));
        law(along >= unused as u64 && along < MAX_RANK as u64, || format!("axis {along}"))?;
        let of_line = taken[along as usize];
        law(count == of_line, || format!("{count} updates of a line, {of_line} indices"))?;
        let ones = dims[..unused].iter().chain(&taken[..unused]).all(|&n| n == 1);
        law(ones, || format!("{dims:?} and {taken:?} where there are {} axes", MAX_RANK - unused))?;
        let (all, elements) = (iteration(&taken)?, iteration(&dims)?);
        let of = |unit: u64, extents: &[u64; MAX_RANK], elements: u64| {
            Accesses::dense(unit, elements).within(1, &extents[unused..], 1)
        };
        Ok(Updates {
            data: of(unit, &dims, elements),
            indices: of(if wide { 8 } else { 4 }, &taken, all),
            counts: [elements, all],
            updates: of(unit, &taken, all),
        })
    }
}

/// Of elements of this width.
fn scatter(call: &Call<'_>, unit: u64) -> Result<Footprint, Wrong> {
    let [n, indices] = call.counts(["n", "indices"])?;
    let of = Updates::of(call, unit)?;
    law([n, indices] == of.counts, || {
        format!("{n} elements and {indices} indices, there are {:?}", of.counts)
    })?;
    Ok(Footprint::new(n.max(indices).div_ceil(256), 256)
        .operand(0, of.data)
        .operand(1, of.indices)
        .operand(2, of.updates)
        .operand(3, Accesses::dense(unit, n)))
}

/// `scatter_floats`.
fn floats(call: &Call<'_>) -> Result<Footprint, Wrong> {
    scatter(call, 4)
}

/// `scatter_words`.
fn words(call: &Call<'_>) -> Result<Footprint, Wrong> {
    let pair = call.flag("pair")?;
    law(pair == call.is_wide(0), || format!("`pair` is {pair}, its elements are not"))?;
    call.flag("signed")?;
    law((1..=32).contains(&call.spec("bits")?), || "integers of no width".to_owned())?;
    scatter(call, if pair { 8 } else { 4 })
}
