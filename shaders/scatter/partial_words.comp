#version 460
// y[r, c] = 128 rows of integers of one place reduced by MODE (partial.glsl), else 0. One thread a result.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;
#include "words.glsl"
#define T uvec2
#define NOTHING uvec2(0u)
uvec2 load_row(uint i) { return PAIR == 1u ? loadu2_rows(i) : widened(loadu_rows(i)); }
void store_result(uint i, uvec2 v) {
    if (PAIR == 1u) storeu2_y(i, v);
    else storeu_y(i, wrapped(v.x));
}
#include "partial.glsl"
