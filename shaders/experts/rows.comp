#version 460
// Rows in the order of their experts. A group for each expert, and one for rows without: thread t counts its part of the
// ids, one piece after the other; how many rows of the expert are in earlier parts says where its own begin.
#include "interface.glsl"
layout(local_size_x = 256) in;

const uint T = 256u;
shared uint below[T], own[T];

// Adds up what both arrays hold at each thread and before it.
void add_up(uint t) {
    [[unroll]] for (uint s = 1u; s < T; s <<= 1u) {
        uint b = t >= s ? below[t - s] : 0u, o = t >= s ? own[t - s] : 0u;
        barrier();
        below[t] += b;
        own[t] += o;
        barrier();
    }
}

void main() {
    uint t = gl_LocalInvocationID.x, expert = linear_group(), experts = arg_experts(), count = arg_count();
    if (expert > experts) return;
    uint part = (count + T - 1u) / T, first = min(t * part, count), end = min(first + part, count);
    uint smaller = 0u, equal = 0u;
    for (uint i = first; i < end; i++) {
        uint e = min(loadu_id(i), experts);
        smaller += uint(e < expert);
        equal += uint(e == expert);
    }
    below[t] = smaller;
    own[t] = equal;
    barrier();
    add_up(t);
    uint start = below[T - 1u], place = experts + 1u + start + own[t] - equal;
    if (t == 0u) storeu_rows(expert, start);
    for (uint i = first; i < end; i++) if (min(loadu_id(i), experts) == expert) storeu_rows(place++, i);
}
