#version 460
// y[o, j, c] = table[o, p, c], where p is the place that a tuple of indices means: of row j of o, or where ELEMENTS is 1 of
// the element alone. One outside gives 0 and raises the status. One thread an element, of one word or two.
#include "interface.glsl"
#include "index.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

void main() {
    uint inner = arg_inner(), count = arg_count(), parts = arg_parts();
    uint t = linear_group() * 256u + gl_LocalInvocationID.x;
    if (t >= arg_outer() * count * inner) return;
    uint c, j, line = divide(t, inner, c), place = divide(line, count, j), first = (ELEMENTS == 1u ? t : line) * parts;
    bool inside = true;
    for (uint i = 0u; i < parts && inside; i++) {
        uint at, n = arg_dims(i);
        inside = index_at(first + i, n, at);
        if (!inside && (ELEMENTS == 1u || c == 0u)) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), first + i);
        place = place * n + at;
    }
    uint from = place * inner + c;
    if (PAIR == 1u) storeu2_y(t, inside ? loadu2_table(from) : uvec2(0u));
    else storeu_y(t, inside ? loadu_table(from) : 0u);
}
