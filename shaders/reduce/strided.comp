#version 460
// y[i] = epilogue(reduce of load(x[i, j]) over j < n), i over four kept axes, j over four reduced ones.
// LANES threads an output, lane l takes j = l, l + LANES, ..., four of them in flight: chains of 128, then pairs (pairs.glsl).
#include "interface.glsl"
#include "combine.glsl"
#include "pairs.glsl"
#include "places.glsl"
layout(local_size_x = 256) in;

shared float part[256];
float acc[1];
PAIRS(float, 1, 20u, acc, combine, identity())

float hole_load(float v, uint row, uint col) { return v; }
float hole_epilogue(float v, uint row) { return v; }

uint place(uint slot, uint row) { return uint(arg_slot_offset(slot)) + row * uint(arg_slot_row(slot)); }
uint slotload_load(uint slot, uint row, uint col) { return slot_raw(slot, place(slot, row)); }
uint slotload_epilogue(uint slot, uint row) { return slot_raw(slot, place(slot, row)); }
void slotstore_epilogue(uint slot, uint row, uint bits) { slot_store_raw(slot, place(slot, row), bits); }

void main() {
    keep_holes();
    uint t = gl_LocalInvocationID.x, lane = t % LANES, n = arg_n();
    uint i = linear_group() * (256u / LANES) + t / LANES;
    bool live = i < arg_outputs();
    acc[0] = identity();
    int at = live ? kept_place(i) : 0;
    for (uint j = live ? lane : n; j < n;) {
        uint chain_end = min(j + 128u * LANES, n);
        for (; j < chain_end; j += 4u * LANES) {
            float v[4];
            [[unroll]] for (uint u = 0u; u < 4u; u++)
                v[u] = j + LANES * u < n ? load_x(uint(at + red_place(j + LANES * u))) : 0.0;
            [[unroll]] for (uint u = 0u; u < 4u; u++)
                if (j + LANES * u < n) acc[0] = combine(acc[0], hole_load(v[u], i, j + LANES * u));
        }
        if (j < n) carry();
    }
    join_pairs();
    part[t] = acc[0];
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] = combine(part[t], part[t + s]);
        barrier();
    }
    if (lane == 0u && live) store_y(i, hole_epilogue(finish(part[t]), i));
}
