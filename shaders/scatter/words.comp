#version 460
// y[e] = data[e] and the updates that hit it, by MODE: 0 the last of them, as its words are; of integers 1 sum, 2 product,
// 3 maximum, 4 minimum, in 64 bits, cut to their own width at the end. One thread an element, which looks at every update
// that may hit it, the last one first.
#include "interface.glsl"
#include "updates.glsl"
#include "words.glsl"
layout(local_size_x = 256) in;

uvec2 data_at(uint i) { return PAIR == 1u ? loadu2_data(i) : widened(loadu_data(i)); }
uvec2 update_at(uint i) { return PAIR == 1u ? loadu2_updates(i) : widened(loadu_updates(i)); }

void main() {
    uint e = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_n();
    if (n > 0u && e < arg_indices()) judge(e);
    if (e >= n) return;
    uvec2 v = data_at(e);
    bool replaced = false;
    uint left = find(e) ? arg_count() : 0u;
    for (; left > 0u && !replaced; left--) {
        if (!hits(left - 1u)) continue;
        uvec2 update = update_at(first_update + (left - 1u) * between);
        replaced = MODE == 0u;
        v = combine(v, update);
    }
    if (PAIR == 1u) storeu2_y(e, v);
    else storeu_y(e, wrapped(v.x));
}
