#version 460
// x[n, c, i] = the sum of v[n, c, q] over the windows q a tap of which is at i: each over its divisor (MEAN), or only those
// whose place is i (PLACES). A thread has one element. Windows in their order, in chains of 128, then pairs (pairs.glsl).
#include "interface.glsl"
#include "spread.glsl"
#include "pairs.glsl"
layout(local_size_x = 64) in;

float acc[1];
uint chain = 0u;
PAIRS(float, 1, 12u, acc, ADD, 0.0)

void add(float v) {
    acc[0] += v;
    if (++chain < 128u) return;
    chain = 0u;
    carry();
}

void main() {
    uvec3 extent = uvec3(arg_extent(0), arg_extent(1), arg_extent(2)), i;
    uint elements = extent.x * extent.y * extent.z, channels = arg_channels(), own, c;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * channels * elements) return;
    uint line = divide(t, elements, own), n = divide(line, channels, c);
    i.x = divide(divide(own, extent.z, i.z), extent.y, i.y);
    uvec3 made = uvec3(arg_out(0), arg_out(1), arg_out(2)), stride = uvec3(arg_v_d(), arg_v_h(), arg_v_w());
    uvec3 dilation = uvec3(arg_dilation(0), arg_dilation(1), arg_dilation(2));
    uint from = arg_v_at() + n * arg_v_n() + c * arg_v_c(), places = line * made.x * made.y * made.z;
    uvec2 over_d = windows_over(0, i.x), over_h = windows_over(1, i.y), over_w = windows_over(2, i.z);
    acc[0] = 0.0;
    for (uint d = over_d.x; d < over_d.y; d++) {
        if (!has_tap(0, i.x, d, dilation.x)) continue;
        uint in_d = counted(0, d);
        for (uint h = over_h.x; h < over_h.y; h++) {
            if (!has_tap(1, i.y, h, dilation.y)) continue;
            uint in_h = in_d * counted(1, h), place = places + (d * made.y + h) * made.z;
            uint at = from + d * stride.x + h * stride.y;
            for (uint w = over_w.x; w < over_w.y; w++) {
                if (!has_tap(2, i.z, w, dilation.z)) continue;
                if (PLACES && loadu_places(place + w) != own) continue;
                float v = load_v(at + w * stride.z);
                add(MEAN ? v / float(in_h * counted(2, w)) : v);
            }
        }
    }
    join_pairs();
    store_x(t, acc[0]);
}
