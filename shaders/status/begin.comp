#version 460
// A replay begins. One thread an op i < n: words 1 + i its position, 1 + n + i replays begun until it reported,
// 1 + 2n + i the position of that report; 0xFFFFFFFF is none. What it reported before this replay is kept once.
#include "interface.glsl"
layout(local_size_x = 256) in;

void main() {
    uint i = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_ops();
    if (i >= n || loadu_block(1u + 2u * n + i) != 0xffffffffu) return;
    uint position = loadu_block(1u + i);
    if (position != 0xffffffffu) storeu_block(1u + 2u * n + i, position);
    else storeu_block(1u + n + i, loadu_block(1u + n + i) + 1u);
}
