// Q2_K: d · sc · q − dmin · mn, q of two bits, sc and mn the nibbles of a byte for each 16 elements. Fields: 16 bytes of sc and mn, 64
// of pairs of bits, d, dmin. Of each half of 128 elements, pairs of bits of 32 bytes: the lowest are elements 0 to 31, and so on.
const uint q2_k_SHARING = 16u;
Shared q2_k_shared(uint at, uint r) {
    uint sc = byte_at(at + (r >> 4u));
    precise vec2 scales = halves_of(block_word(at + 80u >> 2u)) * vec2(sc & 15u, sc >> 4u);
    return Shared(scales.x, scales.y, 0u);
}
uint q2_k_place(uint r) { return 16u + 32u * (r >> 7u) + (r & 31u); }
vec4 q2_k_values(uint at, uint r, uint word, Shared s) { return times_less(s.d, vec4(spread(word >> 2u * (r >> 5u & 3u), 3u)), s.m); }
