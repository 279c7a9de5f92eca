// Four factors as halves, and the halves of some of them.

// The device's own conversion: what a device makes of it, its test says before it gets these kernels.
uvec2 halves(vec4 v) {
    if (ROUND == ROUND_BF16) return join_halves(f32_to_bf16(v));
    return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
}

// The halves of those elements of a quad.
uvec2 mask(bvec4 elements) {
    uvec4 halves = mix(uvec4(0u), uvec4(0xffffu), elements);
    return uvec2(halves.x | halves.y << 16u, halves.z | halves.w << 16u);
}
