#version 460
// y[b, m, n] = hole(sum over s, in order, of part[s, b, m, n]): the second half of a matmul whose k was split.
// One thread takes four consecutive columns; part is dense.
#include "interface.glsl"
#include "matrix_slots.glsl"

layout(local_size_x = 128) in;

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

void main() {
    keep_holes();
    uint M = arg_m(), N = arg_n(), quads = (N + 3u) / 4u, q = linear_group() * 128u + gl_LocalInvocationID.x;
    uint col = 4u * (q % quads), row = q / quads % M, batch = q / quads / M, batches = arg_batches();
    if (batch >= batches) return;
    uint at = (batch * M + row) * N + col, stride = batches * M * N, splits = arg_splits();
    vec4 sum = vec4(0.0);
    for (uint s = 0u; s < splits; s++, at += stride) {
        if (VEC_Y != 0u) sum += load4_part(at >> 2u);
        else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) sum[e] += load_part(at + e);
    }
    uint outer = batch / arg_inner(), inner = batch % arg_inner();
    slot_columns = N;
    place_slots(outer, inner);
    vec4 v = hole_epilogue(sum, batch, row, col);
    uint y = arg_y_at() + outer * arg_y_b0() + inner * arg_y_b1() + row * arg_y_row() + col;
    if (VEC_Y != 0u) store4_y(y >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(y + e, v[e]);
}
