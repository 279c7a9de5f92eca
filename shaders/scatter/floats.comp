#version 460
// y[e] = epilogue(data[e] and the updates that hit it, by MODE: 1 sum, 2 product, 3 maximum, 4 minimum). One thread an
// element, which looks at every update that may hit it, 128 to a chain, then pairs (pairs.glsl).
#include "interface.glsl"
#include "updates.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

float hole_epilogue(float v, uint e) { return v; }

// What changes nothing; -0 is what 0 is to a sum of zeros.
float identity() {
    return MODE == 1u ? uintBitsToFloat(0x80000000u) : MODE == 2u ? 1.0
         : MODE == 3u ? uintBitsToFloat(0xff800000u) : uintBitsToFloat(0x7f800000u);
}

float combine(float a, float b) {
    if (MODE == 3u) return max_nan(a, b);
    if (MODE == 4u) return min_nan(a, b);
    return MODE == 2u ? a * b : a + b;
}

float sum[1];
PAIRS(float, 1, 20u, sum, combine, identity())

void main() {
    keep_holes();
    uint e = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_n(), count = arg_count();
    if (n > 0u && e < arg_indices()) judge(e);
    if (e >= n) return;
    float v = load_data(e);
    if (find(e)) {
        bool any = false;
        sum[0] = identity();
        for (uint j = 0u; j < count;) {
            uint end = min(j + 128u, count);
            for (; j < end; j++) {
                if (hits(j)) {
                    sum[0] = combine(sum[0], load_updates(first_update + j * between));
                    any = true;
                }
            }
            if (j < count) carry();
        }
        join_pairs();
        if (any) v = combine(v, sum[0]);
    }
    store_y(e, hole_epilogue(v, e));
}
