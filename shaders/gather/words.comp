#version 460
// y[o, j, c] = table[o, idx[j], c] for 32-bit words as they are; an index outside gives 0 and raises the status.
// One thread a word.
#include "interface.glsl"
#include "index.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

void main() {
    uint inner = arg_inner(), count = arg_count(), axis = arg_axis();
    uint t = linear_group() * 256u + gl_LocalInvocationID.x;
    if (t >= arg_outer() * count * inner) return;
    uint c, j, at, word = 0u, line = divide(t, inner, c), outer = divide(line, count, j);
    if (index_at(j, axis, at)) word = loadu_table((outer * axis + at) * inner + c);
    else if (c == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), j);
    storeu_y(t, word);
}
