#version 460
// y[i] = how many of the m elements of `sorted`, in ascending order, are less than values[i], or with RIGHT not above it,
// found by bisection. One thread a value; whatever the order is, what is read is below m.
#include "interface.glsl"
#include "ordered.glsl"
layout(local_size_x = 256) in;

// The unsigned order of keys is that of elements.
uvec2 key_of(uvec2 w) {
    if (KIND == 0u) w.x = ordered_float(w.x);
    if (KIND == 1u) w.x ^= 0x80000000u;
    if (KIND == 3u) w.y ^= 0x80000000u;
    return w;
}

uvec2 sorted_at(uint i) { return key_of(KIND < 3u ? uvec2(loadu_sorted(i), 0u) : loadu2_sorted(i)); }
uvec2 value_at(uint i) { return key_of(KIND < 3u ? uvec2(loadu_values(i), 0u) : loadu2_values(i)); }

bool less(uvec2 a, uvec2 b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }

void main() {
    uint i = linear_group() * 256u + gl_LocalInvocationID.x;
    if (i >= arg_n()) return;
    uvec2 value = value_at(i);
    uint low = 0u, high = arg_m();
    for (uint step = 0u; step < 32u && low < high; step++) {
        uint middle = low + (high - low) / 2u;
        uvec2 other = sorted_at(middle);
        if (RIGHT == 1u ? !less(value, other) : less(other, value)) low = middle + 1u;
        else high = middle;
    }
    if (WIDE == 1u) storeu2_y(i, uvec2(low, 0u));
    else storeu_y(i, low);
}
