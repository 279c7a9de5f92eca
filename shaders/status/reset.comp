#version 460
// block[0] = 0, block[1 + i] = 0xFFFFFFFF for i < ops. One thread a word.
#include "interface.glsl"
layout(local_size_x = 256) in;

void main() {
    uint i = linear_group() * 256u + gl_LocalInvocationID.x;
    if (i <= arg_ops()) storeu_block(i, i == 0u ? 0u : 0xffffffffu);
}
