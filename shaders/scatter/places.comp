#version 460
// y[j] = the place of update j, NOWHERE where an index is outside. One thread an update.
#include "interface.glsl"
#include "index.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

const uint NOWHERE = 0x7fffffffu;

void raise(uint i) {
    if (arg_raises() > 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), i);
}

// The place of a tuple of indices.
uint place_of_tuple(uint j) {
    uint parts = arg_parts(), at = 0u;
    bool inside = true;
    for (uint i = 0u; i < parts; i++) {
        uint extent = arg_extent(i), part;
        if (!index_at(j * parts + i, extent, part)) {
            raise(j * parts + i);
            inside = false;
        }
        at = at * extent + part;
    }
    return inside ? at : NOWHERE;
}

// The element that has the index's place along the axis and its own along the others.
uint place_of_element(uint j) {
    uint at = 0u, step = 1u, rest = j;
    bool inside = true;
    for (uint i = 8u; i > 0u; i--) {
        uint axis = i - 1u, coord;
        rest = divide(rest, arg_taken(axis), coord);
        if (axis == arg_index_axis()) inside = index_at(j, arg_extent(axis), coord);
        at += coord * step;
        step *= arg_extent(axis);
    }
    if (!inside) raise(j);
    return inside ? at : NOWHERE;
}

void main() {
    uint j = linear_group() * 256u + gl_LocalInvocationID.x;
    if (j < arg_count()) storeu_y(j, ELEMENTS == 1u ? place_of_element(j) : place_of_tuple(j));
}
