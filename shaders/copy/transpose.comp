#version 460
// y[b, c, r] = x[b, r, c] for words. A workgroup moves a 32 x 32 tile through shared memory, 8 rows at a time, so that
// both sides are read and written along their rows; the row of 33 words keeps columns in different banks.
#include "interface.glsl"
layout(local_size_x = 256) in;

shared uint tile[32 * 33];

void main() {
    uint rows = arg_rows(), cols = arg_cols(), across = (cols + 31u) / 32u, down = (rows + 31u) / 32u;
    uint group = linear_group(), rest = group / across, tc = group - rest * across, b = rest / down;
    uint tr = rest - b * down, lx = gl_LocalInvocationID.x % 32u, ly = gl_LocalInvocationID.x / 32u;
    if (b >= arg_batch()) return;
    uint x = arg_x_offset() + b * arg_x_batch(), y = b * arg_y_batch(), x_row = arg_x_row(), y_row = arg_y_row();
    [[unroll]] for (uint k = 0u; k < 32u; k += 8u) {
        uint r = 32u * tr + ly + k, c = 32u * tc + lx;
        if (r < rows && c < cols) tile[(ly + k) * 33u + lx] = loadu_x(x + r * x_row + c);
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < 32u; k += 8u) {
        uint c = 32u * tc + ly + k, r = 32u * tr + lx;
        if (r < rows && c < cols) storeu_y(y + c * y_row + r, tile[lx * 33u + ly + k]);
    }
}
