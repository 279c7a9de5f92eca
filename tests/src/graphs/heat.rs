//! A step of the heat equation by slices and concatenation: the five-point stencil as somebody writes it who thinks in
//! arrays.

use pumice_ir::{Graph, GraphBuilder, Value, f32};

/// `next = u + 0.1 · (north + south + west + east − 4 · u)` over the state `u` f32\[n, n\], the border's neighbours
/// being the border itself; `corner` f32\[1, 1\] of the result is the output.
pub fn heat(n: u64) -> Graph {
    let g = GraphBuilder::new("heat");
    let state = g.state("u", f32([n, n]));
    let u = g.state_read(state);
    let end = n as i64;
    // The array moved by one along an axis, towards its end or its beginning.
    let moved = |axis: i64, up: bool| -> Value {
        let part = |from: i64, to: i64| g.slice(u, &[from], &[to], &[axis], &[1]);
        let parts = if up { [part(0, 1), part(0, end - 1)] } else { [part(1, end), part(end - 1, end)] };
        g.concat(&parts, axis)
    };
    let sum = g.add(g.add(moved(0, true), moved(0, false)), g.add(moved(1, true), moved(1, false)));
    let number = |v: f64| g.constant_scalar(pumice_types::DType::F32, v);
    let next = g.add(u, g.mul(g.sub(sum, g.mul(u, number(4.0))), number(0.1)));
    g.state_write(state, next);
    g.output("corner", g.slice(next, &[0, 0], &[1, 1], &[0, 1], &[1, 1]));
    g.build().expect("sound")
}
