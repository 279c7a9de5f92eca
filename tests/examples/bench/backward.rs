//! G15: gradients of ops in shapes that were drawn before any kernel was tuned for them
//! (tests/reference/backward_shapes.py), beside PyTorch's backward pass alone (tests/reference/torch_backward.py).
//!
//! All operands are states. A gradient that reads what the forward pass found (statistics, attention's result) is timed
//! as what a graph of both takes beyond the forward one, as in training, where the forward pass is there anyway; a
//! cross-entropy together with its gradient; any other alone. Numbers are compared before: with the interpreter's where
//! sizes are small, else with those of the unfused graph on the device.

use crate::backward_kinds::{Forward, Kind, Timed};
use crate::clock::{self, Times};
use crate::data;
use crate::rig::{self, Rig};
use crate::row::{Bar, Figures, Outcome, Row};
use crate::{Case, Spelled};
use pumice::{
    DType, Device, Executable, Graph, GraphBuilder, Node, Options, Patch, Session, Tensor, Value, f32,
};
use pumice_ir::PatchRef;
use serde::Deserialize;

/// Elements of a result that are looked at, at its beginning and at its end.
const COMPARED: usize = 256;
/// How far elements may lie apart, of the largest.
const APART: f64 = 2e-4;
/// Microseconds that do not count in [`Bar::RatioBeyond`], and the least ratio there.
const BEYOND: f64 = 5.0;
const LEAST: f64 = 0.5;

/// What `backward_shapes.py` drew.
const DRAWN: &str = include_str!("../../data/backward_shapes.json");

#[derive(Debug, Deserialize)]
struct Lists {
    full: Vec<Drawn>,
    small: Vec<Drawn>,
}

/// A case.
#[derive(Clone, Debug, Deserialize)]
struct Drawn {
    name: String,
    #[serde(flatten)]
    kind: Kind,
}

/// What of a case a graph computes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Forward,
    Gradient,
    Both,
}

/// The committed cases.
pub fn cases(full: bool) -> Outcome<Vec<Case>> {
    let lists: Lists = serde_json::from_str(DRAWN)?;
    let drawn = if full { lists.full } else { lists.small };
    let case = |drawn: Drawn| {
        let spelled = drawn.clone();
        let graph = move || Ok(Spelled { graph: spelled.graph(spelled.part())?, fused: true });
        Case::new(format!("G15.{}", drawn.name), move |rig| drawn.measure(rig)).spelled(graph)
    };
    Ok(drawn.into_iter().map(case).collect())
}

impl Drawn {
    /// What the timed graph computes.
    fn part(&self) -> Part {
        if self.kind.timed() == Timed::Alone { Part::Gradient } else { Part::Both }
    }

    fn graph(&self, part: Part) -> Outcome<Graph> {
        let g = GraphBuilder::new("backward");
        let Forward { y, wanted } = self.kind.forward(&g);
        if part != Part::Gradient {
            looked_at(&g, "y", y);
        }
        if part != Part::Forward {
            for (i, gradient) in g.grad(loss(&g, y), &wanted).into_iter().enumerate() {
                looked_at(&g, &format!("gradient{i}"), gradient);
            }
        }
        with_given_gradient(g.build()?)
    }

    fn measure(&self, rig: &Rig) -> Outcome<Vec<Row>> {
        let name = format!("G15.{}", self.name);
        let (exe, mut session) = self.load(rig, self.part(), true)?;
        let checked = self.check(rig, &mut session)?;
        let whole = clock::device(&mut session, &[], rig.gpu_pace())?;
        let row = |times: Times, bar: Bar| Row {
            bar,
            judged: rig.judges_gpu(),
            checked: checked.clone(),
            notes: rig::notes(times, rig.judges_gpu()),
            ..Row::new(name.clone(), times, "device")
        };
        let figures = Some(Figures::of(&exe, 0));
        if self.kind.timed() != Timed::Beyond {
            return Ok(vec![Row { figures, ..row(whole, Bar::RatioBeyond(LEAST, BEYOND)) }]);
        }
        let (_, mut session) = self.load(rig, Part::Forward, true)?;
        let forward = clock::device(&mut session, &[], rig.gpu_pace())?;
        let gradient = less(whole, forward);
        let mut rows = vec![
            Row { case: format!("{name}.forward"), ..row(forward, Bar::None) },
            Row { figures, ..row(gradient, Bar::RatioBeyond(LEAST, BEYOND)) },
        ];
        if matches!(self.kind, Kind::Attention(_)) {
            let bar = Bar::TimesOf(format!("{name}.forward"), 3.5);
            rows.push(Row { case: format!("{name}.by_forward"), ..row(gradient, bar) });
        }
        Ok(rows)
    }

    /// A graph of the case on the device, its states filled.
    fn load(&self, rig: &Rig, part: Part, fused: bool) -> Outcome<(Executable, Session)> {
        let (exe, mut session) = rig.load(&self.graph(part)?, fused, &[])?;
        self.fill(&exe, &mut session)?;
        Ok((exe, session))
    }

    fn fill(&self, exe: &Executable, session: &mut Session) -> Outcome {
        for slot in &exe.plan().states {
            let seed = 41 + slot.name.bytes().map(u64::from).sum::<u64>();
            let count = slot.shape.iter().product::<u64>() as usize;
            let mut state = session.state(&slot.name)?;
            if slot.dtype == DType::F32 {
                state.write_f32(&data::random(seed, count, -1.0, 1.0))?;
                continue;
            }
            let drawn = data::random(seed, count, 0.0, self.kind.among() as f32);
            let most = self.kind.among() as i32 - 1;
            let mut drawn: Vec<i32> = drawn.iter().map(|&v| (v as i32).min(most)).collect();
            // The first and the last row of a table are looked at: neither is to be 0.
            for (at, row) in [(0, 0), (count - 1, most)] {
                drawn[at] = row;
            }
            state.write(Tensor::new(&drawn, &slot.shape)?.view())?;
        }
        Ok(())
    }

    /// Every looked-at element beside another way's: the session's states are as they were filled.
    fn check(&self, rig: &Rig, session: &mut Session) -> Outcome<String> {
        let graph = self.graph(self.part())?;
        let (way, mut other) = if rig.judges_gpu() {
            ("the unfused graph", self.load(rig, self.part(), false)?.1)
        } else {
            let options = Options::default().precision(rig.args.precision);
            let exe = pumice::compile(&graph, &Device::cpu(), &options)?;
            let mut session = exe.session()?;
            self.fill(&exe, &mut session)?;
            ("the interpreter", session)
        };
        let (found, wanted) = (session.run(&[])?, other.run(&[])?);
        let (mut worst, mut elements) = (0.0f64, 0);
        for output in graph.outputs() {
            let wanted: Vec<f64> =
                wanted.get(&output.name)?.to_vec::<f32>()?.iter().map(|&v| f64::from(v)).collect();
            let largest = wanted.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            if largest == 0.0 && output.name.ends_with("first") {
                return Err(format!("{} is 0 everywhere: nothing is compared", output.name).into());
            }
            let found = found.get(&output.name)?.to_vec::<f32>()?;
            elements += found.len();
            worst = worst.max(data::worst_within(&found, &wanted, |_| APART * largest + rig.rounded())?);
        }
        Ok(format!("{elements} elements against {way}: {worst:.1e}"))
    }
}

/// The name of dy.
const GIVEN: &str = "given";

/// What has dy for its gradient by y: the sum of y·dy, of a loss itself.
fn loss(g: &GraphBuilder, y: Value) -> Value {
    let Some(ty) = g.type_of(y).filter(|ty| ty.rank() > 0) else { return y };
    let dy = g.state("dy", f32(ty.shape.iter().cloned()));
    let axes: Vec<i64> = (0..ty.rank() as i64).collect();
    g.reduce_sum(g.mul(y, g.named(GIVEN).state_read(dy)), &axes, false)
}

/// The graph with dy itself where it says 1·dy by an `elementwise_grad` of y·dy, which has y among its operands: what
/// makes y is no part of a gradient that reads operands alone.
fn with_given_gradient(graph: Graph) -> Outcome<Graph> {
    let Some(dy) = graph.find(GIVEN) else { return Ok(graph) };
    let reads_it = |node: &Node| node.op.name() == "elementwise_grad" && node.operands().any(|v| v == dy);
    let Some((_, node)) = graph.nodes().find(|(_, node)| reads_it(node)) else { return Ok(graph) };
    let mut patch = Patch::new("dy is given");
    patch.replace(node.output(), PatchRef::Old(dy));
    Ok(graph.apply(&[patch])?)
}

/// The first and the last elements as outputs: these lie where the host sees them.
fn looked_at(g: &GraphBuilder, name: &str, value: Value) {
    let extents =
        g.type_of(value).and_then(|ty| ty.shape.iter().map(|e| e.as_const()).collect::<Option<Vec<_>>>());
    let n: i64 = extents.map_or(0, |extents| extents.iter().product());
    let flat = g.reshape(value, &[n]);
    let compared = n.min(COMPARED as i64);
    g.output(&format!("{name}.first"), g.slice(flat, &[0], &[compared], &[0], &[1]));
    g.output(&format!("{name}.last"), g.slice(flat, &[n - compared], &[n], &[0], &[1]));
}

/// What both take beyond the forward pass; a hundredth of a microsecond where the clock cannot tell.
fn less(both: Times, forward: Times) -> Times {
    let beyond = |us: f64| (us - forward.median).max(0.01);
    Times { median: beyond(both.median), min: beyond(both.min), max: beyond(both.max), ..both }
}

/// The ratios of all G15 rows in one line: geometric mean, least, and how many are below [`LEAST`] beyond [`BEYOND`].
pub fn summary(rows: &[Row]) -> Option<String> {
    let of_g15 = rows.iter().filter(|row| row.case.starts_with("G15."));
    let ratios: Vec<(&Row, f64)> = of_g15.filter_map(|row| Some((row, row.ratio()?))).collect();
    let (least, ratio) = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let mean = (ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let is_below =
        |row: &Row| row.reference.as_ref().is_some_and(|r| row.times.median - BEYOND > r.us / LEAST);
    let below = ratios.iter().filter(|(row, _)| is_below(row)).count();
    let (count, least) = (ratios.len(), &least.case);
    Some(format!(
        "G15: {count} ratios, geometric mean {mean:.3}, least {ratio:.3} ({least}), {below} below {LEAST} beyond {BEYOND} us"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Reference;

    fn row(case: &str, us: f64, reference: Option<f64>) -> Row {
        let reference = reference.map(|us| Reference { us, from: String::new() });
        Row { reference, ..Row::new(case, Times { median: us, ..Times::default() }, "device") }
    }

    #[test]
    fn ratios_are_summed_up() {
        let rows = [
            row("G15.a", 100.0, Some(400.0)),
            row("G15.b", 40.0, Some(10.0)),
            row("G15.c", 10.0, Some(4.0)),
            row("G15.c.forward", 10.0, None),
            row("F8.d", 1.0, Some(1.0)),
        ];
        let wanted = "G15: 3 ratios, geometric mean 0.737, least 0.250 (G15.b), 1 below 0.5 beyond 5 us";
        assert_eq!(summary(&rows).as_deref(), Some(wanted));
        assert_eq!(summary(&rows[3..]), None);
    }

    /// A product's gradient is one product: what the forward pass computes is not timed.
    #[test]
    fn gradients_alone_have_no_forward_pass() {
        let lists: Lists = serde_json::from_str(DRAWN).expect("what the script wrote");
        for drawn in lists.full.iter().filter(|d| matches!(d.kind, Kind::Nt(_) | Kind::Tn(_))) {
            let graph =
                drawn.graph(Part::Gradient).and_then(|g| Ok(g.without_dead_nodes()?)).expect("a graph");
            let products = graph.nodes().filter(|(_, node)| node.op.name() == "matmul").count();
            assert_eq!(products, 1, "{}", drawn.name);
        }
    }

    /// The drawn lists are whole, and every gradient has a graph.
    #[test]
    fn forty_cases_are_drawn() {
        let lists: Lists = serde_json::from_str(DRAWN).expect("what the script wrote");
        assert_eq!(lists.full.len(), 40);
        for drawn in lists.full.iter().chain(&lists.small) {
            drawn.graph(drawn.part()).unwrap_or_else(|e| panic!("{}: {e}", drawn.name));
        }
    }
}
