//! The shapes that are measured: for each family small graphs of one op, whose operands lie on the device and whose
//! results stay there but for one element.

use super::Scope;
use crate::device::Device;
use crate::error::Error;
use pumice_compile::{OptOptions, Options};
use pumice_ir::ops::Attention;
use pumice_ir::{Graph, GraphBuilder, Value, f32, tensor};
use pumice_plan::CheckedPlan;
use pumice_types::DType;

/// A graph to measure.
pub struct Case {
    /// Shape in words.
    pub name: String,
    /// The graph.
    pub graph: Graph,
    /// How it is compiled.
    pub options: Options,
    /// Whether passes may cut it.
    pub cut: bool,
}

impl Case {
    fn new(name: String, cut: bool, build: impl FnOnce(&GraphBuilder) -> Value) -> Case {
        let g = GraphBuilder::new(&name);
        let y = build(&g);
        let rank = g.type_of(y).map_or(0, |ty| ty.shape.len());
        let axes: Vec<i64> = (0..rank as i64).collect();
        g.output("seen", g.slice(y, &vec![0; rank], &vec![1; rank], &axes, &vec![1; rank]));
        let graph = g.build().expect("cases are sound graphs: a test builds all of them");
        // Without passes the op is what was written; cutting is a pass.
        let opt = if cut { OptOptions::default() } else { OptOptions::none() };
        Case { name, graph, options: Options::default().opt(opt), cut }
    }

    /// Its plan for a device.
    pub fn plan(&self, device: &Device) -> Result<CheckedPlan, Error> {
        crate::plan(&self.graph, device.target(), &self.options)
    }
}

/// A product \[m, k\] x \[k, n\] with a right operand that lies along k or along n.
#[derive(Clone, Copy)]
pub struct Product {
    pub m: u64,
    pub n: u64,
    pub k: u64,
    pub along_k: bool,
    pub half: bool,
    /// Whether k may be cut.
    pub cut: bool,
}

impl Product {
    /// Its case.
    pub fn case(self) -> Case {
        let Product { m, n, k, along_k, half, cut } = self;
        let lies = if along_k { "k" } else { "n" };
        let name = format!("{m}x{k}x{n} along {lies}{}", if half { " f16" } else { "" });
        Case::new(name, cut, |g| {
            let a = g.state_read(g.state("a", f32([m, k])));
            let dtype = if half { DType::F16 } else { DType::F32 };
            let b = g.param("b", tensor(dtype, if along_k { [n, k] } else { [k, n] }));
            let b = if half { g.cast(b, DType::F32) } else { b };
            g.matmul(a, if along_k { g.transpose(b, &[1, 0]) } else { b })
        })
    }
}

/// The cases of a family.
pub fn of(family: &str, scope: Scope, cpu: bool) -> Vec<Case> {
    match family.split_once('.').map_or(family, |(class, _)| class) {
        "matmul" | "attention" => of_products(family, scope, cpu),
        "reduce" => of_reductions(family, scope, cpu),
        "softmax" | "rows" => of_rows(family, scope, cpu),
        _ => of_elements(family, scope, cpu),
    }
}

fn of_products(family: &str, scope: Scope, cpu: bool) -> Vec<Case> {
    match family {
        "matmul" => products(scope, cpu, false),
        "matmul.parts" => products(scope, cpu, true),
        "attention" => attention(scope, cpu),
        _ => Vec::new(),
    }
}

fn of_reductions(family: &str, scope: Scope, cpu: bool) -> Vec<Case> {
    match family {
        "reduce.rows" => reductions(scope, cpu, false, &[[4096, 64], [4096, 384], [1024, 4096]], last_sum),
        "reduce.columns" => reductions(scope, cpu, false, &[[64, 64], [512, 384], [256, 4096]], first_sum),
        "reduce.one_by_one" => reductions(scope, cpu, false, &[[512, 64], [128, 1024]], strided_sum),
        "reduce.arg" => reductions(scope, cpu, false, &[[1, 32_768], [8, 8192], [2048, 512]], arg_max),
        "reduce.parts" => {
            let mut cases =
                reductions(scope, cpu, true, &[[1, 1 << 20], [4, 1 << 18], [64, 1 << 14]], last_sum);
            cases.extend(reductions(scope, cpu, true, &[[1 << 14, 64], [1 << 12, 512]], first_sum));
            cases
        }
        "reduce.apart" => reductions(
            scope,
            cpu,
            true,
            &[[512, 64], [1 << 16, 512], [1 << 10, 1 << 14], [1 << 14, 64]],
            strided_sum,
        ),
        "reduce.narrower" => {
            reductions(scope, cpu, false, &[[1 << 14, 256], [1 << 12, 1024], [512, 384]], first_sum)
        }
        _ => Vec::new(),
    }
}

fn of_rows(family: &str, scope: Scope, cpu: bool) -> Vec<Case> {
    match family {
        "softmax.rows" => {
            let shapes = [[1, 1 << 17], [8, 1 << 15], [8, 8192], [128, 8192], [512, 1 << 15], [4096, 384]];
            reductions(scope, cpu, true, &shapes, |g, x| g.softmax(x, -1))
        }
        "softmax.narrower" => {
            let shapes = [[512, 4096], [4096, 512], [1 << 16, 8], [64, 9000]];
            reductions(scope, cpu, false, &shapes, |g, x| g.softmax(x, 0))
        }
        "rows" => {
            let shapes = [[4096, 64], [4096, 384], [1024, 2048], [128, 384], [256, 8192]];
            let mut cases = reductions(scope, cpu, false, &shapes, |g, x| g.softmax(x, -1));
            cases.extend(reductions(scope, cpu, false, &shapes, layer_norm));
            cases
        }
        _ => Vec::new(),
    }
}

fn of_elements(family: &str, scope: Scope, cpu: bool) -> Vec<Case> {
    match family {
        "elementwise.flat" => {
            reductions(scope, cpu, false, &[[256, 256], [2048, 4096], [8192, 16_384]], |g, x| g.exp(x))
        }
        "elementwise.strided" => {
            let mut cases = reductions(scope, cpu, false, &[[512, 512], [4096, 4096]], inner_columns::<4>);
            cases.extend(reductions(
                scope,
                cpu,
                false,
                &[[64, 511], [511, 511], [4095, 4095]],
                inner_columns::<3>,
            ));
            cases
        }
        "elementwise.crossed" => {
            reductions(scope, cpu, true, &[[512, 512], [4096, 4096], [1 << 16, 64]], |g, x| {
                g.exp(g.transpose(x, &[1, 0]))
            })
        }
        "scatter.rows" => {
            reductions(scope, cpu, false, &[[512, 64], [4096, 8], [1 << 14, 64], [1 << 15, 4]], scattered)
        }
        // A result must lie in order.
        "copy.transposed" => {
            reductions(scope, cpu, true, &[[512, 512], [4096, 4096], [1 << 16, 64]], |g, x| {
                g.softmax(g.transpose(x, &[1, 0]), -1)
            })
        }
        _ => Vec::new(),
    }
}

/// Shapes that rows are not measured with, and that must not become slower: large squares, long k, few columns,
/// queries of one token, groups of widths.
pub fn further(group: &[&str], scope: Scope, cpu: bool) -> Vec<Case> {
    if cpu || scope < Scope::Brief {
        return Vec::new();
    }
    let product = |&[m, k, n]: &[u64; 3]| {
        [false, true].map(|along_k| Product { m, n, k, along_k, half: false, cut: true }.case())
    };
    match group {
        ["matmul"] => PRODUCTS.iter().flat_map(product).collect(),
        ["attention"] => ATTENTIONS.iter().map(attend).collect(),
        _ => Vec::new(),
    }
}

/// Rows, terms, columns.
const PRODUCTS: [[u64; 3]; 12] = [
    [4096, 4096, 4096],
    [2048, 2048, 2048],
    [1024, 1024, 1024],
    [200, 768, 768],
    [128, 768, 3072],
    [64, 1024, 4096],
    [128, 4096, 1024],
    [32, 11_008, 4096],
    [128, 65_536, 128],
    [64, 16_384, 64],
    [16, 131_072, 16],
    [100, 50_257, 100],
];
/// Heads, queries, keys, width.
const ATTENTIONS: [[u64; 4]; 5] =
    [[32, 1, 2048, 128], [32, 1, 8192, 64], [12, 200, 200, 64], [96, 384, 384, 64], [16, 256, 256, 128]];

fn products(scope: Scope, cpu: bool, cut: bool) -> Vec<Case> {
    let (rows, sides) = product_shapes(scope, cpu);
    let mut cases = Vec::new();
    for &(n, k) in sides {
        for &m in rows {
            for (along_k, half) in [(true, false), (false, false), (true, true)] {
                cases.push(Product { m, n, k, along_k, half, cut }.case());
            }
        }
    }
    cases
}

/// Rows of products, and their columns with terms.
fn product_shapes(scope: Scope, cpu: bool) -> (&'static [u64], &'static [(u64, u64)]) {
    match (scope, cpu) {
        (Scope::Tiny, _) => (&[1, 40], &[(64, 128)]),
        (Scope::Quick, _) | (_, true) => (&[1, 2, 4, 8, 16, 64, 128], &[(128, 256), (512, 512)]),
        (Scope::Brief, false) => (&[1, 2, 4, 8, 16, 32, 128], &[(1024, 1024), (4096, 4096), (384, 1536)]),
        (Scope::Full, false) => {
            (&[1, 2, 4, 6, 8, 12, 16, 32, 128], &[(1024, 1024), (4096, 4096), (384, 1536), (4096, 14_336)])
        }
    }
}

fn attention(scope: Scope, cpu: bool) -> Vec<Case> {
    // Heads, queries, keys, width.
    let shapes: &[[u64; 4]] = match (scope, cpu) {
        (Scope::Tiny, _) => &[[1, 8, 8, 16]],
        (Scope::Quick, _) | (_, true) => &[[4, 64, 64, 32], [4, 64, 64, 64], [2, 32, 64, 128]],
        (Scope::Brief | Scope::Full, false) => &[
            [12, 128, 128, 32],
            [384, 128, 128, 32],
            [12, 512, 512, 64],
            [9, 1, 1024, 64],
            [32, 512, 512, 128],
            [8, 256, 256, 256],
        ],
    };
    shapes.iter().map(attend).collect()
}

fn attend(&[heads, queries, keys, width]: &[u64; 4]) -> Case {
    Case::new(format!("{heads} heads, {queries} x {keys} of {width}"), false, |g| {
        let of = |name, rows| g.state_read(g.state(name, f32([1, heads, rows, width])));
        g.attention(of("q", queries), of("k", keys), of("v", keys), None, None, Attention::default())
    })
}

/// Cases over one matrix. Small scopes have its extents cut down, each to a sixteenth at least.
fn reductions(
    scope: Scope,
    cpu: bool,
    cut: bool,
    shapes: &[[u64; 2]],
    build: impl Fn(&GraphBuilder, Value) -> Value,
) -> Vec<Case> {
    let most: u64 = match (scope, cpu) {
        (Scope::Tiny, _) => 1 << 14,
        (Scope::Quick, _) | (_, true) => 1 << 20,
        (Scope::Brief | Scope::Full, false) => u64::MAX,
    };
    let taken = if scope == Scope::Tiny { 1 } else { shapes.len() };
    let smaller = |&[mut r, mut n]: &[u64; 2]| {
        while r * n > most && r.max(n) > 16 {
            if r >= n { r /= 2 } else { n /= 2 }
        }
        [r, n]
    };
    let case = |[r, n]: [u64; 2]| {
        Case::new(format!("{r}x{n}"), cut, |g| build(g, g.state_read(g.state("x", f32([r, n])))))
    };
    shapes[..taken].iter().map(smaller).map(case).collect()
}

/// Of all but the first and the last `EDGE` columns.
fn inner_columns<const EDGE: i64>(g: &GraphBuilder, x: Value) -> Value {
    let [_, n] = extents(g, x);
    g.exp(g.slice(x, &[EDGE], &[n as i64 - EDGE], &[1], &[1]))
}

fn extents(g: &GraphBuilder, x: Value) -> [u64; 2] {
    let ty = g.type_of(x).expect("a value of the case");
    [0, 1].map(|axis| ty.shape[axis].as_const().expect("extents of cases are numbers") as u64)
}

fn last_sum(g: &GraphBuilder, x: Value) -> Value {
    g.reduce_sum(x, &[1], false)
}

fn first_sum(g: &GraphBuilder, x: Value) -> Value {
    g.reduce_sum(x, &[0], false)
}

/// Two reduced axes with a kept one between them.
fn strided_sum(g: &GraphBuilder, x: Value) -> Value {
    let [r, n] = extents(g, x);
    g.reduce_sum(g.reshape(x, &[r as i64 / 2, 2, n as i64]), &[0, 2], false)
}

fn arg_max(g: &GraphBuilder, x: Value) -> Value {
    g.arg_max(x, 1, false)
}

/// Rows added to half as many places.
fn scattered(g: &GraphBuilder, x: Value) -> Value {
    let [r, _] = extents(g, x);
    let places = (r / 2).max(1);
    let indices: Vec<i32> = (0..r).map(|i| (i * 7919 % places) as i32).collect();
    let indices = g.constant(pumice_types::Tensor::new(&indices, &[r]).expect("one for each row"));
    g.scatter_add(x, indices, places)
}

fn layer_norm(g: &GraphBuilder, x: Value) -> Value {
    let [_, n] = extents(g, x);
    g.layer_norm(x, g.param("gamma", f32([n])), Some(g.param("beta", f32([n]))), 1e-5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_types::Target;

    #[test]
    fn every_case_is_a_sound_graph() {
        for table in [Target::h200().table, Target::lavapipe().table] {
            for family in table.rows.iter().map(|row| row.family.as_str()) {
                // Tiles are measured by cases of their own, decoding before products, convolutions, experts and
                // transforms not yet.
                let later = ["matmul.decoded", "convolution", "experts", "transform", "recurrence", "sort"]
                    .iter()
                    .any(|beginning| family.starts_with(beginning));
                let is_tile = family == "matmul.tile" || later;
                for scope in [Scope::Tiny, Scope::Quick, Scope::Brief, Scope::Full] {
                    assert_eq!(
                        of(family, scope, false).is_empty(),
                        is_tile || family.starts_with("attention.")
                    );
                }
            }
        }
        let further = [["matmul"], ["attention"]].map(|group| further(&group, Scope::Full, false).len());
        assert_eq!(further, [2 * PRODUCTS.len(), ATTENTIONS.len()]);
    }
}
