//! Loops that collect: `scan`, `loop_collecting`, `while_collecting`.

use super::{all_near, all_pass};
use pumice_ir::ops::scan::{Scan, ScanAxis};
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, Value, bool_, f32, i32, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, DimExpr};

/// Known counts that are unrolled and that are not, with the ends of both.
const COUNTS: [u64; 6] = [0, 1, 5, 16, 17, 40];

pub fn scans(runner: &Runner) {
    let mut samples = Vec::new();
    for n in COUNTS {
        samples.push(Sample::graph(&format!("{n} turns"), |g| {
            sums(g, g.input("x", f32([n, 6])), Scan::default());
        }));
        samples.push(both_directions(n));
    }
    for (turns, unroll) in [(1, 0), (5, 4), (5, 0), (40, 64)] {
        samples.push(Sample::graph(&format!("{turns} turns, {unroll} of them unrolled at most"), |g| {
            g.unroll(unroll);
            sums(g, g.input("x", f32([turns, 6])), Scan::default());
        }));
    }
    samples.extend([0, 1, 9, 40].map(symbolic));
    samples.extend([0, 4, 5, 30].map(fewer_than_rows));
    samples.extend([0, 1, 33].map(along_found));
    samples.extend(DType::ALL.map(of_dtype));
    samples.extend([0, 3, 25].map(without_inputs));
    samples.extend([nothing_carried(), without_elements(), one_in_another(), states()]);
    let exact = samples.into_iter().map(|s| s.fill("x", Fill::Range(-8, 8)).fill("h", Fill::Range(-3, 3)));
    all_pass(runner, "scan", exact.collect());
}

/// Sums of the rows so far, and twice each sum.
fn sums(g: &GraphBuilder, x: Value, op: Scan) {
    let zero = g.constant_scalar(DType::F32, 0.0);
    let width = g.dim_of(x, 1);
    let begin = g.fill(zero, vec![width]);
    let turn = |g: &GraphBuilder, [h]: [Value; 1], [x]: [Value; 1]| {
        let h = g.add(h, x);
        ([h], [h, g.add(h, h)])
    };
    let ([last], [all, doubled]) = g.scan([begin], [x], turn, op);
    for (name, y) in
        [("last", last), ("all", all), ("doubled", doubled), ("sum", g.reduce_sum(all, &[], false))]
    {
        g.output(name, y);
    }
}

/// Inputs and outputs along axes of their own, forward and backward.
fn both_directions(n: u64) -> Sample {
    Sample::graph(&format!("{n} turns, along other axes and backward"), |g| {
        let (x, z) = (g.input("x", f32([3, n, 5])), g.input("z", i32([n])));
        let h = g.input("h", f32([3, 5]));
        let turn = |g: &GraphBuilder, [h, c]: [Value; 2], [x, y, z]: [Value; 3]| {
            let h = g.sub(g.add(h, x), g.square(y));
            let c = g.add(c, z);
            ([g.max(&[h, g.neg(h)]), c], [h, g.narrow(h, 1, 1u64, 2u64), g.mul(c, z)])
        };
        let op = Scan {
            inputs: vec![ScanAxis::forward(1), ScanAxis::reverse(-2), ScanAxis::reverse(0)],
            outputs: vec![ScanAxis::reverse(-1), ScanAxis::forward(1), ScanAxis::reverse(0)],
            length: None,
        };
        let zero = g.constant_scalar(DType::I32, 0.0);
        let (last, outputs) = g.scan([h, zero], [x, x, z], turn, op);
        last.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("last{i}"), y));
        outputs.into_iter().enumerate().for_each(|(i, y)| g.output(&format!("y{i}"), y));
    })
    .fill("z", Fill::Range(-9, 9))
}

fn symbolic(n: u64) -> Sample {
    let sample = Sample::graph(&format!("symbolic, {n} of 40"), |g| {
        let x = g.input("x", f32([sym("n", 0..=40), 6.into()]));
        sums(g, x, Scan { outputs: vec![ScanAxis::reverse(1), ScanAxis::forward(0)], ..Scan::default() });
    });
    sample.bind("n", n)
}

/// Five turns less than there are rows, or none.
fn fewer_than_rows(n: u64) -> Sample {
    let sample = Sample::graph(&format!("five less than {n} turns"), |g| {
        let (x, h) = (g.input("x", f32([sym("n", 0..=40), 6.into()])), g.input("h", f32([6])));
        let ([last], [all]) = g.loop_collecting(g.dim_of(x, 0) - 5, [h], |g, i, [h]| {
            let h = g.add(h, g.gather(x, i, 0));
            ([h], [g.neg(h)])
        });
        g.output("last", last);
        g.output("all", all);
    });
    sample.bind("n", n)
}

/// As many turns as the run finds.
fn along_found(n: u64) -> Sample {
    let sample = Sample::graph(&format!("found, {n} of 33"), |g| {
        let rows = g.extent_of(g.input("count", i32::<u64>([])), 0..=33);
        let x = g.narrow(g.input("x", f32([33, 6])), 0, 0u64, rows);
        sums(g, x, Scan { inputs: vec![ScanAxis::reverse(0)], ..Scan::default() });
    });
    sample.fill("count", Fill::Ints(vec![n as i64]))
}

/// Slices and rows of every dtype.
fn of_dtype(d: DType) -> Sample {
    Sample::graph(&format!("{d}"), |g| {
        let (x, h) = (g.input("v", tensor(d, [19, 3])), g.input("w", tensor(d, [3])));
        let op = Scan { outputs: vec![ScanAxis::reverse(1)], ..Scan::default() };
        let ([last], [before]) = g.scan([h], [x], |_, [h], [x]| ([x], [h]), op);
        g.output("last", last);
        g.output("before", before);
    })
    .fill("v", Fill::Any)
    .fill("w", Fill::Any)
}

fn without_inputs(n: i64) -> Sample {
    Sample::graph(&format!("{n} turns by their length"), |g| {
        let h = g.input("h", f32([4]));
        let one = g.constant_scalar(DType::F32, 1.0);
        let op = Scan { length: Some(DimExpr::constant(n)), ..Scan::default() };
        let ([last], [all]) = g.scan([h], [], |g, [h], []| ([g.add(h, one)], [h]), op);
        g.output("last", last);
        g.output("all", all);
    })
}

fn nothing_carried() -> Sample {
    Sample::graph("nothing is carried", |g| {
        let x = g.input("x", f32([21, 4]));
        let ([], [y]) =
            g.scan([], [x], |g, [], [x]| ([], [g.cum_sum(x, Default::default())]), Scan::default());
        g.output("y", y);
    })
}

fn without_elements() -> Sample {
    Sample::graph("rows without elements", |g| {
        let (x, h) = (g.input("x", f32([30, 0])), g.input("h", f32([0])));
        let ([last], [all]) = g.scan([h], [x], |g, [h], [x]| ([g.add(h, x)], [h]), Scan::default());
        g.output("last", last);
        g.output("all", all);
    })
}

/// A known and short scan in every turn of a recorded one.
fn one_in_another() -> Sample {
    Sample::graph("one in another", |g| {
        let (x, h) = (g.input("x", f32([20, 3, 4])), g.input("h", f32([4])));
        let inner = |g: &GraphBuilder, [h]: [Value; 1], [x]: [Value; 1]| ([g.add(h, x)], [g.sub(h, x)]);
        let outer =
            |g: &GraphBuilder, [h]: [Value; 1], [x]: [Value; 1]| g.scan([h], [x], inner, Scan::default());
        let ([last], [all]) = g.scan([h], [x], outer, Scan::default());
        g.output("last", last);
        g.output("all", all);
    })
}

/// Products with weights that every turn reads, of a recurrent cell: each turn carries the rounding of those before on.
pub fn cells(runner: &Runner) {
    let of = |n: u64| {
        let sample = Sample::graph(&format!("a cell over {n} steps"), |g| {
            let x = g.input("x", f32([sym("n", 0..=64), 2.into(), 8.into()]));
            let (w, r) = (g.param("w", f32([8, 5])), g.param("r", f32([5, 5])));
            let (h, tenth) = (g.input("h", f32([2, 5])), g.constant_scalar(DType::F32, 0.1));
            let turn = |g: &GraphBuilder, [h]: [Value; 1], [x]: [Value; 1]| {
                let h = g.tanh(g.mul(g.add(g.matmul(x, w), g.matmul(h, r)), tenth));
                ([h], [h])
            };
            let ([last], [all]) = g.scan([h], [x], turn, Scan::default());
            g.output("last", last);
            g.output("all", all);
        });
        sample.bind("n", n)
    };
    all_near(runner, "scan", 1e-5, [0, 1, 23, 64].map(of).to_vec());
}

/// A state that the last turn leaves, over several runs.
fn states() -> Sample {
    Sample::graph("from a state into it", |g| {
        let (s, x) = (g.state("s", f32([6])), g.input("x", f32([18, 6])));
        let ([last], [all]) =
            g.scan([g.state_read(s)], [x], |g, [h], [x]| ([g.add(h, x)], [h]), Scan::default());
        g.state_write(s, last);
        g.output("all", all);
    })
    .runs(3)
}

pub fn collecting_loops(runner: &Runner) {
    let mut samples = COUNTS.map(numbered).to_vec();
    samples.extend([0, 1, 7].map(|n| {
        let sample = Sample::graph(&format!("symbolic, {n} of 20"), |g| {
            let x = g.input("x", f32([sym("n", 0..=20), 3.into()]));
            let n = g.dim_of(x, 0);
            let body = |g: &GraphBuilder, i: Value, [i_before]: [Value; 1]| {
                ([i], [g.add(i, i_before), g.cast(g.gather(x, i, 0), DType::I32)])
            };
            let ([last], [y, z]) = g.loop_collecting(n, [g.constant_scalar(DType::I32, 0.0)], body);
            [("last", last), ("y", y), ("z", z)].into_iter().for_each(|(name, v)| g.output(name, v));
        });
        sample.bind("n", n).fill("x", Fill::Range(-8, 8))
    }));
    all_pass(runner, "loop_collecting", samples);
}

fn numbered(n: u64) -> Sample {
    Sample::graph(&format!("{n} turns"), |g| {
        let x = g.input("x", i32([5]));
        let ([last], [y, before]) = g.loop_collecting(n, [x], |g, i, [c]| ([g.add(c, i)], [g.mul(c, i), c]));
        [("last", last), ("y", y), ("before", before)].into_iter().for_each(|(name, v)| g.output(name, v));
    })
    .fill("x", Fill::Range(-8, 8))
}

pub fn collecting_whiles(runner: &Runner) {
    let mut samples: Vec<Sample> = [0, 2, 300, 1 << 20].map(doubled).to_vec();
    samples.extend([0, 3].map(rows_of_no_and_few_turns));
    samples.push(none_at_all());
    samples.push(beyond_its_bound().expect_status());
    all_pass(runner, "while_collecting", samples);
}

/// Powers of two until a bound, each kept; what follows is as long as turns were taken.
fn doubled(limit: i64) -> Sample {
    let sample = Sample::graph(&format!("doubled below {limit}"), |g| {
        let (x, limit) = (g.input("x", i32([5])), g.input("limit", i32::<u64>([])));
        let largest = |g: &GraphBuilder, [x]: [Value; 1]| g.less(g.reduce_max(x, &[0], false), limit);
        let body = |g: &GraphBuilder, [x]: [Value; 1]| ([g.add(x, x)], [x, g.reduce_sum(x, &[0], false)]);
        let ([last], [all, sums]) = g.while_collecting(24, [x], largest, body);
        g.output("last", last);
        g.output("all", all);
        g.output("sums", sums);
        g.output("total", g.reduce_sum(sums, &[0], false));
    });
    sample.fill("x", Fill::Ints(vec![1, 0, -1, 1, -1])).fill("limit", Fill::Ints(vec![limit]))
}

/// Truth values and empty rows.
fn rows_of_no_and_few_turns(turns: i64) -> Sample {
    let sample = Sample::graph(&format!("{turns} turns that give truth values"), |g| {
        let (x, turns) = (g.input("x", bool_([2, 0])), g.input("turns", i32::<u64>([])));
        let (zero, one) = (g.constant_scalar(DType::I32, 0.0), g.constant_scalar(DType::I32, 1.0));
        let body = |g: &GraphBuilder, [i]: [Value; 1]| ([g.add(i, one)], [x, g.equal(i, one)]);
        let ([last], [empty, ones]) = g.while_collecting(9, [zero], |g, [i]| g.less(i, turns), body);
        [("last", last), ("empty", empty), ("ones", ones)]
            .into_iter()
            .for_each(|(name, v)| g.output(name, v));
    });
    sample.fill("turns", Fill::Ints(vec![turns])).fill("x", Fill::Any)
}

/// A loop that may take no turn.
fn none_at_all() -> Sample {
    Sample::graph("at most none", |g| {
        let x = g.input("x", i32([5]));
        let always = |g: &GraphBuilder, _: [Value; 1]| g.constant_scalar(DType::Bool, 1.0);
        let ([last], [all]) = g.while_collecting(0, [x], always, |g, [x]| ([g.neg(x)], [x]));
        g.output("last", last);
        g.output("all", all);
    })
}

/// A loop that would go on.
fn beyond_its_bound() -> Sample {
    Sample::graph("at its bound", |g| {
        let x = g.input("x", i32([3]));
        let (one, many) = (g.constant_scalar(DType::I32, 1.0), g.constant_scalar(DType::I32, 1000.0));
        let small = |g: &GraphBuilder, [x]: [Value; 1]| g.less(g.reduce_max(x, &[0], false), many);
        let ([_], [all]) = g.while_collecting(17, [x], small, |g, [x]| ([g.add(x, one)], [x]));
        g.output("all", all);
    })
    .fill("x", Fill::Range(0, 5))
}
