// Q5_1: d · q + m, q of five bits. Fields: d, m, 4 bytes of fifth bits, 16 bytes of nibbles.
const uint q5_1_SHARING = 32u;
Shared q5_1_shared(uint at, uint r) {
    vec2 d = halves_of(block_word(at >> 2u));
    return Shared(d.x, d.y, bytes4(at + 4u));
}
uint q5_1_place(uint r) { return 8u + (r & 15u); }
vec4 q5_1_values(uint at, uint r, uint word, Shared s) { return times_plus(s.d, vec4(five_bits(word, s.fifths, r)), s.m); }
