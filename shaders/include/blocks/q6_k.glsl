// Q6_K: d · sc · (q − 32), q of six bits, sc a signed byte for each 16 elements. Fields: 128 bytes of low nibbles, 64 of high pairs of
// bits, 16 of sc, d. Of each half of 128 elements: nibbles of 64 bytes, pairs of bits of 32.
float q6_k_scale(uint at, uint r) {
    precise float scale = half_at(at + 208u) * float(bitfieldExtract(int(byte_at(at + 192u + (r >> 4u))), 0, 8));
    return scale;
}

vec4 q6_k_codes(uint at, uint r) {
    uint h = r >> 7u, l = r & 127u;
    uvec4 low = spread(bytes4(at + 64u * h + (l & 63u)) >> (l >> 6u) * 4u, 15u);
    uvec4 high = spread(bytes4(at + 128u + 32u * h + (l & 31u)) >> (l >> 5u) * 2u, 3u);
    return vec4(low | high << 4u) - 32.0;
}

void q6_k_quads(uint at, uint r, uint count, out vec4 v[8]) {
    float first = q6_k_scale(at, r), second = count > 4u ? q6_k_scale(at, r + 16u) : first;
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times(q < 4u ? first : second, q6_k_codes(at, r + 4u * q));
}
