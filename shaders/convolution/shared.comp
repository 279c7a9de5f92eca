#version 460
// y[n, g, o, p] = hole(sum over channels and taps of w[g, o, c, t] · x[n, g, c, window(p, t)]).
//
// A group of 256 threads has four neighbouring positions of one output. Each thread sums every 256th term, in chains of
// 128, then pairs (pairs.glsl); what the threads have is added in pairs. A tap outside the operand multiplies 0, so that an
// infinite weight there gives NaN.
#include "interface.glsl"
#include "matrix_slots.glsl"
#include "divide.glsl"
#include "window.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

shared vec4 part[256];

vec4 acc[1];
PAIRS(vec4, 1, 12u, acc, ADD, vec4(0.0))

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

#include "store_quad.glsl"

// Term k: a weight times the operand under its tap at the four positions.
vec4 term(uint k, uint count, uint from, uint weights) {
    uvec3 at_tap;
    uint number, line, channel = divide(k, count, number);
    line = divide(number, taps.z, at_tap.z);
    at_tap.x = divide(line, taps.y, at_tap.y);
    from += channel * arg_x_c();
    vec4 v = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        ivec3 at = origin[e] + ivec3(at_tap) * tap_step;
        if (is_inside(at))
            v[e] = load_x(from + uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h() + uint(at.z) * arg_x_w());
    }
    return rounded_w(load_w(weights + channel * arg_w_c() + number * arg_w_tap())) * rounded_x(v);
}

// The sum of the terms of this thread.
vec4 own_sum(uint terms, uint count, uint from, uint weights) {
    acc[0] = vec4(0.0);
    for (uint k = gl_LocalInvocationID.x; k < terms;) {
        for (uint chain_end = k + 128u * 256u; k < min(chain_end, terms); k += 256u)
            acc[0] += term(k, count, from, weights);
        if (k < terms) carry();
    }
    join_pairs();
    return acc[0];
}

void main() {
    keep_holes();
    uint positions = arg_out(0) * arg_out(1) * arg_out(2), outputs = arg_outputs(), groups = arg_groups();
    uint quads = (positions + 3u) / 4u, t = linear_group();
    if (t >= arg_batches() * groups * outputs * quads) return;
    uint quad, row, g, line = divide(t, quads, quad), lane = gl_LocalInvocationID.x;
    line = divide(line, outputs, row);
    uint n = divide(line, groups, g);
    place_window(4u * quad, positions);
    uint count = taps.x * taps.y * taps.z;
    part[lane] = own_sum(arg_channels() * count, count, arg_x_at() + n * arg_x_n() + g * arg_x_g(),
                         arg_w_at() + g * arg_w_g() + row * arg_w_o());
    barrier();
    for (uint s = 128u; s > 0u; s >>= 1u) {
        if (lane < s) part[lane] += part[lane + s];
        barrier();
    }
    if (lane > 0u) return;
    slot_columns = positions;
    place_slots(n, g);
    uint y_at = arg_y_at() + n * arg_y_n() + g * arg_y_g() + row * arg_y_o() + 4u * quad;
    store_quad(y_at, positions - 4u * quad, hole_epilogue(part[0], n * groups + g, row, 4u * quad));
}
