//! Extents that must be equal and that the run finds: results have the smallest, and the run reports where they differ.

use super::all_pass;
use pumice_ir::sample::Fill;
use pumice_ir::{GraphBuilder, Sample, Value, f32, i32, sym, tensor};
use pumice_tests::op_suite::Runner;
use pumice_types::{DType, DimExpr};

/// Counts as they are found: equal, the first smaller, the second smaller, none.
const COUNTS: [[i64; 3]; 6] = [[0, 0, 0], [3, 3, 3], [3, 5, 5], [5, 3, 5], [0, 4, 4], [9, 9, 1]];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Three extents, up to 9 each.
fn counted(g: &GraphBuilder) -> [DimExpr; 3] {
    NAMES.map(|name| g.extent_of(g.input(name, i32::<u64>([])), 0..=9))
}

/// A sample of three counts for each of [`COUNTS`]; `used` are those that must be equal.
fn of_counts(label: &str, used: usize, build: impl Fn(&GraphBuilder, [DimExpr; 3])) -> Vec<Sample> {
    let of = |counts: &[i64; 3]| {
        let sample = Sample::graph(&format!("{label} {counts:?}"), |g| build(g, counted(g)));
        let filled = NAMES.iter().zip(counts).fold(sample, |s, (name, &n)| s.fill(name, Fill::Ints(vec![n])));
        let equal = counts[..used].windows(2).all(|pair| pair[0] == pair[1]);
        if equal { filled } else { filled.expect_status() }
    };
    COUNTS.iter().map(of).collect()
}

fn rows(g: &GraphBuilder, name: &str, n: &DimExpr, width: u64) -> Value {
    g.narrow(g.input(name, f32([9, width])), 0, 0u64, n.clone())
}

fn columns(g: &GraphBuilder, name: &str, n: &DimExpr, height: u64) -> Value {
    g.narrow(g.input(name, f32([height, 9])), 1, 0u64, n.clone())
}

/// Elements to elements, with broadcasting along other axes.
fn elementwise_samples() -> Vec<Sample> {
    let mut samples = of_counts("sum", 2, |g, [a, b, _]| {
        let y = g.add(rows(g, "x", &a, 4), g.relu(rows(g, "z", &b, 4)));
        g.output("y", y);
        g.output("rows", g.extent(y, 0));
        g.output("twice", g.add(y, y));
    });
    samples.extend(of_counts("broadcast", 2, |g, [a, b, _]| {
        let (x, z) = (rows(g, "x", &a, 4), rows(g, "z", &b, 1));
        g.output("y", g.mul(x, g.mul(z, g.input("w", f32([4])))));
    }));
    samples.extend(of_counts("both axes", 3, |g, [a, b, c]| {
        let x = columns(g, "x", &b, 9);
        let x = g.narrow(x, 0, 0u64, a);
        let z = g.narrow(columns(g, "z", &b, 9), 0, 0u64, c.clone());
        g.output("y", g.sub(x, g.transpose(z, &[1, 0])));
        g.output("z", g.add(z, g.narrow(g.input("w", f32([9, 1])), 0, 0u64, c)));
    }));
    samples.extend(of_counts("choice of three", 3, |g, [a, b, c]| {
        let (x, y, z) = (rows(g, "x", &a, 3), rows(g, "y", &b, 3), rows(g, "z", &c, 3));
        let positive = g.greater(x, g.constant_scalar(DType::F32, 0.0));
        g.output("y", g.select(positive, y, z));
    }));
    samples.extend(of_counts("largest of three", 3, |g, [a, b, c]| {
        let all = [("x", a), ("y", b), ("z", c)].map(|(name, n)| rows(g, name, &n, 2));
        g.output("y", g.reduce_sum(g.max(&all), &[0], false));
    }));
    samples.extend(of_counts("one after the other", 3, |g, [a, b, c]| {
        let sum = g.add(rows(g, "x", &a, 3), rows(g, "y", &b, 3));
        g.output("y", g.mul(sum, rows(g, "z", &c, 3)));
    }));
    for dtype in [DType::F16, DType::I64, DType::U8, DType::Bool] {
        samples.extend(of_counts(&format!("{dtype}"), 2, |g, [a, b, _]| {
            let [x, y] =
                [("x", a), ("y", b)].map(|(name, n)| g.narrow(g.input(name, tensor(dtype, [9])), 0, 0u64, n));
            g.output("y", if dtype == DType::Bool { g.xor(x, y) } else { g.add(x, y) });
        }));
    }
    samples
}

/// Axes that are joined, summed over or gone through together.
fn other_samples() -> Vec<Sample> {
    let mut samples = of_counts("side by side", 3, |g, [a, b, c]| {
        let parts = [("x", a, 2), ("y", b, 3), ("z", c, 1)].map(|(name, n, w)| rows(g, name, &n, w));
        g.output("y", g.concat(&parts, 1));
    });
    samples.extend(of_counts("the summed axis of a product", 2, |g, [a, b, _]| {
        g.output("y", g.matmul(columns(g, "x", &a, 5), rows(g, "w", &b, 7)));
    }));
    samples.extend(of_counts("a square by rows", 2, |g, [a, b, _]| {
        let x = g.narrow(columns(g, "x", &a, 9), 0, 0u64, a.clone());
        g.output("y", g.matmul(x, rows(g, "w", &b, 3)));
    }));
    samples.extend(of_counts("a batch of products", 2, |g, [a, b, _]| {
        let [x, w] = [("x", a, [9, 3, 4]), ("w", b, [9, 4, 2])]
            .map(|(name, n, shape)| g.narrow(g.input(name, f32(shape)), 0, 0u64, n));
        g.output("y", g.matmul(x, w));
    }));
    // As many by either mask.
    samples.push(Sample::graph("what masks keep", |g| {
        let x = g.input("x", f32([33]));
        let zero = g.constant_scalar(DType::F32, 0.0);
        let kept = g.compress(x, g.greater(x, zero), None);
        g.output("y", g.add(kept, g.compress(x, g.not(g.less_or_equal(x, zero)), None)));
    }));
    samples
}

/// An extent that is found beside one that the caller binds, and one that is known.
fn beside_others() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (n, m) in [(4, 4), (2, 6), (6, 2), (0, 3), (6, 6)] {
        let bound = Sample::graph(&format!("{n} found, {m} bound"), |g| {
            let x = rows(g, "x", &g.extent_of(g.input("a", i32::<u64>([])), 0..=9), 3);
            g.output("y", g.add(x, g.input("z", f32([sym("m", 0..=9), 3.into()]))));
        });
        let bound = bound.bind("m", m as u64).fill("a", Fill::Ints(vec![n]));
        samples.push(if n == m { bound } else { bound.expect_status() });
        let known = Sample::graph(&format!("{n} found, 6 known"), |g| {
            let x = rows(g, "x", &g.extent_of(g.input("a", i32::<u64>([])), 0..=9), 3);
            g.output("y", g.max(&[x, g.input("z", f32([6, 3]))]));
        });
        let known = known.fill("a", Fill::Ints(vec![n]));
        samples.push(if n == 6 { known } else { known.expect_status() });
    }
    samples
}

/// In a branch the report counts where the branch is taken.
fn in_branches() -> Vec<Sample> {
    let of = |taken: bool| {
        let sample = Sample::graph(&format!("in a branch, {taken}"), |g| {
            let [a, b, _] = counted(g);
            let (x, y) = (rows(g, "x", &a, 3), rows(g, "y", &b, 3));
            let c = g.input("taken", pumice_ir::bool_::<u64>([]));
            let [sum] = g.if_(
                c,
                |g| [g.reduce_sum(g.mul(x, y), &[0], false)],
                |g| [g.reduce_max(g.input("z", f32([3, 2])), &[1], false)],
            );
            g.output("sum", sum);
        });
        let filled =
            NAMES.iter().zip([2, 7, 0]).fold(sample, |s, (name, n)| s.fill(name, Fill::Ints(vec![n])));
        let filled = filled.fill("taken", Fill::Ints(vec![i64::from(taken)]));
        if taken { filled.expect_status() } else { filled }
    };
    vec![of(true), of(false)]
}

pub fn unlike_extents(runner: &Runner) {
    all_pass(runner, "elementwise over unlike extents", elementwise_samples());
    all_pass(runner, "other ops over unlike extents", other_samples());
    all_pass(runner, "found extents beside others", beside_others());
    all_pass(runner, "unlike extents in branches", in_branches());
}
