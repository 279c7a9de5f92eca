// Q3_K: d · (sc − 32) · (q − 4), q of three bits, sc of six for each 16 elements. Fields: 32 bytes of third bits (bit s of byte l: of
// element 32 · s + l), 64 of pairs of bits as in Q2_K, 8 of low nibbles of sc, 4 of their high pairs of bits, d.
const uint q3_k_SHARING = 16u;
Shared q3_k_shared(uint at, uint r) {
    uint sub = r >> 4u, low = byte_at(at + 96u + (sub & 7u)) >> 4u * (sub >> 3u) & 15u;
    uint high = byte_at(at + 104u + (sub & 3u)) >> 2u * (sub >> 2u) & 3u;
    precise float scale = half_at(at + 108u) * (float(low | high << 4u) - 32.0);
    return Shared(scale, 0.0, 0u);
}
uint q3_k_place(uint r) { return 32u + 32u * (r >> 7u) + (r & 31u); }
vec4 q3_k_values(uint at, uint r, uint word, Shared s) {
    uvec4 low = spread(word >> 2u * (r >> 5u & 3u), 3u), thirds = spread(bytes4(at + (r & 31u)) >> (r >> 5u), 1u);
    return times(s.d, vec4(low | thirds << 2u) - 4.0);
}
