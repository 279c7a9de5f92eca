//! Shapes, movement, indices, constants.

use super::call::{Call, one};
use super::{OnnxError, Results, Rule, found, rule};
use pumice_ir::Value;
use pumice_ir::ops::depth_to_space::DepthOrder;
use pumice_ir::ops::kv_append::AppendMode;
use pumice_ir::ops::pad::{Pad, PadMode};
use pumice_ir::ops::scatter::ScatterReduction;
use pumice_ir::ops::tensor_scatter::TensorScatter;
use pumice_types::{DType, DimExpr, Tensor};

pub(super) const RULES: &[Rule] = &[
    rule("Constant", 1, constant),
    rule("ConstantOfShape", 9, constant_of_shape),
    rule("Reshape", 5, reshape),
    rule("Flatten", 1, flatten),
    rule("Squeeze", 1, squeeze),
    rule("Unsqueeze", 1, unsqueeze),
    rule("Transpose", 1, transpose),
    rule("Expand", 8, expand),
    rule("Concat", 4, concat),
    rule("Split", 2, split),
    rule("Slice", 10, slice),
    rule("Pad", 11, pad),
    rule("Tile", 6, tile),
    rule("Trilu", 14, trilu),
    rule("EyeLike", 9, eye_like),
    rule("DepthToSpace", 1, depth_to_space),
    rule("SpaceToDepth", 1, space_to_depth),
    rule("Shape", 1, shape),
    rule("Size", 1, size),
    rule("Range", 11, range),
    rule("OneHot", 9, one_hot),
    rule("Gather", 1, gather),
    rule("GatherElements", 11, gather_elements),
    rule("GatherND", 11, gather_nd),
    rule("Scatter", 9, scatter_elements),
    rule("ScatterElements", 11, scatter_elements),
    rule("ScatterND", 11, scatter_nd),
    rule("TensorScatter", 24, tensor_scatter),
];

/// Integers of an input, or of an attribute in opsets where they were one.
pub(super) fn ints_or_attribute(
    c: &mut Call<'_>,
    place: usize,
    name: &'static str,
) -> Result<Option<Vec<i64>>, OnnxError> {
    match c.opt_ints(place)? {
        Some(list) => Ok(Some(list)),
        None => c.opt_ints_of(name),
    }
}

fn constant(c: &mut Call<'_>) -> Results {
    one(match numbers(c)? {
        Some(made) => c.g.constant(made),
        None => {
            let tensor = c.tensor("value")?.ok_or_else(|| c.wrong("value", "is missing"))?;
            c.subgraphs.constant(c.g, tensor)
        }
    })
}

/// A constant that is written as numbers.
fn numbers(c: &mut Call<'_>) -> Result<Option<Tensor>, OnnxError> {
    let whole = c.opt_int_of("value_int")?.map(|i| Tensor::new(&[i], &[]));
    let wholes = c.opt_ints_of("value_ints")?.map(|v| Tensor::new(&v, &[v.len() as u64]));
    let float = c.opt_float("value_float")?.map(|f| Tensor::new(&[f], &[]));
    let floats = c.says("value_floats").then(|| c.floats("value_floats")).transpose()?;
    let floats = floats.map(|v| Tensor::new(&v, &[v.len() as u64]));
    let made = [whole, wholes, float, floats].into_iter().flatten().next().transpose();
    made.map_err(|e| c.wrong("value", e.to_string()))
}

fn constant_of_shape(c: &mut Call<'_>) -> Results {
    let shape = c.known_ints(0)?.into_iter().map(DimExpr::constant).collect();
    let value = match c.tensor("value")? {
        Some(tensor) => c.subgraphs.constant(c.g, tensor),
        None => c.g.constant_scalar(DType::F32, 0.0),
    };
    one(c.g.fill(c.g.reshape(value, &[]), shape))
}

/// A 0 keeps the operand's extent, unless `allowzero` makes it an extent; -1 is what is left.
fn reshape(c: &mut Call<'_>) -> Results {
    let (x, shape, allow_zero) = (c.x(0)?, c.known_ints(1)?, c.flag("allowzero", false)?);
    let from = c.ty(x)?.shape;
    let beyond = |axis: usize| c.unsupported(format!("a 0 for axis {axis}, which the operand does not have"));
    let extent = |(axis, &n): (usize, &i64)| match n {
        0 if !allow_zero => from.get(axis).cloned().ok_or_else(|| beyond(axis)),
        n => Ok(DimExpr::constant(n)),
    };
    let shape = shape.iter().enumerate().map(extent).collect::<Result<Vec<_>, _>>()?;
    one(c.g.reshape_to(x, shape))
}

fn flatten(c: &mut Call<'_>) -> Results {
    let (x, axis) = (c.x(0)?, c.int("axis", 1)?);
    one(c.g.flatten(x, axis))
}

fn squeeze(c: &mut Call<'_>) -> Results {
    let (x, axes) = (c.x(0)?, ints_or_attribute(c, 1, "axes")?);
    one(c.g.squeeze(x, &axes.unwrap_or_default()))
}

fn unsqueeze(c: &mut Call<'_>) -> Results {
    let (x, axes) = (c.x(0)?, ints_or_attribute(c, 1, "axes")?);
    let axes = axes.ok_or(OnnxError::MissingInput { op: c.op, input: 1 })?;
    one(c.g.unsqueeze(x, &axes))
}

fn transpose(c: &mut Call<'_>) -> Results {
    let (x, perm) = (c.x(0)?, c.opt_ints_of("perm")?);
    let reversed = |rank: usize| (0..rank as i64).rev().collect();
    let perm = match perm {
        Some(perm) => perm,
        None => reversed(c.ty(x)?.rank()),
    };
    one(c.g.transpose(x, &perm))
}

fn expand(c: &mut Call<'_>) -> Results {
    let (x, shape) = (c.x(0)?, c.known_ints(1)?);
    one(c.g.expand(x, &shape))
}

fn concat(c: &mut Call<'_>) -> Results {
    let (xs, axis) = (c.all()?, c.opt_int_of("axis")?);
    let axis = axis.ok_or_else(|| c.wrong("axis", "is missing"))?;
    one(c.g.concat(&xs, axis))
}

/// Parts by sizes, else as many equal ones as the node has outputs or says; the last may be smaller.
fn split(c: &mut Call<'_>) -> Results {
    let (x, axis, sizes) = (c.x(0)?, c.int("axis", 0)?, ints_or_attribute(c, 1, "split")?);
    let outputs = c.outputs();
    let parts = c.whole("num_outputs", outputs as u64)?;
    if parts != outputs as u64 {
        return Err(c.wrong("num_outputs", format!("is {parts}, the node has {outputs} outputs")));
    }
    Ok(match sizes {
        Some(sizes) => c.g.split(x, axis, &sizes),
        None => c.g.split_equal(x, axis, outputs as i64),
    })
}

fn slice(c: &mut Call<'_>) -> Results {
    let (x, starts, ends) = (c.x(0)?, c.known_ints(1)?, c.known_ints(2)?);
    let (axes, steps) = (c.opt_ints(3)?.unwrap_or_default(), c.opt_ints(4)?.unwrap_or_default());
    one(c.g.slice(x, &starts, &ends, &axes, &steps))
}

fn pad(c: &mut Call<'_>) -> Results {
    let modes = [
        ("constant", PadMode::Constant),
        ("reflect", PadMode::Reflect),
        ("edge", PadMode::Edge),
        ("wrap", PadMode::Wrap),
    ];
    let (x, pads, mode) = (c.x(0)?, c.known_ints(1)?, c.choice("mode", "constant", &modes)?);
    let axes = c.opt_ints(3)?.unwrap_or_default();
    let value = if mode == PadMode::Constant { c.opt(2) } else { None };
    let value = value.map(|v| c.g.reshape(v, &[]));
    one(c.g.pad(x, value, Pad { mode, pads, axes }))
}

fn tile(c: &mut Call<'_>) -> Results {
    let (x, repeats) = (c.x(0)?, c.known_counts(1)?);
    one(c.g.tile(x, &repeats))
}

fn trilu(c: &mut Call<'_>) -> Results {
    let (x, k, upper) = (c.x(0)?, c.opt_int(1)?.unwrap_or(0), c.flag("upper", true)?);
    one(c.g.trilu(x, k, upper))
}

fn eye_like(c: &mut Call<'_>) -> Results {
    let (x, k, dtype) = (c.x(0)?, c.int("k", 0)?, c.opt_dtype("dtype")?);
    one(c.g.eye_like(x, dtype, k))
}

/// The side of a block, and how its channels lie.
fn blocks(c: &mut Call<'_>) -> Result<(u64, DepthOrder), OnnxError> {
    let orders = [("DCR", DepthOrder::PlaceFirst), ("CRD", DepthOrder::ChannelFirst)];
    Ok((c.whole("blocksize", 0)?, c.choice("mode", "DCR", &orders)?))
}

fn depth_to_space(c: &mut Call<'_>) -> Results {
    let (x, (blocksize, order)) = (c.x(0)?, blocks(c)?);
    one(c.g.depth_to_space(x, blocksize, order))
}

fn space_to_depth(c: &mut Call<'_>) -> Results {
    let (x, (blocksize, order)) = (c.x(0)?, blocks(c)?);
    one(c.g.space_to_depth(x, blocksize, order))
}

fn shape(c: &mut Call<'_>) -> Results {
    let (x, start, end) = (c.x(0)?, c.int("start", 0)?, c.opt_int_of("end")?);
    one(c.g.shape(x, start, end))
}

fn size(c: &mut Call<'_>) -> Results {
    let x = c.x(0)?;
    one(c.g.size(x))
}

fn range(c: &mut Call<'_>) -> Results {
    if !c.are_constants(0..3) {
        return found::range(c);
    }
    let start = c.opt_tensor(0, "one number")?.ok_or(OnnxError::MissingInput { op: c.op, input: 0 })?;
    let dtype = start.dtype();
    if !dtype.is_float() {
        let (start, limit, delta) = (c.known_int(0)?, c.known_int(1)?, c.known_int(2)?);
        let [start, limit] = [start, limit].map(DimExpr::constant);
        return one(c.g.range(start, limit, delta, dtype));
    }
    let (start, limit, delta) = (c.known_float(0)?, c.known_float(1)?, c.known_float(2)?);
    one(c.g.range_of_floats(start, limit, delta, dtype))
}

/// Depths and indices may be floats that are whole.
fn one_hot(c: &mut Call<'_>) -> Results {
    let (indices, depth, values) = (c.x(0)?, c.known_count(1)?, c.x(2)?);
    let axis = c.int("axis", -1)?;
    let float = c.ty(indices)?.dtype().is_float();
    let indices = if float { c.g.cast(indices, DType::I64) } else { indices };
    one(c.g.one_hot(indices, depth, Some(values), axis))
}

fn gather(c: &mut Call<'_>) -> Results {
    let (data, indices, axis) = (c.x(0)?, c.x(1)?, c.int("axis", 0)?);
    one(c.g.gather(data, indices, axis))
}

fn gather_elements(c: &mut Call<'_>) -> Results {
    let (data, indices, axis) = (c.x(0)?, c.x(1)?, c.int("axis", 0)?);
    one(c.g.gather_elements(data, indices, axis))
}

fn gather_nd(c: &mut Call<'_>) -> Results {
    let (data, indices, batch_dims) = (c.x(0)?, c.x(1)?, c.whole("batch_dims", 0)?);
    one(c.g.gather_nd(data, indices, batch_dims))
}

fn reduction(c: &mut Call<'_>) -> Result<ScatterReduction, OnnxError> {
    let words = ["none", "add", "mul", "max", "min"];
    let choices: Vec<_> = words.into_iter().zip(ScatterReduction::ALL).collect();
    c.choice("reduction", "none", &choices)
}

fn updates(c: &mut Call<'_>) -> Result<[Value; 3], OnnxError> {
    Ok([c.x(0)?, c.x(1)?, c.x(2)?])
}

fn scatter_elements(c: &mut Call<'_>) -> Results {
    let ([data, indices, updates], axis, reduction) = (updates(c)?, c.int("axis", 0)?, reduction(c)?);
    one(c.g.scatter_elements(data, indices, updates, axis, reduction))
}

fn scatter_nd(c: &mut Call<'_>) -> Results {
    let ([data, indices, updates], reduction) = (updates(c)?, reduction(c)?);
    one(c.g.scatter_nd(data, indices, updates, reduction))
}

fn tensor_scatter(c: &mut Call<'_>) -> Results {
    let modes = [("linear", AppendMode::Linear), ("circular", AppendMode::Circular)];
    let (cache, update, pos) = (c.x(0)?, c.x(1)?, c.opt(2));
    let (axis, mode) = (c.int("axis", -2)?, c.choice("mode", "linear", &modes)?);
    one(c.g.tensor_scatter(cache, update, pos, TensorScatter { axis, mode }))
}
