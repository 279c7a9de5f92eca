#version 460
// As spread.comp, over cells: under the STEP_H x STEP_W elements from window to window the same windows end. A thread has a
// cell, reads OVER_H x OVER_W windows once, and knows which of them are over which of its elements. Windows in their order.
#include "interface.glsl"
#include "spread.glsl"
layout(local_size_x = 64) in;

const uint REACH_H = (KERNEL_H - 1u) * DILATION_H + 1u, REACH_W = (KERNEL_W - 1u) * DILATION_W + 1u;
const uint OVER_H = (REACH_H + STEP_H - 1u) / STEP_H, OVER_W = (REACH_W + STEP_W - 1u) / STEP_W;
float acc[STEP_H * STEP_W];

// Adds what a window has that began (back_h, back_w) cells before. `place` is counted from the first element of the cell.
void add(float v, int place, uint back_h, uint back_w, uint columns) {
    [[unroll]] for (uint a = 0u; a < STEP_H; a++) {
        [[unroll]] for (uint b = 0u; b < STEP_W; b++) {
            uint tap_h = back_h * STEP_H + a, tap_w = back_w * STEP_W + b;
            bool is_over = tap_h < REACH_H && tap_w < REACH_W && tap_h % DILATION_H == 0u && tap_w % DILATION_W == 0u;
            if (is_over && (!PLACES || place == int(a * columns + b))) acc[a * STEP_W + b] += v;
        }
    }
}

void main() {
    uvec3 extent = uvec3(arg_extent(0), arg_extent(1), arg_extent(2)), made = uvec3(arg_out(0), arg_out(1), arg_out(2));
    uvec2 begin = uvec2(arg_begin(1), arg_begin(2)), step = uvec2(STEP_H, STEP_W), lead = begin % step, cell;
    uvec2 cells = (extent.yz + lead + step - 1u) / step;
    uint channels = arg_channels(), own, c, d_i, all = extent.x * cells.x * cells.y;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * channels * all) return;
    uint line = divide(t, all, own), n = divide(line, channels, c);
    d_i = divide(divide(own, cells.y, cell.y), cells.x, cell.x);
    ivec2 corner = ivec2(cell * step) - ivec2(lead);
    int first = int(d_i * extent.y * extent.z) + corner.x * int(extent.z) + corner.y;
    uvec2 last = cell + begin / step, over_d = windows_over(0, d_i);
    uint from = arg_v_at() + n * arg_v_n() + c * arg_v_c(), places = line * made.x * made.y * made.z;
    [[unroll]] for (uint e = 0u; e < STEP_H * STEP_W; e++) acc[e] = 0.0;
    for (uint d = over_d.x; d < over_d.y; d++) {
        if (!has_tap(0, d_i, d, uint(arg_dilation(0)))) continue;
        uint in_d = counted(0, d);
        [[unroll]] for (uint h = OVER_H; h-- > 0u;) {
            uint q_h = last.x - h;
            if (h > last.x || q_h >= made.y) continue;
            uint in_h = in_d * counted(1, q_h), at = from + d * arg_v_d() + q_h * arg_v_h();
            [[unroll]] for (uint w = OVER_W; w-- > 0u;) {
                uint q_w = last.y - w;
                if (w > last.y || q_w >= made.z) continue;
                float v = load_v(at + q_w * arg_v_w());
                int place = PLACES ? int(loadu_places(places + (d * made.y + q_h) * made.z + q_w)) - first : 0;
                add(MEAN ? v / float(in_h * counted(2, q_w)) : v, place, h, w, extent.z);
            }
        }
    }
    uint to = (line * extent.x + d_i) * extent.y * extent.z;
    [[unroll]] for (uint a = 0u; a < STEP_H; a++) {
        [[unroll]] for (uint b = 0u; b < STEP_W; b++) {
            uvec2 i = uvec2(corner) + uvec2(a, b);
            if (i.x < extent.y && i.y < extent.z) store_x(to + i.x * extent.z + i.y, acc[a * STEP_W + b]);
        }
    }
}
