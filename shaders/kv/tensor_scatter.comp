#version 460
// y[o, r, c] = x[o, t, c] where row t goes to place r, else data[o, r, c]. One thread a word.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;
#include "rows.glsl"

void main() {
    rows = arg_rows();
    inner = arg_inner();
    capacity = arg_capacity();
    uint e = linear_group() * 256u + gl_LocalInvocationID.x, c, r, t;
    if (e >= arg_outer() * capacity * inner) return;
    uint o = divide(divide(e, inner, c), capacity, r);
    if (r == 0u && c == 0u) report(o);
    storeu_y(e, source_row(o, r, t) ? loadu_x((o * rows + t) * inner + c) : loadu_data(e));
}
