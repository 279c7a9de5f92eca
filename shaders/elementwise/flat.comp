#version 460
// body(g) for each group g of four consecutive elements, g < ceil(n / 4).
// Thread t of workgroup w takes the groups (w * PER + k) * 256 + t, k < PER.
#include "interface.glsl"
#include "kinds.glsl"
layout(local_size_x = 256) in;

uint count;

void hole_body(uint g) {}

uvec4 slotload_body(uint slot, uint g) {
    if ((SCALARS >> slot & 1u) != 0u) return uvec4(kind_load(slot, 0u));
    return kind_load4(slot, g, count - 4u * g);
}

void slotstore_body(uint slot, uint g, uvec4 bits) {
    uint left = count - 4u * g;
    if (kind_of(slot) != 8u) {
        kind_store4(slot, g, left, bits);
        return;
    }
    kind_raise(slot, bits.x, 4u * g);
    if (left > 1u) kind_raise(slot, bits.y, 4u * g + 1u);
    if (left > 2u) kind_raise(slot, bits.z, 4u * g + 2u);
    if (left > 3u) kind_raise(slot, bits.w, 4u * g + 3u);
}

void main() {
    keep_holes();
    count = arg_n();
    uint groups = (count + 3u) / 4u, g = linear_group() * 256u * PER + gl_LocalInvocationID.x;
    for (uint k = 0u; k < PER; k++, g += 256u)
        if (g < groups) hole_body(g);
}
