#version 460
// y[o, c] = epilogue(reduce of load(x[o, r, c]) over r < red).
// A workgroup is COLUMNS x (256 / COLUMNS) threads: four columns a thread, rows 256 / COLUMNS apart.
// A chain for each column of 128 terms, then pairs (pairs.glsl).
#include "interface.glsl"
#define SLOT_STORES
#include "quads.glsl"
#include "combine.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

const uint LANES = 256u / COLUMNS;
shared vec4 part[256];
uint inner;
vec4 acc[1];
PAIRS(vec4, 1, 20u, acc, combine, vec4(identity()))

vec4 hole_load(vec4 v, uint outer, uint row, uint col) { return v; }
vec4 hole_epilogue(vec4 v, uint outer, uint col) { return v; }

uint place(uint slot, uint outer, uint row, uint col) {
    return uint(arg_slot_offset(slot)) + outer * uint(arg_slot_outer(slot)) + row * uint(arg_slot_row(slot)) +
           col * (SLOT_COLS >> slot & 1u);
}

uvec4 slotload_load(uint slot, uint outer, uint row, uint col) {
    return slot_quad(slot, place(slot, outer, row, col), SLOT_COLS >> slot & 1u, inner - col);
}

uvec4 slotload_epilogue(uint slot, uint outer, uint col) {
    return slot_quad(slot, place(slot, outer, 0u, col), SLOT_COLS >> slot & 1u, inner - col);
}

void slotstore_epilogue(uint slot, uint outer, uint col, uvec4 bits) {
    slot_store_quad(slot, place(slot, outer, 0u, col), inner - col, bits);
}

vec4 fetch(uint at, uint left) {
    if (VEC == 1u) return load4_x(at >> 2u);
    return vec4(load_x(at), left > 1u ? load_x(at + 1u) : 0.0, left > 2u ? load_x(at + 2u) : 0.0,
                left > 3u ? load_x(at + 3u) : 0.0);
}

void main() {
    keep_holes();
    inner = arg_inner();
    uint blocks = (inner + 4u * COLUMNS - 1u) / (4u * COLUMNS), group = linear_group();
    if (group >= arg_outer() * blocks) return;
    uint outer = group / blocks, block = group - outer * blocks, end = arg_red();
    uint t = gl_LocalInvocationID.x, lane = t / COLUMNS, c = 4u * (block * COLUMNS + t % COLUMNS);
    uint x_red = arg_x_red(), at = outer * arg_x_outer() + c, left = inner - c;

    acc[0] = vec4(identity());
    for (uint r = c < inner ? lane : end; r < end;) {
        uint chain_end = min(r + 128u * LANES, end);
        for (; r < chain_end; r += 4u * LANES) {
            vec4 v[4];
            [[unroll]] for (uint u = 0u; u < 4u; u++)
                v[u] = r + LANES * u < end ? fetch(at + (r + LANES * u) * x_red, left) : vec4(0.0);
            [[unroll]] for (uint u = 0u; u < 4u; u++)
                if (r + LANES * u < end) acc[0] = combine(acc[0], hole_load(v[u], outer, r + LANES * u, c));
        }
        if (r < end) carry();
    }
    join_pairs();
    part[t] = acc[0];
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] = combine(part[t], part[t + s * COLUMNS]);
        barrier();
    }
    if (lane != 0u || c >= inner) return;
    vec4 v = part[t];
    v = hole_epilogue(vec4(finish(v.x), finish(v.y), finish(v.z), finish(v.w)), outer, c);
    uint y = outer * inner + c;
    if (VEC == 1u) {
        store4_y(y >> 2u, v);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (e < left) store_y(y + e, v[e]);
}
