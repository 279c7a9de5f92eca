// Q4_1: d · nib + m. Fields: d, m, 16 bytes of nibbles.
const uint q4_1_SHARING = 32u;
Shared q4_1_shared(uint at, uint r) {
    vec2 d = halves_of(block_word(at >> 2u));
    return Shared(d.x, d.y, 0u);
}
uint q4_1_place(uint r) { return 4u + (r & 15u); }
vec4 q4_1_values(uint at, uint r, uint word, Shared s) { return times_plus(s.d, vec4(nibbles(word, r)), s.m); }
