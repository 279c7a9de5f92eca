#version 460
// body(i) for each element i, row-major over size[0 .. RANK - 1], 32 x 32 of the last two axes a workgroup, four elements a
// thread. A slot's element is offset + sum of coordinate * stride. Slots with their bit in CROSSED, words whose neighbours
// lie along the axis before the last, are read along it first, into a tile each; the row of 33 words keeps columns in
// different banks.
#include "interface.glsl"
#define TAIL 0u
#include "kinds.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

const uint TILES = 4;
shared uint tile[TILES * 32 * 33];
uint coord[8], at_tile;

// Element of the slot at the coordinates.
uint place(uint slot) {
    int at = arg_offset(slot);
    [[unroll]] for (uint d = 0u; d < 8u; d++)
        if (d < RANK) at += int(coord[d]) * arg_stride(8u * slot + d);
    return uint(at);
}

uint tile_of(uint slot) { return bitCount(CROSSED & ((1u << slot) - 1u)) * 32u * 33u; }

void hole_body(uint i) {}

uint slotload_body(uint slot, uint i) {
    return (CROSSED >> slot & 1u) != 0u ? tile[tile_of(slot) + at_tile] : kind_load(slot, place(slot));
}

void slotstore_body(uint slot, uint i, uint bits) {
    if (kind_of(slot) == 8u) kind_raise(slot, bits, i);
    else slot_store_raw(slot, place(slot), bits);
}

uvec2 slotload64_body(uint slot, uint i) { return slot_raw2(slot, place(slot)); }

void slotstore64_body(uint slot, uint i, uvec2 bits) { slot_store_raw2(slot, place(slot), bits); }

void main() {
    keep_holes();
    uint rows = arg_size(RANK - 2u), columns = arg_size(RANK - 1u);
    uint across = (columns + 31u) / 32u, down = (rows + 31u) / 32u, n = arg_n();
    uint t = gl_LocalInvocationID.x, lx = t % 32u, ly = t / 32u, tc, tr;
    uint outer = divide(divide(linear_group(), across, tc), down, tr), rest = outer;
    if (outer * rows * columns >= n) return;
    [[unroll]] for (uint k = 6u; k > 0u; k--)
        if (k < RANK - 2u) rest = divide(rest, arg_size(k), coord[k]);
    if (RANK > 2u) coord[0] = rest;
    [[dont_unroll]] for (uint k = 0u; k < 32u; k += 8u) {
        uint r = 32u * tr + lx, c = 32u * tc + ly + k;
        if (r >= rows || c >= columns) continue;
        coord[RANK - 2u] = r;
        coord[RANK - 1u] = c;
        [[unroll]] for (uint s = 0u; s < 12u; s++)
            if ((CROSSED >> s & 1u) != 0u) tile[tile_of(s) + (ly + k) * 33u + lx] = slot_raw(s, place(s));
    }
    barrier();
    [[dont_unroll]] for (uint k = 0u; k < 32u; k += 8u) {
        uint r = 32u * tr + ly + k, c = 32u * tc + lx;
        if (r >= rows || c >= columns) continue;
        coord[RANK - 2u] = r;
        coord[RANK - 1u] = c;
        at_tile = lx * 33u + ly + k;
        hole_body((outer * rows + r) * columns + c);
    }
}
