// Four factors as halves, and the halves of some of them.

// The device's own conversion: what a device makes of it, its test says before it gets these kernels.
// The compiler of GLSL takes Float16 for what converts to bf16, too.
#ifdef BF16
uvec2 halves(vec4 v) {
    return join_halves(uvec4(bfloat16BitsToUintEXT(bf16vec4(v))));
}
#else
uvec2 halves(vec4 v) { return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw)); }
#endif

// The halves of those elements of a quad.
uvec2 mask(bvec4 elements) {
    uvec4 halves = mix(uvec4(0u), uvec4(0xffffu), elements);
    return uvec2(halves.x | halves.y << 16u, halves.z | halves.w << 16u);
}
