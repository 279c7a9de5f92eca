#version 460
// y[o, i, q, j, c] = the sum over s, t < TAPS of first_weights[i, s] * last_weights[j, t] * x[o, first[i, s], q, last[j, t],
// c]. One thread a column of four lines (lines.glsl), whose taps along the last axis it reads once.
#include "interface.glsl"
#include "divide.glsl"
#include "axis.glsl"
layout(local_size_x = 256) in;

const uint MOST = 4u;
uint from[MOST];
float weights[MOST];

void begin_column(uint j, uint c) {
    [[unroll]] for (uint s = 0u; s < MOST; s++) {
        if (s >= TAPS) break;
        from[s] = on_axis(int(loadu_last(j * TAPS + s)), arg_axis(1)) * arg_inner() + c;
        weights[s] = load_last_weights(j * TAPS + s);
    }
}

// The weighted elements of the line of x that begins at `base`.
float along(uint base) {
    float v = weights[0] * load_x(base + from[0]);
    [[unroll]] for (uint s = 1u; s < MOST; s++) if (s < TAPS) v += weights[s] * load_x(base + from[s]);
    return v;
}

void store_line(uint at, uint o, uint i, uint q) {
    float v = 0.0;
    bool empty = arg_axis(0) == 0u || arg_axis(1) == 0u;
    if (AXES == 1u && !empty) v = along(line_of(o, 0u, q));
    [[unroll]] for (uint s = 0u; s < MOST; s++) {
        if (AXES == 1u || s >= TAPS || empty) break;
        uint row = on_axis(int(loadu_first(i * TAPS + s)), arg_axis(0));
        v += load_first_weights(i * TAPS + s) * along(line_of(o, row, q));
    }
    store_y(at, v);
}

#include "lines.glsl"
