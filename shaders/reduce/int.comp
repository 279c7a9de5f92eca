#version 460
// y[i] = reduce of x[i, j] over j < n for integers, in 64 bits, cut to their own width at the end: sums and products
// wrap in it, maximum and minimum are exact. LANES threads an output, lane l takes j = l, l + LANES, ...
#include "interface.glsl"
#include "places.glsl"
#include "wide.glsl"
layout(local_size_x = 256) in;

shared uvec2 part[256];

const bool SIGNED = (KIND & 1u) == 0u, WIDE = KIND >= 2u;

uvec2 identity() {
    if (OP == 4u) return uvec2(1u, 0u);
    if (OP < 2u) return uvec2(0u);
    // The lowest or highest value of the type, as 64 bits.
    uint bits = WIDE ? 64u : BITS;
    uvec2 top = bits == 64u ? uvec2(0u, 0x80000000u) : bits == 32u ? uvec2(0x80000000u, 0u) : uvec2(1u << (bits - 1u), 0u);
    uvec2 below_top = wide_add(top, uvec2(0xffffffffu));
    if (SIGNED) return OP == 2u ? wide_neg(top) : below_top;
    return OP == 2u ? uvec2(0u) : wide_add(below_top, top);
}

uvec2 combine(uvec2 a, uvec2 b) {
    if (OP == 2u) return wide_less(a, b, SIGNED) ? b : a;
    if (OP == 3u) return wide_less(b, a, SIGNED) ? b : a;
    return OP == 4u ? wide_mul(a, b) : wide_add(a, b);
}

uvec2 fetch(uint i) {
    if (WIDE) return loadu2_x(i);
    uint w = loadu_x(i);
    return SIGNED ? wide_of(int(w)) : uvec2(w, 0u);
}

// Wraps to the type's width.
uvec2 wrap(uvec2 v) {
    if (WIDE) return v;
    uint w = SIGNED ? uint(bitfieldExtract(int(v.x), 0, int(BITS))) : bitfieldExtract(v.x, 0, int(BITS));
    return SIGNED ? wide_of(int(w)) : uvec2(w, 0u);
}

uvec2 finish(uvec2 v) {
    v = wrap(v);
    uint count = arg_count();
    if (OP != 1u) return v;
    if (count == 0u) return uvec2(0u);
    bool negative = SIGNED && (v.y & 0x80000000u) != 0u;
    uvec2 q = wide_div(negative ? wide_neg(v) : v, count);
    return negative ? wide_neg(q) : q;
}

void main() {
    uint t = gl_LocalInvocationID.x, lane = t % LANES, n = arg_n();
    uint i = linear_group() * (256u / LANES) + t / LANES;
    bool live = i < arg_outputs();
    uvec2 acc = identity();
    if (live) {
        int at = kept_place(i);
        for (uint j = lane; j < n; j += LANES) acc = combine(acc, fetch(uint(at + red_place(j))));
    }
    part[t] = acc;
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] = combine(part[t], part[t + s]);
        barrier();
    }
    if (lane != 0u || !live) return;
    uvec2 v = finish(part[t]);
    if (WIDE) storeu2_y(i, v);
    else storeu_y(i, v.x);
}
