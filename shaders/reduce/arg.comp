#version 460
// y[o, c] = index of the first (LAST: last) extremum of x[o, r, c] over r < n; the first NaN wins over everything.
// Values become 64-bit keys whose unsigned order is the wanted one; LANES threads an output, lane l takes
// r = l, l + LANES, ..., four in flight; with VEC the quads l, l + LANES, ... of a contiguous row.
#include "interface.glsl"
#include "divide.glsl"
#include "ordered.glsl"
#ifndef THREADS
#define THREADS 256
#endif
layout(local_size_x = THREADS) in;

shared uvec2 keys[THREADS];
shared uint places[THREADS];

const uint TOP = 0x80000000u;
uvec2 key;
uint best;

// (low, high) of a 32-bit value; a NaN has the high word 1 and others 0, so it is above all.
uvec2 key_of(uint w) {
    if (KIND == 0u) {
        if ((w & 0x7fffffffu) > 0x7f800000u) return uvec2(0u, 1u);
        w = ordered_float(w);
    }
    if (KIND == 1u) w ^= TOP;
    return uvec2(MIN == 1u ? ~w : w, 0u);
}

uvec2 key_at(uint i) {
    if (KIND < 3u) return key_of(loadu_x(i));
    uvec2 w = loadu2_x(i);
    if (KIND == 3u) w.y ^= TOP;
    return MIN == 1u ? ~w : w;
}

// Whether (b, j) is better than (a, i).
bool better(uvec2 b, uint j, uvec2 a, uint i) {
    if (a.y != b.y) return b.y > a.y;
    if (a.x != b.x) return b.x > a.x;
    bool nan = KIND == 0u && a.y == 1u;
    return LAST == 1u && !nan ? j > i : j < i;
}

void meet(uvec2 k, uint r) {
    if (better(k, r, key, best)) {
        key = k;
        best = r;
    }
}

void walk_quads(uint at, uint lane, uint quads) {
    for (uint q = lane; q < quads; q += 4u * LANES) {
        uvec4 w[4];
        [[unroll]] for (uint u = 0u; u < 4u; u++) w[u] = loadu4_x((at >> 2u) + min(q + LANES * u, quads - 1u));
        [[unroll]] for (uint u = 0u; u < 4u; u++) {
            uint r = 4u * min(q + LANES * u, quads - 1u);
            [[unroll]] for (uint e = 0u; e < 4u; e++) meet(key_of(w[u][e]), r + e);
        }
    }
}

void walk(uint at, uint lane, uint n, uint inner) {
    for (uint r = lane; r < n; r += 4u * LANES) {
        uvec2 k[4];
        [[unroll]] for (uint u = 0u; u < 4u; u++) k[u] = key_at(at + min(r + LANES * u, n - 1u) * inner);
        [[unroll]] for (uint u = 0u; u < 4u; u++) meet(k[u], min(r + LANES * u, n - 1u));
    }
}

void main() {
    uint t = gl_LocalInvocationID.x, lane = t % LANES, n = arg_n(), inner = arg_inner(), c;
    uint i = linear_group() * (THREADS / LANES) + t / LANES;
    bool live = i < arg_outputs();
    uint outer = divide(i, inner, c), at = outer * n * inner + c;
    key = live ? key_at(at) : uvec2(0u);
    best = 0u;
    if (VEC == 1u) walk_quads(at, lane, live ? n / 4u : 0u);
    else walk(at, lane, live ? n : 0u, inner);
    keys[t] = key;
    places[t] = best;
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s && better(keys[t + s], places[t + s], keys[t], places[t])) {
            keys[t] = keys[t + s];
            places[t] = places[t + s];
        }
        barrier();
    }
    if (lane != 0u || !live) return;
    if (WIDE == 1u) storeu2_y(i, uvec2(places[t], 0u));
    else storeu_y(i, places[t]);
}
