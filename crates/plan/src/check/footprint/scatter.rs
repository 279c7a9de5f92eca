//! Scatter. Indices are data: kernels compare each with its axis, and read the updates that hit an element.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::tuple::Tuple;
use super::{Footprint, Rule, Wrong};
use crate::kernels::scatter::CHUNK;
use pumice_types::MAX_RANK;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("scatter_floats", floats),
    ("scatter_words", words),
    ("scatter_places", places),
    ("scatter_partial_floats", partial_floats),
    ("scatter_partial_words", partial_words),
    ("scatter_sorted_floats", sorted_floats),
    ("scatter_sorted_words", sorted_words),
];

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
        let [count, inner] = call.counts(["count", "inner"])?;
        are_tuples(call)?;
        let tuple = Tuple::of(call, 1)?;
        Ok(Updates {
            data: tuple.table(unit, 1, inner)?,
            indices: tuple.indices(count)?,
            counts: [iteration(&[tuple.places, inner])?, iteration(&[count, tuple.parts])?],
            updates: Accesses::dense(unit, iteration(&[count, inner])?),
        })
    }

    fn of_elements(call: &Call<'_>, unit: u64) -> Result<Updates, Wrong> {
        let [count, inner] = call.counts(["count", "inner"])?;
        law(inner == 1, || format!("elements in rows of {inner}"))?;
        let line = Line::of(call, 1)?;
        law(count == line.count, || format!("{count} updates of a line, {} indices", line.count))?;
        Ok(Updates {
            data: line.accesses(unit, &line.dims)?,
            indices: line.accesses(if line.wide { 8 } else { 4 }, &line.taken)?,
            counts: [iteration(&line.dims)?, iteration(&line.taken)?],
            updates: line.accesses(unit, &line.taken)?,
        })
    }
}

/// Nothing is said of lines along an axis.
fn are_tuples(call: &Call<'_>) -> Result<(), Wrong> {
    let [along] = call.counts(["along"])?;
    law(along == 0, || format!("tuples along axis {along}"))?;
    for i in 0..MAX_RANK {
        law(call.count_at("taken", i)? == 0, || "tuples that are taken apart".to_owned())?;
    }
    Ok(())
}

/// Lines along one axis, in which every index is one of its own.
struct Line {
    /// Of data, and of the indices; leading axes that are not there are 1.
    dims: [u64; MAX_RANK],
    taken: [u64; MAX_RANK],
    unused: usize,
    /// Indices of a line.
    count: u64,
    /// Whether indices have 64 bits.
    wide: bool,
}

impl Line {
    /// Of indices that are that operand.
    fn of(call: &Call<'_>, indices: usize) -> Result<Line, Wrong> {
        let [parts, along] = call.counts(["parts", "along"])?;
        law(parts == 1, || format!("an element has {parts} indices"))?;
        let wide = call.flag("wide")?;
        law(wide == call.is_wide(indices), || format!("`wide` is {wide}, its indices are not"))?;
        let (mut dims, mut taken) = ([0; MAX_RANK], [0; MAX_RANK]);
        for i in 0..MAX_RANK {
            (dims[i], taken[i]) = (call.count_at("dims", i)?, call.count_at("taken", i)?);
            let fits = taken[i] <= dims[i] || i as u64 == along;
            law(fits, || format!("{} indices on an axis of {}", taken[i], dims[i]))?;
        }
        let unused = MAX_RANK.saturating_sub(call.rank(indices));
        law(along >= unused as u64 && along < MAX_RANK as u64, || format!("axis {along}"))?;
        let ones = dims[..unused].iter().chain(&taken[..unused]).all(|&n| n == 1);
        law(ones, || format!("{dims:?} and {taken:?} where there are {} axes", MAX_RANK - unused))?;
        Ok(Line { dims, taken, unused, count: taken[along as usize], wide })
    }

    fn accesses(&self, unit: u64, extents: &[u64; MAX_RANK]) -> Result<Accesses, Wrong> {
        Ok(Accesses::dense(unit, iteration(extents)?).within(1, &extents[self.unused..], 1))
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
    scatter(call, of_words(call, 0)?)
}

/// Bytes of the integers that are that operand.
fn of_words(call: &Call<'_>, operand: usize) -> Result<u64, Wrong> {
    let pair = call.flag("pair")?;
    law(pair == call.is_wide(operand), || format!("`pair` is {pair}, its elements are not"))?;
    call.flag("signed")?;
    law((1..=32).contains(&call.spec("bits")?), || "integers of no width".to_owned())?;
    Ok(if pair { 8 } else { 4 })
}

/// `scatter_places`.
fn places(call: &Call<'_>) -> Result<Footprint, Wrong> {
    let [n, count] = call.counts(["n", "count"])?;
    let (indices, all) = if call.flag("elements")? {
        let line = Line::of(call, 0)?;
        let all = iteration(&line.taken)?;
        law(n == iteration(&line.dims)?, || format!("{n} elements of {:?}", line.dims))?;
        (line.accesses(if line.wide { 8 } else { 4 }, &line.taken)?, all)
    } else {
        are_tuples(call)?;
        (Tuple::of(call, 0)?.indices(count)?, count)
    };
    law(count == all, || format!("{count} updates, {all} indices"))?;
    Ok(Footprint::new(count.div_ceil(256), 256).operand(0, indices).operand(1, Accesses::dense(4, count)))
}

/// Of rows of this width whose reductions have `unit` bytes, too.
fn partial(call: &Call<'_>, unit: u64) -> Result<Footprint, Wrong> {
    let [n, count, inner, span] = call.counts(["n", "count", "inner", "span"])?;
    law(span > 0 && count == n.div_ceil(span), || format!("{count} rows of {span} of {n} places"))?;
    let elements = iteration(&[count.div_ceil(CHUNK), inner])?;
    let footprint = Footprint::new(elements.div_ceil(256), 256)
        .operand(0, Accesses::dense(4, n))
        .operand(1, Accesses::dense(unit, iteration(&[count, inner])?))
        .operand(3, Accesses::dense(unit, elements));
    if call.flag("given")? {
        return Ok(footprint.operand(2, Accesses::dense(4, count)));
    }
    call.bound_again(2, 1)?;
    Ok(footprint)
}

/// `scatter_partial_floats`.
fn partial_floats(call: &Call<'_>) -> Result<Footprint, Wrong> {
    partial(call, 4)
}

/// `scatter_partial_words`.
fn partial_words(call: &Call<'_>) -> Result<Footprint, Wrong> {
    partial(call, of_words(call, 1)?)
}

/// Of elements of this width.
fn sorted(call: &Call<'_>, unit: u64) -> Result<Footprint, Wrong> {
    let [n, count, inner] = call.counts(["n", "count", "inner"])?;
    law(n == 0 || inner > 0 && n % inner == 0, || format!("{n} elements in rows of {inner}"))?;
    let dense = |rows: u64| iteration(&[rows, inner]).map(|all| Accesses::dense(unit, all));
    let footprint = Footprint::new(n.div_ceil(256), 256)
        .operand(0, Accesses::dense(unit, n))
        .operand(1, Accesses::dense(4, count))
        .operand(2, Accesses::dense(4, count))
        .operand(3, dense(count)?)
        .operand(6, Accesses::dense(unit, n));
    partials_of(call, footprint, dense)
}

/// Adds the partial reductions, where they are operands.
fn partials_of(
    call: &Call<'_>,
    mut footprint: Footprint,
    dense: impl Fn(u64) -> Result<Accesses, Wrong>,
) -> Result<Footprint, Wrong> {
    let (partials, [mut rows]) = (call.choice("partials", 3)?, call.counts(["count"])?);
    for level in 0..2 {
        let operand = 4 + level as usize;
        rows = rows.div_ceil(CHUNK);
        if level < partials {
            footprint = footprint.operand(operand, dense(rows)?);
        } else {
            call.bound_again(operand, 3)?;
        }
    }
    Ok(footprint)
}

/// `scatter_sorted_floats`.
fn sorted_floats(call: &Call<'_>) -> Result<Footprint, Wrong> {
    sorted(call, 4)
}

/// `scatter_sorted_words`.
fn sorted_words(call: &Call<'_>) -> Result<Footprint, Wrong> {
    sorted(call, of_words(call, 0)?)
}
