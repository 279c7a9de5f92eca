#version 460
// body(i) for each i < n, row-major over size[0 .. RANK], one thread each; WIDTH 4: i counts groups of four elements
// of the innermost axis. A slot's element is offset + sum of coordinate * stride.
#include "interface.glsl"
#define TAIL 0u
#include "kinds.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

uint coord[8];

// Element of the slot at the coordinates.
uint place(uint slot) {
    int at = arg_offset(slot);
    [[unroll]] for (uint d = 0u; d < 8u; d++)
        if (d < RANK) at += int(coord[d]) * arg_stride(8u * slot + d) * (d == RANK - 1u ? WIDTH : 1);
    return uint(at);
}

#if WIDTH == 1
void hole_body(uint i) {}

uint slotload_body(uint slot, uint i) { return kind_load(slot, place(slot)); }

void slotstore_body(uint slot, uint i, uint bits) {
    if (kind_of(slot) == 8u) kind_raise(slot, bits, i);
    else slot_store_raw(slot, place(slot), bits);
}

uvec2 slotload64_body(uint slot, uint i) { return slot_raw2(slot, place(slot)); }

void slotstore64_body(uint slot, uint i, uvec2 bits) { slot_store_raw2(slot, place(slot), bits); }
#else
void hole_body(uint g) {}

uvec4 slotload_body(uint slot, uint g) {
    uint at = place(slot);
    return (SCALARS >> slot & 1u) != 0u ? uvec4(kind_load(slot, at)) : kind_load4(slot, at >> 2u, 4u);
}

void slotstore_body(uint slot, uint g, uvec4 bits) {
    if (kind_of(slot) == 8u) {
        [[unroll]] for (uint e = 0u; e < 4u; e++) kind_raise(slot, bits[e], 4u * g + e);
    } else {
        slot_store_raw4(slot, place(slot) >> 2u, bits);
    }
}
#endif

void main() {
    keep_holes();
    uint i = linear_group() * 256u + gl_LocalInvocationID.x;
    if (i >= arg_n()) return;
    uint rest = i;
    [[unroll]] for (uint d = 7u; d > 0u; d--) {
        if (d < RANK) {
            rest = divide(rest, arg_size(d), coord[d]);
        }
    }
    coord[0] = rest;
    hole_body(i);
}
