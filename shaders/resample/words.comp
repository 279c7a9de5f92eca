#version 460
// y[o, i, q, j, c] = x[o, first[i], q, last[j], c], words as they are. One thread a column of four lines (lines.glsl).
#include "interface.glsl"
#include "divide.glsl"
#include "axis.glsl"
layout(local_size_x = 256) in;

uint from;

void begin_column(uint j, uint c) { from = on_axis(int(loadu_last(j)), arg_axis(1)) * arg_inner() + c; }

void store_line(uint at, uint o, uint i, uint q) {
    bool empty = arg_axis(0) == 0u || arg_axis(1) == 0u;
    uint row = AXES == 2u ? on_axis(int(loadu_first(i)), arg_axis(0)) : 0u;
    storeu_y(at, empty ? 0u : loadu_x(line_of(o, row, q) + from));
}

#include "lines.glsl"
