#version 460
// y[o, r, c] = epilogue(e^(v - m) / sum over r of e^(v - m)), v = load(x[o, r, c]); LOG: epilogue(v - m - ln sum).
// COLUMNS neighbours among the columns (o, c) a workgroup, 256 / COLUMNS threads each, which take every so manyth row: a
// running maximum and sum, merged in a tree, then the result from a second read. A thread takes four rows
// at once, in chains of 64 such runs, then pairs (pairs.glsl).
#include "interface.glsl"
#include "divide.glsl"
#include "explog.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

const uint LANES = 256u / COLUMNS;
shared vec2 part[256];

float minus_inf() { return uintBitsToFloat(0xff800000u); }

float hole_load(float v, uint outer, uint row, uint col) { return v; }
float hole_epilogue(float v, uint outer, uint row, uint col) { return v; }

uint place(uint slot, uint outer, uint row, uint col) {
    return uint(arg_slot_offset(slot) + int(outer) * arg_slot_outer(slot) + int(row) * arg_slot_row(slot) +
                int(col) * arg_slot_col(slot));
}

uint slotload_load(uint slot, uint outer, uint row, uint col) { return slot_raw(slot, place(slot, outer, row, col)); }
uint slotload_epilogue(uint slot, uint outer, uint row, uint col) { return slotload_load(slot, outer, row, col); }

void slotstore_epilogue(uint slot, uint outer, uint row, uint col, uint bits) {
    slot_store_raw(slot, place(slot, outer, row, col), bits);
}

// Two runs (maximum, sum) as one. A run that met nothing but -Inf has the sum 0.
vec2 merge(vec2 a, vec2 b) {
    float m = max_nan(a.x, b.x);
    return vec2(m, a.y * (a.x == m ? 1.0 : exp_own(a.x - m)) + b.y * (b.x == m ? 1.0 : exp_own(b.x - m)));
}

vec2 chain[1];
PAIRS(vec2, 1, 20u, chain, merge, vec2(minus_inf(), 0.0))

// Merges up to four of n rows, r first, into the chain. While everything is -Inf the sum stays 0, and the result is NaN.
void take_rows(uint r, uint n, uint at, uint outer, uint inner, uint c) {
    float v[4], x[4], top = minus_inf();
    [[unroll]] for (uint u = 0u; u < 4u; u++) v[u] = r + LANES * u < n ? load_x(at + (r + LANES * u) * inner) : 0.0;
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        x[u] = minus_inf();
        if (r + LANES * u < n) x[u] = hole_load(v[u], outer, r + LANES * u, c);
        top = max_nan(top, x[u]);
    }
    if (top == minus_inf()) return;
    float e[4];
    [[unroll]] for (uint u = 0u; u < 4u; u++) e[u] = exp_own(x[u] - top);
    chain[0] = merge(chain[0], vec2(top, (e[0] + e[1]) + (e[2] + e[3])));
}

void main() {
    keep_holes();
    uint t = gl_LocalInvocationID.x, lane = t / COLUMNS, i = linear_group() * COLUMNS + t % COLUMNS;
    uint inner = arg_inner(), n = i < arg_outer() * inner ? arg_n() : 0u;
    uint c, outer = divide(i, inner, c), at = outer * arg_n() * inner + c;
    chain[0] = vec2(minus_inf(), 0.0);
    for (uint r = lane; r < n;) {
        uint chain_end = min(r + 64u * 4u * LANES, n);
        for (; r < chain_end; r += 4u * LANES) take_rows(r, n, at, outer, inner, c);
        if (r < n) carry();
    }
    join_pairs();
    part[t] = chain[0];
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] = merge(part[t], part[t + s * COLUMNS]);
        barrier();
    }
    float m = part[t % COLUMNS].x, sum = part[t % COLUMNS].y;
    float ln = log_own(sum);
    for (uint r = lane; r < n; r += 4u * LANES) {
        float v[4];
        [[unroll]] for (uint u = 0u; u < 4u; u++) v[u] = r + LANES * u < n ? load_x(at + (r + LANES * u) * inner) : 0.0;
        [[unroll]] for (uint u = 0u; u < 4u; u++) {
            uint row = r + LANES * u;
            if (row >= n) continue;
            float d = hole_load(v[u], outer, row, c) - m;
            store_y(at + row * inner, hole_epilogue(LOG == 1u ? d - ln : exp_own(d) / sum, outer, row, c));
        }
    }
}
