#version 460
// body(g) for groups of four elements of a result of n, row-major over size[0 .. RANK]: the elements of a group lie 256
// apart, so that each load of neighbouring threads is of neighbouring words wherever operands begin, and the words of four
// loads are on their way at once. A slot's element is offset + sum of coordinate * stride.
#include "interface.glsl"
#define TAIL 0u
#include "kinds.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

const uint APART = 256u;
uint count, coord[4 * 8];

// Element of the slot at the coordinates of element e of the group.
uint place(uint slot, uint e) {
    int at = arg_offset(slot);
    [[unroll]] for (uint d = 0u; d < 8u; d++)
        if (d < RANK) at += int(coord[8u * e + d]) * arg_stride(8u * slot + d);
    return uint(at);
}

void hole_body(uint g) {}

// Elements after the last are copies of it.
uvec4 slotload_body(uint slot, uint g) {
    if ((SCALARS >> slot & 1u) != 0u) return uvec4(kind_load(slot, place(slot, 0u)));
    return uvec4(kind_load(slot, place(slot, 0u)), kind_load(slot, place(slot, 1u)), kind_load(slot, place(slot, 2u)),
                 kind_load(slot, place(slot, 3u)));
}

void slotstore_body(uint slot, uint g, uvec4 bits) {
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uint i = g + APART * e;
        if (i >= count) continue;
        if (kind_of(slot) == 8u) kind_raise(slot, bits[e], i);
        else slot_store_raw(slot, place(slot, e), bits[e]);
    }
}

void main() {
    keep_holes();
    count = arg_n();
    uint first = 4u * APART * linear_group() + gl_LocalInvocationID.x;
    if (first >= count) return;
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uint rest = min(first + APART * e, count - 1u);
        [[unroll]] for (uint d = 7u; d > 0u; d--)
            if (d < RANK) rest = divide(rest, arg_size(d), coord[8u * e + d]);
        coord[8u * e] = rest;
    }
    hole_body(first);
}
