#version 460
// y[e] = epilogue(data[e] and its updates, reduced by MODE), found among sorted ones (sorted.glsl). One thread an element;
// chains of 128, then pairs (pairs.glsl).
#include "interface.glsl"
#include "divide.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;
#include "floats.glsl"

float hole_epilogue(float v, uint e) { return v; }

float sum[1];
PAIRS(float, 1, 20u, sum, combine, identity())

#define TAKE_ROW(i) sum[0] = combine(sum[0], load_updates(i))
#define TAKE_FIRST(i) sum[0] = combine(sum[0], load_first(i))
#define TAKE_SECOND(i) sum[0] = combine(sum[0], load_second(i))
#define END_CHAIN carry();
#include "sorted.glsl"

void main() {
    keep_holes();
    uint e = linear_group() * 256u + gl_LocalInvocationID.x, c;
    uvec2 found = positions(e, c);
    if (e >= arg_n()) return;
    float v = load_data(e);
    if (found.x < found.y) {
        sum[0] = identity();
        take(found.x, found.y, c);
        join_pairs();
        v = combine(v, sum[0]);
    }
    store_y(e, hole_epilogue(v, e));
}
