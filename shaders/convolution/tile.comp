#version 460
// y[n, g, o, p] = hole(sum over channels and taps of w[g, o, c, t] · x[n, g, c, window(p, t)]) as a product of BM x BN
// elements a workgroup (tile.glsl): rows are outputs, columns the positions of all batches, k counts channels and taps.
// a is the weights, read by strides; b is the operand, read through the window (window_loader.glsl).
#include "interface.glsl"
#include "divide.glsl"
#include "tile.glsl"
#include "tile_operands.glsl"

uint positions, group;

OPERAND(a, RA, LA, rows_at, M, A_MODE)
PUT_A
#include "window_loader.glsl"

// Batch and position of each of four neighbouring columns; those past the end are the last.
uvec4 batch_of, place_of;

void place_columns(uint col) {
    if (QUADS != 0u) {
        uint p, n = divide(col, positions, p);
        batch_of = uvec4(n);
        place_of = p + uvec4(0u, 1u, 2u, 3u);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uint p;
        batch_of[e] = divide(min(col + e, N - 1u), positions, p);
        place_of[e] = p;
    }
}

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

uvec4 slot_places(uint slot, uint row) {
    uint at = arg_slot_at(slot) + group * arg_slot_b1(slot) + row * arg_slot_row(slot);
    return at + batch_of * arg_slot_b0(slot) + place_of * arg_slot_col(slot);
}

uvec4 slotload_epilogue(uint slot, uint batch, uint row, uint col) {
    uvec4 at = slot_places(slot, row);
    if (QUADS != 0u && arg_slot_col(slot) == 0u) return uvec4(slot_raw(slot, at.x));
    if (QUADS != 0u && arg_slot_col(slot) == 1u && (at.x & 3u) == 0u) return slot_raw4(slot, at.x >> 2u);
    return uvec4(slot_raw(slot, at.x), slot_raw(slot, at.y), slot_raw(slot, at.z), slot_raw(slot, at.w));
}

void slotstore_epilogue(uint slot, uint batch, uint row, uint col, uvec4 bits) {
    uvec4 at = slot_places(slot, row);
    if (QUADS != 0u && arg_slot_col(slot) == 1u && (at.x & 3u) == 0u) slot_store_raw4(slot, at.x >> 2u, bits);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) slot_store_raw(slot, at[e], bits[e]);
}

void put_quad(uint row, uint col, vec4 v) {
    place_columns(col);
    v = hole_epilogue(v, group, row, col);
    uvec4 at = arg_y_at() + group * arg_y_g() + row * arg_y_o() + batch_of * arg_y_n() + place_of;
    if (QUADS != 0u && VEC_Y != 0u) store4_y(at.x >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at[e], v[e]);
}

void main() {
    keep_holes();
    positions = arg_out(0) * arg_out(1) * arg_out(2);
    M = arg_outputs(); N = arg_batches() * positions; K = arg_channels() * TAPS;
    uint tiles_n = (N + BN - 1u) / BN, tiles_m = (M + BM - 1u) / BM, tile = linear_group();
    group = tile / tiles_n / tiles_m;
    if (group >= arg_groups()) return;
    begin_tile(tile / tiles_n % tiles_m, tile % tiles_n);
    aim_a(arg_a_at() + group * arg_a_g(), arg_a_row(), arg_a_col());
    aim_b();
    sum_tile();
    finish_tile();
}
