#version 460
// y[r] = epilogue(reduce of load(x[r, c]) over c < n).
// LANES threads share a row, 256 / LANES rows a workgroup; a lane takes quads 4 * LANES apart, four in flight.
// Sixteen chains a lane of 128 terms, then pairs (pairs.glsl).
#include "interface.glsl"
#define SLOT_STORES
#include "quads.glsl"
#include "combine.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

shared float part[256];
uint end;
vec4 sum[1];
PAIRS(vec4, 1, 18u, sum, combine, vec4(identity()))

vec4 hole_load(vec4 v, uint row, uint col) { return v; }
float hole_epilogue(float v, uint row) { return v; }

uint place(uint slot, uint row, uint col) {
    return uint(arg_slot_offset(slot)) + row * uint(arg_slot_row(slot)) + col * (SLOT_COLS >> slot & 1u);
}

uvec4 slotload_load(uint slot, uint row, uint col) {
    return slot_quad(slot, place(slot, row, col), SLOT_COLS >> slot & 1u, end - col);
}

uint slotload_epilogue(uint slot, uint row) { return slot_raw(slot, place(slot, row, 0u)); }
void slotstore_epilogue(uint slot, uint row, uint bits) { slot_store_raw(slot, place(slot, row, 0u), bits); }

// Columns c .. c + 3 of the row that begins at `at`, zeros past the end.
vec4 fetch(uint at, uint c) {
    if (c >= end) return vec4(0.0);
    if (VEC == 1u) return load4_x((at + c) >> 2u);
    return vec4(load_x(at + c), c + 1u < end ? load_x(at + c + 1u) : 0.0, c + 2u < end ? load_x(at + c + 2u) : 0.0,
                c + 3u < end ? load_x(at + c + 3u) : 0.0);
}

void main() {
    keep_holes();
    uint lane = gl_LocalInvocationID.x % LANES, at_part = gl_LocalInvocationID.x;
    uint row = linear_group() * (256u / LANES) + at_part / LANES, at = row * arg_x_row();
    bool live = row < arg_rows();
    end = live ? arg_n() : 0u;

    sum[0] = vec4(identity());
    for (uint c = 4u * lane; c < end;) {
        vec4 acc[4] = vec4[4](vec4(identity()), vec4(identity()), vec4(identity()), vec4(identity()));
        uint chain_end = min(c + 128u * 16u * LANES, end);
        for (; c < chain_end; c += 16u * LANES) {
            vec4 v[4];
            [[unroll]] for (uint u = 0u; u < 4u; u++) v[u] = fetch(at, c + 4u * LANES * u);
            [[unroll]] for (uint u = 0u; u < 4u; u++) {
                uint col = c + 4u * LANES * u;
                if (col < end) {
                    vec4 h = hole_load(v[u], row, col);
                    acc[u] = combine(acc[u], mix(vec4(identity()), h, below(end - col)));
                }
            }
        }
        sum[0] = combine(combine(acc[0], acc[1]), combine(acc[2], acc[3]));
        if (c < end) carry();
    }
    join_pairs();
    vec4 q = sum[0];
    part[at_part] = combine(combine(q.x, q.y), combine(q.z, q.w));
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[at_part] = combine(part[at_part], part[at_part + s]);
        barrier();
    }
    if (lane == 0u && live) store_y(row, hole_epilogue(finish(part[at_part]), row));
}
