#version 460
// y[r, i] = word i mod 4 of Philox4x32-10 (Salmon et al., 2011) at counter (i / 4, 0, stream, step) under the key (seed
// low, seed high), DISTRIBUTION 0: as it is, 1: u = its upper 24 bits / 2^24, 2: normal by pairs (Box and Muller, 1958). One
// thread a block of four.
#include "interface.glsl"
#include "divide.glsl"
#include "explog.glsl"
layout(local_size_x = 256) in;

uvec4 philox(uvec4 c, uvec2 key) {
    [[unroll]] for (uint i = 0u; i < 10u; i++) {
        uint high0, low0, high1, low1;
        umulExtended(c.x, 0xD2511F53u, high0, low0);
        umulExtended(c.z, 0xCD9E8D57u, high1, low1);
        c = uvec4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

vec4 unit(uvec4 w) { return vec4(w >> 8u) * 5.96046448e-8; }

// (cos 2 pi u, sin 2 pi u), 0 <= u < 1: 4 u lies within 1/2 of a whole number of quarter turns, exactly; series to 2e-9.
vec2 turn(float u) {
    float quarters = round(4.0 * u), x = (4.0 * u - quarters) * 1.57079637, w = x * x;
    float s = x + x * w * (-0.166666667 + w * (8.33333333e-3 + w * (-1.98412698e-4 + w * 2.75573192e-6)));
    float c = 1.0 + w * (-0.5 + w * (0.0416666667 + w * (-1.38888889e-3 + w * (2.48015873e-5 - w * 2.75573192e-7))));
    uint q = uint(quarters) & 3u;
    vec2 v = (q & 1u) == 0u ? vec2(c, s) : vec2(-s, c);
    return q >= 2u ? -v : v;
}

// sqrt(-2 ln((w0 + 1) / 2^24)) (cos, sin)(2 pi w1), w of 24 bits.
vec2 normal_pair(uint w0, float u) {
    float a = float((w0 >> 8u) + 1u) * 5.96046448e-8;
    return sqrt(max(-2.0 * log_own(a), 0.0)) * turn(u);
}

uvec4 numbers(uvec4 w) {
    if (DISTRIBUTION == 0u) return w;
    vec4 u = unit(w);
    if (DISTRIBUTION == 2u) u = vec4(normal_pair(w.x, u.y), normal_pair(w.z, u.w));
    return floatBitsToUint(u);
}

void main() {
    uint n = arg_n(), blocks = (n + 3u) / 4u, t = linear_group() * 256u + gl_LocalInvocationID.x;
    if (t >= arg_rows() * blocks) return;
    uint block, row = divide(t, blocks, block), i = 4u * block;
    uint low = loadu_seed_low((BY_ROW & 1u) * row), high = loadu_seed_high((BY_ROW >> 1u & 1u) * row);
    uint step = loadu_step((BY_ROW >> 2u & 1u) * row);
    uvec4 v = numbers(philox(uvec4(block, 0u, arg_stream(), step), uvec2(low, high)));
    uint y = row * n + i;
    if (VEC == 1u) {
        storeu4_y(y / 4u, v);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (i + e < n) storeu_y(y + e, v[e]);
}
