#version 460
// y[o, i, q, j, c] = x[o, s(i - before[0]), q, s(j - before[1]), c], where s is by MODE the element of an axis that stands
// outside of it: 0 reflected, 1 the border's, 2 that of a ring. One thread a column of four lines (lines.glsl).
#include "interface.glsl"
#include "divide.glsl"
#include "axis.glsl"
layout(local_size_x = 256) in;

uint from;

uint source(int v, uint n) {
    int last = int(n) - 1;
    if (MODE == 0u) return on_axis(last - abs(last - abs(v)), n);
    if (MODE == 1u) return on_axis(v, n);
    uint rest;
    divide(uint(v < 0 ? -1 - v : v), n, rest);
    return min(v < 0 ? n - 1u - rest : rest, n - 1u);
}

void begin_column(uint j, uint c) {
    from = source(int(j) - int(arg_before(1)), arg_axis(1)) * arg_inner() + c;
}

void store_line(uint at, uint o, uint i, uint q) {
    uint row = source(int(i) - int(arg_before(0)), arg_axis(0));
    storeu_y(at, loadu_x(line_of(o, row, q) + from));
}

#include "lines.glsl"
