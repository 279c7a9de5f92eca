#version 460
// places[n, c, p] = the first i with the largest (SMALLEST: smallest) x[n, c, i] over the taps of window p; the first NaN
// wins over everything; -1 where every tap is outside. A thread has four neighbouring positions.
#include "interface.glsl"
#include "divide.glsl"
#include "ordered.glsl"
#include "window.glsl"
layout(local_size_x = 64) in;

// Above 0 for every element: larger for those that win.
uint key(uint w) {
    uint k = ordered_float(w);
    return SMALLEST != 0u && k != 0xffffffffu ? ~k : k;
}

void main() {
    uint positions = arg_out(0) * arg_out(1) * arg_out(2), channels = arg_channels(), quads = (positions + 3u) / 4u;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * channels * quads) return;
    uint quad, line = divide(t, quads, quad), c, n = divide(line, channels, c);
    place_window(4u * quad, positions);
    uint from = arg_x_at() + n * arg_x_n() + c * arg_x_c(), terms = taps.x * taps.y * taps.z;
    uvec3 stride = uvec3(arg_x_d(), arg_x_h(), arg_x_w());
    uvec4 best = uvec4(0u), place = uvec4(0xffffffffu);
    for (uint k = 0u; k < terms; k++) {
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            ivec3 at = origin[e] + reach;
            if (!is_inside(at)) continue;
            uvec3 i = uvec3(at);
            uint own = key(loadu_x(from + i.x * stride.x + i.y * stride.y + i.z * stride.z));
            if (own > best[e]) {
                best[e] = own;
                place[e] = (i.x * extent.y + i.y) * extent.z + i.z;
            }
        }
        next_tap();
    }
    uint to = line * positions + 4u * quad, left = positions - 4u * quad;
    if (VEC_Y != 0u) storeu4_places(to >> 2u, place);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (e < left) storeu_places(to + e, place[e]);
}
