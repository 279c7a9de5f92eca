#version 460
// y[i] = start + i * delta. KIND 0: 32-bit integers, 1: 64-bit integers, 2: f32. One thread an element.
#include "interface.glsl"
#include "wide.glsl"
layout(local_size_x = 256) in;

void main() {
    uint i = linear_group() * 256u + gl_LocalInvocationID.x;
    if (i >= arg_n()) return;
    uint start = arg_start_lo(), delta = arg_delta_lo();
    if (KIND == 0u) {
        storeu_y(i, start + i * delta);
    } else if (KIND == 1u) {
        uvec2 step = wide_mul(uvec2(i, 0u), uvec2(delta, arg_delta_hi()));
        storeu2_y(i, wide_add(uvec2(start, arg_start_hi()), step));
    } else {
        storeu_y(i, delta == 0u ? start : floatBitsToUint(uintBitsToFloat(start) + float(i) * uintBitsToFloat(delta)));
    }
}
