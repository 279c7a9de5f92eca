#version 460
// y = the count between 0 and the largest: one thread. Of 64 bits the sign is in the higher word.
#include "interface.glsl"
layout(local_size_x = 1) in;

void main() {
    if (gl_WorkGroupID.x + gl_WorkGroupID.y + gl_WorkGroupID.z != 0u) return;
    uint low = loadu_count(0u), high = 0u, largest = arg_largest();
    if (WIDE == 1u) high = loadu_count(1u);
    else if (int(low) < 0) high = ~0u;
    bool negative = int(high) < 0, above = high > 0u || low > largest;
    if (negative || above) status_raise(STATUS_FOUND_EXTENT, arg_op(), 0u);
    storeu_y(0u, negative ? 0u : above ? largest : low);
}
