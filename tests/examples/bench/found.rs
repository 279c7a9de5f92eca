//! What the run decides (R4): a found extent beside the same extent given, a branch beside its steps alone, turns of a
//! loop beside as many steps in a row. Both programs of a pair are timed one after the other and leave equal numbers.

use crate::Case;
use crate::clock::{self, Inputs};
use crate::data;
use crate::rig::{Rig, notes, size};
use crate::row::{Bar, Figures, Outcome, Row};
use pumice::{DType, DimExpr, Graph, GraphBuilder, TensorView, Value, f32, i32, sym};

/// The largest number of rows, of which a quarter are there.
const LARGEST: u64 = 512;
const ROWS: usize = 128;

/// Makes one of the programs.
type Make = dyn Fn(&Pair) -> Outcome<Graph>;

/// Two programs that compute the same.
struct Pair {
    name: String,
    /// Width of a row.
    width: u64,
    /// What the host says when it begins.
    given: Box<Make>,
    /// What the program finds out.
    found: Box<Make>,
    /// Whether passes fuse what is given.
    fused: bool,
    /// Of `found`, against `<name>.given`.
    bar: Bar,
}

/// The cases.
pub fn cases(full: bool) -> Vec<Case> {
    let turns = size(full, 1000, 40);
    let levels = size(full, 300, 20);
    vec![
        extent(3, 64, |given| Bar::After(given, 6.0)),
        extent(levels, size(full, 512, 32), |given| Bar::TimesOf(given, 1.02)),
        branch(10),
        turns_of_one_step(turns),
    ]
}

fn case(pair: Pair) -> Case {
    Case::new(pair.name.clone(), move |rig| pair.measure(rig))
}

/// A chain of products over rows whose number is a symbol either way.
fn extent(levels: usize, width: u64, bar: impl Fn(String) -> Bar) -> Case {
    let name = format!("R4.extent_{levels}_levels");
    let given = move |pair: &Pair| {
        let g = GraphBuilder::new("given");
        let rows = g.dim_of(g.input("rows", f32([sym("n", 0..=LARGEST)])), 0);
        pair.products(&g, rows, levels);
        Ok(g.build()?)
    };
    let found = move |pair: &Pair| {
        let g = GraphBuilder::new("found");
        let rows = g.extent_of(g.state_read(g.state("count", i32([0u64; 0]))), 0..=LARGEST);
        pair.products(&g, rows, levels);
        Ok(g.build()?)
    };
    let bar = bar(format!("{name}.given"));
    case(Pair { name, width, given: Box::new(given), found: Box::new(found), fused: true, bar })
}

/// Steps that a condition of the device allows.
fn branch(steps: usize) -> Case {
    let name = format!("R4.branch_of_{steps}_steps");
    let given = move |pair: &Pair| {
        let g = GraphBuilder::new("given");
        let y = pair.chain(&g, pair.x(&g), steps);
        g.output("y", y);
        Ok(g.build()?)
    };
    let found = move |pair: &Pair| {
        let g = GraphBuilder::new("found");
        let count = g.state_read(g.state("count", i32([0u64; 0])));
        let taken = g.greater(count, g.constant_scalar(DType::I32, 0.0));
        let x = pair.x(&g);
        let [y] = g.if_(taken, |g| [pair.chain(g, x, steps)], |g| [g.neg(x)]);
        g.output("y", y);
        Ok(g.build()?)
    };
    let bar = Bar::After(format!("{name}.given"), 4.0);
    case(Pair { name, width: 64, given: Box::new(given), found: Box::new(found), fused: true, bar })
}

/// A loop whose body is one small step, beside its steps in a row.
fn turns_of_one_step(turns: u64) -> Case {
    let name = format!("R4.loop_of_{turns}_turns");
    let given = move |pair: &Pair| {
        let g = GraphBuilder::new("given");
        let (x, w) = (pair.x(&g), pair.weights(&g));
        g.output("y", (0..turns).fold(x, |x, _| g.add(x, w)));
        Ok(g.build()?)
    };
    let found = move |pair: &Pair| {
        let g = GraphBuilder::new("found");
        let (x, w) = (pair.x(&g), pair.weights(&g));
        let [y] = g.loop_(turns, [x], |g, _, [x]| [g.add(x, w)]);
        g.output("y", y);
        Ok(g.build()?)
    };
    let bar = Bar::TimesOf(format!("{name}.given"), 2.3);
    case(Pair { name, width: 64, given: Box::new(given), found: Box::new(found), fused: false, bar })
}

impl Pair {
    /// The rows: `[LARGEST, width]`; of branches and loops `[width, width]`.
    fn x(&self, g: &GraphBuilder) -> Value {
        g.state_read(g.state("x", f32([self.width, self.width])))
    }

    fn weights(&self, g: &GraphBuilder) -> Value {
        g.state_read(g.state("w", f32([self.width, self.width])))
    }

    /// Products that nothing fuses.
    fn chain(&self, g: &GraphBuilder, x: Value, steps: usize) -> Value {
        let w = self.weights(g);
        (0..steps).fold(x, |x, _| g.matmul(x, w))
    }

    /// The chain over the first `rows` rows, and the sum of what it leaves.
    fn products(&self, g: &GraphBuilder, rows: DimExpr, levels: usize) {
        let all = g.state_read(g.state("rows of x", f32([LARGEST, self.width])));
        let x = self.chain(g, g.narrow(all, 0, 0u64, rows), levels);
        g.output("y", g.reduce_sum(x, &[0], false));
    }

    fn measure(&self, rig: &Rig) -> Outcome<Vec<Row>> {
        let (given, want) =
            self.one(rig, &format!("{}.given", self.name), &(self.given)(self)?, self.fused)?;
        let (mut found, y) = self.one(rig, &self.name, &(self.found)(self)?, true)?;
        if y != want {
            return Err("what is found and what is given leave other numbers".into());
        }
        found.bar = self.bar.clone();
        Ok(vec![given, found])
    }

    fn one(&self, rig: &Rig, name: &str, graph: &Graph, fused: bool) -> Outcome<(Row, Vec<f32>)> {
        let square = (self.width * self.width) as usize;
        // A product keeps its numbers about as large as they were.
        let bound = (3.0 / self.width as f32).sqrt();
        let x = data::random(81, (LARGEST * self.width) as usize, -1.0, 1.0);
        let w = data::random(82, square, -bound, bound);
        let fill: [(&str, &[f32]); 3] = [("x", &x[..square.min(x.len())]), ("rows of x", &x), ("w", &w)];
        let fill: Vec<(&str, &[f32])> =
            fill.into_iter().filter(|(name, _)| graph.find(name).is_some()).collect();
        let (exe, mut session) = rig.load(graph, fused, &fill)?;
        if graph.find("count").is_some() {
            session.state("count")?.write(TensorView::i32(&[ROWS as i32], [0u64; 0]))?;
        }
        let rows = [0.0; ROWS];
        let all: &Inputs<'_> = &[("rows", TensorView::f32(&rows, [ROWS as u64]))];
        let inputs = if graph.inputs().is_empty() { &[] } else { all };
        let y = session.run(inputs)?.get("y")?.to_vec::<f32>()?;
        let times = clock::device(&mut session, inputs, rig.gpu_pace())?;
        let row = Row {
            figures: Some(Figures::of(&exe, 0)),
            judged: rig.judges_gpu(),
            checked: "given and found leave equal numbers".to_owned(),
            notes: notes(times, rig.judges_gpu()),
            ..Row::new(name, times, "device")
        };
        Ok((row, y))
    }
}
