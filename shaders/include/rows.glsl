// What kernels over rows share: x[row, c] by quads, slots at (row, col), LANES threads a row.
// With KEEP_ROW a thread keeps that many quads of its row in registers; without, it fetches them again in each pass.
// THREADS a workgroup, 256 unless the variant says otherwise.
#define SLOT_STORES
#include "quads.glsl"
#ifndef THREADS
#define THREADS 256
#endif
layout(local_size_x = THREADS) in;

uint row, lane, width;
bool live;

#ifdef KEEP_ROW
vec4 kept[KEEP_ROW];
#define EACH_QUAD [[unroll]] for (uint k = 0u; k < KEEP_ROW; k++)
#else
#define EACH_QUAD for (uint k = 0u; 4u * LANES * k < width; k++)
#endif

uint place(uint slot, uint r, uint c) {
    return uint(arg_slot_offset(slot)) + r * uint(arg_slot_row(slot)) + c * (SLOT_COLS >> slot & 1u);
}

vec4 hole_load(vec4 v, uint row, uint col) { return v; }
vec4 hole_epilogue(vec4 v, uint row, uint col) { return v; }

uvec4 slotload_load(uint slot, uint row, uint col) {
    return slot_quad(slot, place(slot, row, col), SLOT_COLS >> slot & 1u, width - col);
}

uvec4 slotload_epilogue(uint slot, uint row, uint col) { return slotload_load(slot, row, col); }

void slotstore_load(uint slot, uint row, uint col, uvec4 bits) {
    slot_store_quad(slot, place(slot, row, col), width - col, bits);
}

void slotstore_epilogue(uint slot, uint row, uint col, uvec4 bits) { slotstore_load(slot, row, col, bits); }

// First column of this lane's k-th quad.
uint column(uint k) { return 4u * (lane + LANES * k); }

vec4 fetch_raw(uint at, uint left) {
    if (VEC == 1u || (left >= 4u && (at & 3u) == 0u)) return load4_x(at >> 2u);
    return vec4(load_x(at), left > 1u ? load_x(at + 1u) : 0.0, left > 2u ? load_x(at + 2u) : 0.0,
                left > 3u ? load_x(at + 3u) : 0.0);
}

// The quad at column c after the hole; `outside` where there is no element.
vec4 fetch(uint c, float outside) {
    if (!live || c >= width) return vec4(outside);
    vec4 v = hole_load(fetch_raw(row * arg_x_row() + c, width - c), row, c);
    return mix(vec4(outside), v, below(width - c));
}

void store_quad(uint c, vec4 v) {
    if (!live || c >= width) return;
    v = hole_epilogue(v, row, c);
    uint at = row * width + c;
    if (VEC == 1u || (width - c >= 4u && (at & 3u) == 0u)) {
        store4_y(at >> 2u, v);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (c + e < width) store_y(at + e, v[e]);
}

void begin_row() {
    keep_holes();
    lane = gl_LocalInvocationID.x % LANES;
    row = linear_group() * (THREADS / LANES) + gl_LocalInvocationID.x / LANES;
    live = row < arg_rows();
    width = arg_n();
}
