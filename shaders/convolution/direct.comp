#version 460
// y[n, g, o, p] = hole(sum over channels and taps of w[g, o, c, t] · x[n, g, c, window(p, t)]).
//
// A thread has four neighbouring positions of MR outputs.
#include "interface.glsl"
#include "matrix_slots.glsl"
#include "divide.glsl"
#include "window.glsl"
#include "pairs.glsl"
#include "sums.glsl"
layout(local_size_x = 64) in;

uint tap_number() { return (tap.x * taps.y + tap.y) * taps.z + tap.z; }

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

#include "store_quad.glsl"

void main() {
    keep_holes();
    uint positions = arg_out(0) * arg_out(1) * arg_out(2), outputs = arg_outputs(), groups = arg_groups();
    uint quads = (positions + 3u) / 4u, blocks = (outputs + MR - 1u) / MR;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * groups * blocks * quads) return;
    uint quad, block, g, line = divide(t, quads, quad);
    line = divide(line, blocks, block);
    uint n = divide(line, groups, g), row = MR * block, rows = min(MR, outputs - row);
    place_window(4u * quad, positions);
    sum_terms(arg_channels(), arg_x_at() + n * arg_x_n() + g * arg_x_g(),
              arg_w_at() + g * arg_w_g() + row * arg_w_o(), rows);
    slot_columns = positions;
    place_slots(n, g);
    uint y_at = arg_y_at() + n * arg_y_n() + g * arg_y_g() + row * arg_y_o() + 4u * quad;
    vec4 sums[MR];
    [[unroll]] for (uint i = 0u; i < MR; i++) sums[i] = acc[i];
    [[dont_unroll]] for (uint i = 0u; i < rows; i++)
        store_quad(y_at + i * arg_y_o(), positions - 4u * quad, hole_epilogue(sums[i], n * groups + g, row + i, 4u * quad));
}
