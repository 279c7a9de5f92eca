#version 460
// y[e] = epilogue(data[e] and the updates that hit it, by MODE: 1 sum, 2 product, 3 maximum, 4 minimum). One thread an
// element, which looks at every update that may hit it, 128 to a chain, then pairs (pairs.glsl).
#include "interface.glsl"
#include "updates.glsl"
#include "floats.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

float hole_epilogue(float v, uint e) { return v; }

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
