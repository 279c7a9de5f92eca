#version 460
// y[i] = (q[i] - z[j]) · s[j], j the place of the scale that element i has (codes.glsl). One thread four elements.
#include "interface.glsl"
#define code_word(i) loadu_q(i)
#include "code_places.glsl"
#include "codes.glsl"
layout(local_size_x = 256) in;

void main() {
    uint i = 4u * (linear_group() * 256u + gl_LocalInvocationID.x), n = arg_n();
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (i + e < n) store_y(i + e, code_element(i + e));
}
