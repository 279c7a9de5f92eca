//! Scatter. Indices are data: kernels compare each with its axis, and read the updates that hit an element.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::tuple::Tuple;
use super::{Footprint, Rule, Wrong};
use crate::check::numbers::Number;
use crate::kernels::scatter::CHUNK;
use pumice_types::MAX_RANK;

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("scatter_floats", floats),
    ("scatter_listed_floats", listed),
    ("scatter_words", words),
    ("scatter_places", places),
    ("scatter_partial_floats", partial_floats),
    ("scatter_partial_words", partial_words),
    ("scatter_sorted_floats", sorted_floats),
    ("scatter_sorted_words", sorted_words),
];

/// What a call touches besides its result.
struct Updates<'i> {
    /// The elements that there are.
    data: Accesses<'i>,
    /// Index tensor.
    indices: Accesses<'i>,
    /// How many elements and indices there are.
    counts: [Number<'i>; 2],
    updates: Accesses<'i>,
}

impl<'i> Updates<'i> {
    /// Of elements of this width.
    fn of(call: &Call<'i>, unit: u64) -> Result<Updates<'i>, Wrong> {
        if call.flag("elements")? { Updates::of_elements(call, unit) } else { Updates::of_rows(call, unit) }
    }

    fn of_rows(call: &Call<'i>, unit: u64) -> Result<Updates<'i>, Wrong> {
        let [count, inner] = call.counts(["count", "inner"])?;
        are_tuples(call, "along")?;
        let tuple = Tuple::of(call, 1)?;
        Ok(Updates {
            data: tuple.table(unit, 1, inner)?,
            indices: tuple.indices(count)?,
            counts: [iteration(&[tuple.places, inner])?, iteration(&[count, tuple.parts.into()])?],
            updates: Accesses::dense(unit, iteration(&[count, inner])?),
        })
    }

    fn of_elements(call: &Call<'i>, unit: u64) -> Result<Updates<'i>, Wrong> {
        let [count, inner] = call.counts(["count", "inner"])?;
        law(inner == 1, || format!("elements in rows of {inner}"))?;
        let line = Line::of(call, 1, "along", Some("dims"))?;
        law(count == line.count, || format!("{count} updates of a line, {} indices", line.count))?;
        Ok(Updates {
            data: line.accesses(unit, &line.dims)?,
            indices: line.accesses(line.unit, &line.taken)?,
            counts: [iteration(&line.dims)?, iteration(&line.taken)?],
            updates: line.accesses(unit, &line.taken)?,
        })
    }
}

/// Nothing is said of lines along an axis.
fn are_tuples(call: &Call<'_>, along: &'static str) -> Result<(), Wrong> {
    let [along] = call.counts([along])?;
    law(along == 0, || format!("tuples along axis {along}"))?;
    for i in 0..MAX_RANK {
        law(call.count_at("taken", i)? == 0, || "tuples that are taken apart".to_owned())?;
    }
    Ok(())
}

/// Lines along one axis, in which every index is one of its own.
#[derive(Debug)]
struct Line<'i> {
    /// Of data, and of the indices; leading axes that are not there are 1.
    dims: [Number<'i>; MAX_RANK],
    taken: [Number<'i>; MAX_RANK],
    unused: usize,
    /// Indices of a line.
    count: Number<'i>,
    /// Bytes of an index.
    unit: u64,
}

impl<'i> Line<'i> {
    /// Of indices that are that operand, into data of these extents, if they are known.
    fn of(
        call: &Call<'i>,
        indices: usize,
        along: &'static str,
        dims: Option<&str>,
    ) -> Result<Line<'i>, Wrong> {
        let [parts, along] = call.fixed_counts(["parts", along])?;
        law(parts == 1, || format!("an element has {parts} indices"))?;
        let unit = index_unit(call, indices)?;
        let mut taken = [Number::from(0); MAX_RANK];
        for (i, extent) in taken.iter_mut().enumerate() {
            *extent = call.count_at("taken", i)?;
        }
        let unused = MAX_RANK.saturating_sub(call.rank(indices));
        law(along >= unused as u64 && along < MAX_RANK as u64, || format!("axis {along}"))?;
        let mut line = Line { dims: taken, taken, unused, count: taken[along as usize], unit };
        for (i, (extent, &taken)) in line.dims.iter_mut().zip(&taken).enumerate() {
            let Some(dims) = dims else { continue };
            *extent = call.count_at(dims, i)?;
            let fits = taken <= *extent || i as u64 == along;
            law(fits, || format!("{taken} indices on an axis of {extent}"))?;
        }
        let ones = line.dims[..unused].iter().chain(&taken[..unused]).all(|&n| n == 1);
        law(ones, || format!("{line:?} where there are {} axes", MAX_RANK - unused))?;
        Ok(line)
    }

    fn accesses(&self, unit: u64, extents: &[Number<'i>; MAX_RANK]) -> Result<Accesses<'i>, Wrong> {
        Ok(Accesses::dense(unit, iteration(extents)?).within(1, &extents[self.unused..], 1))
    }
}

/// Of elements of this width.
fn scatter<'i>(call: &Call<'i>, unit: u64) -> Result<Footprint<'i>, Wrong> {
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
fn floats<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    scatter(call, 4)
}

/// `scatter_words`.
fn words<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    scatter(call, of_words(call, 0)?)
}

fn is_all<'i>(n: Number<'i>, elements: Number<'i>) -> Result<(), Wrong> {
    law(n == elements, || format!("{n} elements, there are {elements}"))
}

/// `scatter_listed_floats`.
fn listed<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n, count, inner] = call.counts(["n", "count", "inner"])?;
    let (rows, columns) = (call.power_of_two("rows", 256)?, call.power_of_two("columns", 256)?);
    law(rows * columns <= 256, || format!("{rows} places of {columns} columns in a group"))?;
    let tuple = Tuple::of(call, 1)?;
    is_all(n, iteration(&[tuple.places, inner])?)?;
    Ok(Footprint::new(tuple.places.div_ceil(rows) * inner.div_ceil(columns), rows)
        .operand(0, tuple.table(4, 1, inner)?)
        .operand(1, tuple.indices(count)?)
        .operand(2, Accesses::dense(4, iteration(&[count, inner])?))
        .operand(3, Accesses::dense(4, n)))
}

/// Bytes of the integers that are that operand.
fn of_words(call: &Call<'_>, operand: usize) -> Result<u64, Wrong> {
    let pair = call.flag("pair")?;
    law(pair == call.is_wide(operand), || format!("`pair` is {pair}, its elements are not"))?;
    call.flag("signed")?;
    law((1..=32).contains(&call.spec("bits")?), || "integers of no width".to_owned())?;
    Ok(if pair { 8 } else { 4 })
}

/// `scatter_places`. Extents of what is indexed are values.
fn places<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let ([count], [parts]) = (call.counts(["count"])?, call.fixed_counts(["parts"])?);
    law((1..=MAX_RANK as u64).contains(&parts), || format!("tuples of {parts} indices"))?;
    let indices = if call.flag("elements")? {
        let line = Line::of(call, 0, "index_axis", None)?;
        law(count == iteration(&line.taken)?, || format!("{count} updates, indices of {:?}", line.taken))?;
        line.accesses(line.unit, &line.taken)?
    } else {
        are_tuples(call, "index_axis")?;
        Accesses::dense(index_unit(call, 0)?, iteration(&[count, parts.into()])?)
    };
    Ok(Footprint::new(count.div_ceil(256), 256).operand(0, indices).operand(1, Accesses::dense(4, count)))
}

/// Bytes of the indices that are that operand.
fn index_unit(call: &Call<'_>, indices: usize) -> Result<u64, Wrong> {
    let wide = call.flag("wide")?;
    law(wide == call.is_wide(indices), || format!("`wide` is {wide}, its indices are not"))?;
    Ok(if wide { 8 } else { 4 })
}

/// Of rows of this width whose reductions have `unit` bytes, too.
fn partial<'i>(call: &Call<'i>, unit: u64) -> Result<Footprint<'i>, Wrong> {
    let [n, count, inner, span] = call.counts(["n", "count", "inner", "span"])?;
    law(span > 0 && count == n.div_ceil(span), || format!("{count} rows of {span} of {n} places"))?;
    let elements = iteration(&[count.div_ceil(CHUNK), inner])?;
    let footprint = Footprint::new(elements.div_ceil(256), 256)
        .operand(0, Accesses::dense(4, n))
        .operand(1, Accesses::dense(unit, iteration(&[count, inner])?))
        .operand(3, Accesses::dense(unit, elements));
    let given = call.flag("given")?;
    call.own_or_again(given, 2, 1)?;
    Ok(if given { footprint.operand(2, Accesses::dense(4, count)) } else { footprint })
}

/// `scatter_partial_floats`.
fn partial_floats<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    partial(call, 4)
}

/// `scatter_partial_words`.
fn partial_words<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    partial(call, of_words(call, 1)?)
}

/// Of elements of this width.
fn sorted<'i>(call: &Call<'i>, unit: u64) -> Result<Footprint<'i>, Wrong> {
    let [n, count, inner] = call.counts(["n", "count", "inner"])?;
    law(n == 0 || inner > 0 && n % inner == 0, || format!("{n} elements in rows of {inner}"))?;
    let dense = |rows: Number<'i>| iteration(&[rows, inner]).map(|all| Accesses::dense(unit, all));
    let footprint = Footprint::new(n.div_ceil(256), 256)
        .operand(0, Accesses::dense(unit, n))
        .operand(1, Accesses::dense(4, count))
        .operand(2, Accesses::dense(4, count))
        .operand(3, dense(count)?)
        .operand(6, Accesses::dense(unit, n));
    partials_of(call, footprint, dense)
}

/// Adds the partial reductions, where they are operands.
fn partials_of<'i>(
    call: &Call<'i>,
    mut footprint: Footprint<'i>,
    dense: impl Fn(Number<'i>) -> Result<Accesses<'i>, Wrong>,
) -> Result<Footprint<'i>, Wrong> {
    let (partials, [mut rows]) = (call.choice("partials", 3)?, call.counts(["count"])?);
    for level in 0..2 {
        let operand = 4 + level as usize;
        rows = rows.div_ceil(CHUNK);
        call.own_or_again(level < partials, operand, 3)?;
        if level < partials {
            footprint = footprint.operand(operand, dense(rows)?);
        }
    }
    Ok(footprint)
}

/// `scatter_sorted_floats`.
fn sorted_floats<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    sorted(call, 4)
}

/// `scatter_sorted_words`.
fn sorted_words<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    sorted(call, of_words(call, 0)?)
}
