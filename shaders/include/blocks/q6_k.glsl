// Q6_K: d · sc · (q − 32), q of six bits, sc a signed byte for each 16 elements. Fields: 128 bytes of low nibbles, 64 of high pairs of
// bits, 16 of sc, d. Of each half of 128 elements: nibbles of 64 bytes, pairs of bits of 32.
const uint q6_k_SHARING = 16u;
Shared q6_k_shared(uint at, uint r) {
    precise float scale = half_at(at + 208u) * float(bitfieldExtract(int(byte_at(at + 192u + (r >> 4u))), 0, 8));
    return Shared(scale, 0.0, 0u);
}
uint q6_k_place(uint r) { return 64u * (r >> 7u) + (r & 63u); }
vec4 q6_k_values(uint at, uint r, uint word, Shared s) {
    uvec4 low = spread(word >> (r >> 6u & 1u) * 4u, 15u);
    uvec4 high = spread(bytes4(at + 128u + 32u * (r >> 7u) + (r & 31u)) >> (r >> 5u & 3u) * 2u, 3u);
    return times(s.d, vec4(low | high << 4u) - 32.0);
}
