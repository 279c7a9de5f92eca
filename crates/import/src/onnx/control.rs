//! Branches and loops, whose bodies are subgraphs.

use super::body::{Body, Turns, truth};
use super::call::Call;
use super::{OnnxError, Results, Rule, rule};
use pumice_ir::Value;
use pumice_ir::ops::loop_::MOST_TURNS;
use pumice_ir::ops::scan::{Scan, ScanAxis};
use pumice_types::{DType, DimExpr};

pub(super) const RULES: &[Rule] = &[rule("If", 1, if_), rule("Loop", 11, loop_), rule("Scan", 9, scan)];

/// A constant condition is decided here: of its branches one is built.
fn if_(c: &mut Call<'_>) -> Results {
    let (bodies, g) = (branches(c)?, c.g);
    let known = match known_truth(c, 0)? {
        Some(known) => DimExpr::constant(i64::from(known)),
        None => g.choice(c.x(0)?),
    };
    if let Some(taken) = known.as_const() {
        return bodies[usize::from(taken == 0)].build(g, &[], c.around());
    }
    let then = bodies[0].build(g, &[], c.around())?;
    let otherwise = bodies[1].build(g, &[], c.around())?;
    Ok(then.into_iter().zip(otherwise).map(|(a, b)| g.join_branches(&known, a, b)).collect())
}

/// Both branches, of as many outputs each.
fn branches<'a>(c: &mut Call<'a>) -> Result<[Body<'a>; 2], OnnxError> {
    let bodies = [subgraph(c, "then_branch")?, subgraph(c, "else_branch")?];
    for (body, name) in bodies.iter().zip(["then_branch", "else_branch"]) {
        expect_places(c, name, ("inputs", body.graph.inputs.len()), 0)?;
        let outputs = bodies[0].graph.outputs.len();
        expect_places(c, name, ("outputs", body.graph.outputs.len()), outputs)?;
    }
    Ok(bodies)
}

fn subgraph<'a>(c: &mut Call<'a>, name: &'static str) -> Result<Body<'a>, OnnxError> {
    let graph = c.graph(name)?;
    Ok(Body { op: c.op, graph, opset: c.opset, subgraphs: c.subgraphs })
}

fn expect_places(
    c: &Call<'_>,
    name: &str,
    (what, count): (&str, usize),
    wanted: usize,
) -> Result<(), OnnxError> {
    match count == wanted {
        true => Ok(()),
        false => Err(c.wrong(name, format!("has {count} {what}, must have {wanted}"))),
    }
}

/// A truth value that is a constant.
fn known_truth(c: &mut Call<'_>, place: usize) -> Result<Option<bool>, OnnxError> {
    let wrong = OnnxError::NotConstant { op: c.op, input: place, expected: "one truth value" };
    if !c.are_constants(place..place + 1) {
        return Ok(None);
    }
    let tensor = c.opt_tensor(place, "one truth value")?;
    tensor.map(|t| truth(&t).ok_or(wrong)).transpose()
}

/// A Loop: the trip count, where it is known before a run, and the condition.
struct LoopNode<'a> {
    body: Body<'a>,
    carried: Vec<Value>,
    turns: Option<DimExpr>,
    /// Whether there is a first turn, where that is known.
    begins: Option<bool>,
}

/// Turns that are known before a run are counted. Others are as many as conditions allow: a trip count that is known
/// before a run bounds them, else what the caller says. Exporters write larger ones than any loop takes for loops that
/// a condition ends.
fn loop_(c: &mut Call<'_>) -> Results {
    let body = subgraph(c, "body")?;
    let carried = (2..c.count()).map(|place| c.x(place)).collect::<Result<Vec<_>, _>>()?;
    expect_places(c, "body", ("inputs", body.graph.inputs.len()), carried.len() + 2)?;
    if body.graph.outputs.len() <= carried.len() {
        return Err(c.wrong("body", format!("must have {} outputs or more", carried.len() + 1)));
    }
    let turns = c.known_expr(0)?.filter(|n| n.as_const().is_none_or(|n| n <= MOST_TURNS));
    let begins = if c.count() > 1 && c.has(1) { known_truth(c, 1)? } else { Some(true) };
    let l = LoopNode { body, carried, turns, begins };
    match (l.begins, &l.turns) {
        (Some(false), _) => counted(c, &l, DimExpr::constant(0)),
        (Some(true), Some(turns)) if l.body.keeps(0, 1) => counted(c, &l, turns.clone()),
        _ => conditional(c, &l),
    }
}

fn counted(c: &mut Call<'_>, l: &LoopNode<'_>, turns: DimExpr) -> Results {
    let g = c.g;
    let goes_on = g.constant_scalar(DType::Bool, 1.0);
    let body = Turns::of(&l.body, c.around());
    let (mut last, outputs) = g.loop_collecting_values(turns, &l.carried, |g, i, carried| {
        let inputs = [&[g.cast(i, DType::I64), goes_on], carried].concat();
        let mut next = body.turn(g, &inputs).split_off(1);
        let outputs = next.split_off(carried.len());
        (next, outputs)
    });
    last.extend(outputs);
    body.finish(last)
}

/// How many turns a condition may allow: as many as a trip count that is known says, else what the caller does.
fn most_turns(c: &Call<'_>, turns: Option<&DimExpr>) -> Result<u64, OnnxError> {
    let symbols = c.g.symbols().unwrap_or_default();
    let known = turns.map(|turns| turns.upper(&symbols)).filter(|turns| *turns <= MOST_TURNS.unsigned_abs());
    known.or_else(|| c.largest_extent()).ok_or(OnnxError::NoLargestExtent { op: c.op })
}

fn conditional(c: &mut Call<'_>, l: &LoopNode<'_>) -> Results {
    let g = c.g;
    let most = most_turns(c, l.turns.as_ref())?;
    let limit = c.opt(0).map(|m| g.cast(g.reshape(m, &[]), DType::I64));
    let begins = c.opt(1).map(|condition| g.reshape(condition, &[]));
    let begins = begins.unwrap_or_else(|| g.constant_scalar(DType::Bool, 1.0));
    let (zero, one) = (g.constant_scalar(DType::I32, 0.0), g.constant_scalar(DType::I32, 1.0));
    let all = [&[zero, begins], &l.carried[..]].concat();
    let body = Turns::of(&l.body, c.around());
    let (mut last, outputs) = g.while_collecting_values(
        most,
        &all,
        |g, all| limit.map_or(all[1], |m| g.and(all[1], g.less(g.cast(all[0], DType::I64), m))),
        |g, all| {
            let inputs = [&[g.cast(all[0], DType::I64), all[1]], &all[2..]].concat();
            let mut made = body.turn(g, &inputs);
            let outputs = made.split_off(all.len() - 1);
            let next = [&[g.add(all[0], one), g.reshape(made[0], &[])], &made[1..]].concat();
            (next, outputs)
        },
    );
    let mut results = last.split_off(2);
    results.extend(outputs);
    body.finish(results)
}

fn scan(c: &mut Call<'_>) -> Results {
    let body = subgraph(c, "body")?;
    let inputs = c.whole("num_scan_inputs", 0)? as usize;
    let states = c.count().checked_sub(inputs).filter(|_| inputs > 0);
    let states =
        states.ok_or_else(|| c.wrong("num_scan_inputs", format!("is {inputs} of {} inputs", c.count())))?;
    expect_places(c, "body", ("inputs", body.graph.inputs.len()), c.count())?;
    let outputs = body.graph.outputs.len().checked_sub(states);
    let outputs = outputs.ok_or_else(|| c.wrong("body", format!("must have {states} outputs or more")))?;
    let op = Scan {
        inputs: axes(c, inputs, ["scan_input_axes", "scan_input_directions"])?,
        outputs: axes(c, outputs, ["scan_output_axes", "scan_output_directions"])?,
        length: None,
    };
    let (g, all) = (c.g, c.all()?);
    let (carried, inputs) = all.split_at(states);
    let body = Turns::of(&body, c.around());
    let turn = |g: &pumice_ir::GraphBuilder, carried: &[Value], slices: &[Value]| {
        let mut next = body.turn(g, &[carried, slices].concat());
        let outputs = next.split_off(carried.len());
        (next, outputs)
    };
    let (mut last, outputs) = g.scan_values(carried, inputs, turn, op);
    last.extend(outputs);
    body.finish(last)
}

/// Axes with their directions, of which either may be left out.
fn axes(
    c: &mut Call<'_>,
    count: usize,
    [axes, directions]: [&'static str; 2],
) -> Result<Vec<ScanAxis>, OnnxError> {
    let mut list = |name: &'static str| {
        let list = c.opt_ints_of(name)?.unwrap_or_else(|| vec![0; count]);
        expect_places(c, name, ("numbers", list.len()), count)?;
        Ok(list)
    };
    let (axes, ways) = (list(axes)?, list(directions)?);
    if let Some(way) = ways.iter().find(|way| !matches!(way, 0 | 1)) {
        return Err(c.wrong(directions, format!("has {way}, must be 0 or 1 each")));
    }
    Ok(axes.into_iter().zip(ways).map(|(axis, way)| ScanAxis { axis, reverse: way == 1 }).collect())
}
