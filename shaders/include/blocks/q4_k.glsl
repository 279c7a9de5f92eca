// Q4_K: d · sc · nib − dmin · mn, sc and mn of each 32 elements. Fields: d, dmin, 12 bytes of sc and mn, 128 of nibbles: low nibbles
// of 32 bytes are elements 0 to 31, high ones 32 to 63, and so on.
uvec4 q4_k_codes(uint at, uint r) { return spread(bytes4(at + 16u + 32u * (r >> 6u) + (r & 31u)) >> 4u * (r >> 5u & 1u), 15u); }

void q4_k_quads(uint at, uint r, uint count, out vec4 v[8]) {
    vec2 scales = k_scales(at, r >> 5u);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times_less(scales.x, vec4(q4_k_codes(at, r + 4u * q)), scales.y);
}
