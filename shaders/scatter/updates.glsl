// Which updates an element of the result has: update `first_update + j * between` for those j < arg_count() that hit it.
// ELEMENTS 0: rows of arg_inner(), each at the place of a tuple of arg_parts() indices. ELEMENTS 1: of a line along axis
// arg_along() each has an index of its own.
#include "index.glsl"
#include "divide.glsl"

uint place, first_index, first_update, between;

// Raises the status where index i is outside its axis.
void judge(uint i) {
    uint at;
    if (index_at(i, arg_dims(ELEMENTS == 1u ? arg_along() : i % arg_parts()), at)) return;
    status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), i);
}

// The line of element e; false where there are no indices for it.
bool find_line(uint e) {
    uint step = 1u;
    bool inside = true;
    first_index = 0u;
    for (uint i = 8u; i > 0u; i--) {
        uint axis = i - 1u, coord, taken = arg_taken(axis);
        e = divide(e, arg_dims(axis), coord);
        if (axis == arg_along()) {
            place = coord;
            between = step;
        } else {
            inside = inside && coord < taken;
            first_index += coord * step;
        }
        step *= taken;
    }
    first_update = first_index;
    return inside;
}

// The updates of element e; false where it has none.
bool find(uint e) {
    if (ELEMENTS == 1u) return find_line(e);
    first_index = 0u;
    between = arg_inner();
    place = divide(e, between, first_update);
    return true;
}

// Whether update j of these goes to the element.
bool hits(uint j) {
    if (ELEMENTS == 1u) {
        uint at;
        return index_at(first_index + j * between, arg_dims(arg_along()), at) && at == place;
    }
    uint at = 0u, parts = arg_parts();
    bool inside = true;
    for (uint i = 0u; i < parts && inside; i++) {
        uint part, extent = arg_dims(i);
        inside = index_at(j * parts + i, extent, part);
        at = at * extent + part;
    }
    return inside && at == place;
}
