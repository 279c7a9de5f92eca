//! Scatter. Indices are data: kernels compare each with its axis, and read the updates that hit an element.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::tuple::Tuple;
use super::{Footprint, Rule, Wrong};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("scatter_floats", floats), ("scatter_words", words)];

/// Axes of data whose elements have indices of their own.
const AXES: usize = 8;

/// What is counted of a call.
struct Updates {
    /// Elements of data before, along and after what indices index.
    axis: [u64; 3],
    /// Index tensor.
    indices: Accesses,
    /// How many indices there are.
    count: u64,
    /// Elements of the updates.
    updates: u64,
}

impl Updates {
    fn of(call: &Call<'_>) -> Result<Updates, Wrong> {
        if call.flag("elements")? { Updates::of_elements(call) } else { Updates::of_rows(call) }
    }

    fn of_rows(call: &Call<'_>) -> Result<Updates, Wrong> {
        let [count, inner, along] = call.counts(["count", "inner", "along"])?;
        law(along == 0, || format!("rows along axis {along}"))?;
        for i in 0..AXES {
            law(call.count_at("taken", i)? == 0, || "rows that are taken apart".to_owned())?;
        }
        let tuple = Tuple::of(call, 1)?;
        let (axis, updates) = ([1, tuple.places, inner], iteration(&[count, inner])?);
        Ok(Updates {
            axis,
            indices: tuple.indices(count)?,
            count: iteration(&[count, tuple.parts])?,
            updates,
        })
    }

    fn of_elements(call: &Call<'_>) -> Result<Updates, Wrong> {
        let [count, inner, parts, along] = call.counts(["count", "inner", "parts", "along"])?;
        law((inner, parts) == (1, 1), || format!("elements in rows of {inner}, with {parts} indices each"))?;
        let wide = call.flag("wide")?;
        law(wide == call.is_wide(1), || format!("`wide` is {wide}, its indices are not"))?;
        let (mut dims, mut taken) = ([0; AXES], [0; AXES]);
        for i in 0..AXES {
            (dims[i], taken[i]) = (call.count_at("dims", i)?, call.count_at("taken", i)?);
            let fits = taken[i] <= dims[i] || i as u64 == along;
            law(fits, || format!("{} indices on an axis of {}", taken[i], dims[i]))?;
        }
        let along =
            usize::try_from(along).ok().filter(|a| *a < AXES).ok_or_else(|| format!("axis {along}"))?;
        law(count == taken[along], || format!("{count} updates of a line, {} indices", taken[along]))?;
        let (all, before, after) =
            (iteration(&taken)?, iteration(&dims[..along])?, iteration(&dims[along + 1..])?);
        let indices = Accesses::dense(if wide { 8 } else { 4 }, all);
        Ok(Updates { axis: [before, dims[along], after], indices, count: all, updates: all })
    }
}

/// Of elements of this width.
fn scatter(call: &Call<'_>, unit: u64) -> Result<Footprint, Wrong> {
    let [n, indices] = call.counts(["n", "indices"])?;
    let of = Updates::of(call)?;
    let elements = iteration(&of.axis)?;
    law(n == elements, || format!("`n` is {n}, data have {elements} elements"))?;
    law(indices == of.count, || format!("`indices` is {indices}, there are {}", of.count))?;
    let footprint = Footprint::new(n.max(indices).div_ceil(256), 256)
        .operand(0, Accesses::dense(unit, n))
        .operand(1, of.indices)
        .operand(2, Accesses::dense(unit, of.updates))
        .operand(3, Accesses::dense(unit, n));
    Ok(Footprint { axis: Some(of.axis), ..footprint })
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
