#version 460
// y[n, g, o, p] = hole(sum over channels and taps of w[g, o, c, t] · x[n, g, c, window(p, t)]).
//
// A thread has four neighbouring positions of MR outputs. Terms are summed channel by channel, of each its taps row by
// row: chains of 128 terms, then pairs (pairs.glsl). A tap outside the operand multiplies 0, so that an infinite weight
// there gives NaN. TRANSPOSED: a tap that does not come to lie on an element takes no part.
#include "interface.glsl"
#include "matrix_slots.glsl"
#include "divide.glsl"
#include "window.glsl"
#include "pairs.glsl"
layout(local_size_x = 64) in;

vec4 acc[MR];
PAIRS(vec4, MR, 12u, acc, ADD, vec4(0.0))

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

// Where the current tap of a position lies; false where it lies between elements.
bool lands(uint e, out ivec3 at) {
    at = origin[e] + reach;
    if (TRANSPOSED == 0u) return true;
    ivec3 up = ivec3(arg_up(0), arg_up(1), arg_up(2));
    // Below zero, too, quotients are rounded down.
    ivec3 low = (-min(at, ivec3(0)) + up - 1) / up;
    ivec3 q = (at + low * up) / up;
    bool whole = (at + low * up) == q * up;
    at = q - low;
    return whole;
}

// The operand under the current tap, of the channel that begins at `from`; `takes` says which positions it is a term of.
vec4 under_tap(uint from, out bvec4 takes) {
    vec4 v = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        ivec3 at;
        takes[e] = lands(e, at);
        if (takes[e] && is_inside(at))
            v[e] = load_x(from + uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h() + uint(at.z) * arg_x_w());
    }
    return rounded_x(v);
}

void add_term(uint from, uint weight, uint rows) {
    bvec4 takes;
    vec4 v = under_tap(from, takes);
    if (TRANSPOSED != 0u && !any(takes)) return;
    [[unroll]] for (uint i = 0u; i < MR; i++) {
        vec4 sum = fma(vec4(rounded_w(load_w(weight + min(i, rows - 1u) * arg_w_o()))), v, acc[i]);
        acc[i] = TRANSPOSED == 0u ? sum : mix(acc[i], sum, takes);
    }
}

void store(uint at, uint left, vec4 v) {
    if (VEC_Y != 0u) {
        store4_y(at >> 2u, v);
        return;
    }
    store_y(at, v.x);
    if (left > 1u) store_y(at + 1u, v.y);
    if (left > 2u) store_y(at + 2u, v.z);
    if (left > 3u) store_y(at + 3u, v.w);
}

void main() {
    keep_holes();
    uint positions = arg_out(0) * arg_out(1) * arg_out(2), outputs = arg_outputs(), groups = arg_groups();
    uint quads = (positions + 3u) / 4u, blocks = (outputs + MR - 1u) / MR;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * groups * blocks * quads) return;
    uint quad, block, g, line = divide(t, quads, quad);
    line = divide(line, blocks, block);
    uint n = divide(line, groups, g), row = MR * block, rows = min(MR, outputs - row);
    place_window(4u * quad, positions);
    [[unroll]] for (uint i = 0u; i < MR; i++) acc[i] = vec4(0.0);

    uint terms = arg_channels() * taps.x * taps.y * taps.z;
    uint from = arg_x_at() + n * arg_x_n() + g * arg_x_g(), weights = arg_w_at() + g * arg_w_g() + row * arg_w_o();
    uint number = 0u;
    for (uint k = 0u; k < terms;) {
        uint chain_end = min(k + 128u, terms);
        for (; k < chain_end; k++) {
            add_term(from, weights + number * arg_w_tap(), rows);
            next_tap();
            number++;
            if (is_first_tap()) {
                number = 0u;
                from += arg_x_c();
                weights += arg_w_c();
            }
        }
        if (k < terms) carry();
    }
    join_pairs();
    slot_columns = positions;
    place_slots(n, g);
    uint y_at = arg_y_at() + n * arg_y_n() + g * arg_y_g() + row * arg_y_o() + 4u * quad;
    vec4 sums[MR];
    [[unroll]] for (uint i = 0u; i < MR; i++) sums[i] = acc[i];
    [[dont_unroll]] for (uint i = 0u; i < rows; i++)
        store(y_at + i * arg_y_o(), positions - 4u * quad, hole_epilogue(sums[i], n * groups + g, row + i, 4u * quad));
}
