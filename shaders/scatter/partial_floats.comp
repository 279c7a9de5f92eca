#version 460
// y[r, c] = 128 rows of one place reduced by MODE (partial.glsl), else 0. One thread a result.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;
#include "floats.glsl"
#define T float
#define NOTHING 0.0
float load_row(uint i) { return load_rows(i); }
void store_result(uint i, float v) { store_y(i, v); }
#include "partial.glsl"
