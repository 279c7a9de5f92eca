#version 460
// y[n, c, p] = the largest or smallest element of x[n, c, window(p, t)] over the taps, for integers in words.
#include "interface.glsl"
#include "divide.glsl"
#include "window.glsl"
layout(local_size_x = 64) in;

// What every element of the type replaces.
uint identity() {
    uint top = 1u << (BITS - 1u);
    if (SIGNED == 0u) return OP == 2u ? 0u : 2u * top - 1u;
    return OP == 2u ? uint(-int(top - 1u) - 1) : top - 1u;
}

bool is_less(uint a, uint b) { return SIGNED != 0u ? int(a) < int(b) : a < b; }

void main() {
    uint positions = arg_out(0) * arg_out(1) * arg_out(2), channels = arg_channels();
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * channels * positions) return;
    uint p, c, n = divide(divide(t, positions, p), channels, c);
    place_window(p, positions);
    uint from = arg_x_at() + n * arg_x_n() + c * arg_x_c(), terms = taps.x * taps.y * taps.z, best = identity();
    for (uint k = 0u; k < terms; k++) {
        ivec3 at = origin[0] + reach;
        if (is_inside(at)) {
            uint v = loadu_x(from + uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h() + uint(at.z) * arg_x_w());
            if (OP == 2u ? is_less(best, v) : is_less(v, best)) best = v;
        }
        next_tap();
    }
    storeu_y(arg_y_at() + n * arg_y_n() + c * arg_y_c() + p, best);
}
