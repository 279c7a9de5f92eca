#version 460
// y[i] = value of element i of x, which lies in blocks. One thread four elements.
#include "interface.glsl"
layout(local_size_x = 256) in;

void main() {
    uint quad = linear_group() * 256u + gl_LocalInvocationID.x;
    if (4u * quad >= arg_n()) return;
    store4_y(quad, load4_x(quad));
}
