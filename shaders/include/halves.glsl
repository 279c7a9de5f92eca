// Four factors as halves, and the halves of some of them.

// To f16 by the device's own conversion: what a device makes of it, its test says before it gets these kernels. To bf16 by
// whole numbers: NVIDIA's conversion does not round to nearest even (driver 580.159.04, 2026-11-25).
#ifdef BF16
uvec2 halves(vec4 v) { return join_halves(f32_to_bf16(v)); }
#else
uvec2 halves(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }
#endif

// The halves of those elements of a quad.
uvec2 mask(bvec4 elements) {
    uvec4 halves = mix(uvec4(0u), uvec4(0xffffu), elements);
    return uvec2(halves.x | halves.y << 16u, halves.z | halves.w << 16u);
}
