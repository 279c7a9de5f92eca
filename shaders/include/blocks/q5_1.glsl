// Q5_1: d · q + m, q of five bits. Fields: d, m, 4 bytes of fifth bits, 16 bytes of nibbles.
void q5_1_quads(uint at, uint r, uint count, out vec4 v[8]) {
    vec2 d = halves_of(block_word(at >> 2u));
    uint fifths = bytes4(at + 4u);
    uint words[8];
    read_words(at + 8u + (r & 15u), min(count, 4u), words);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times_plus(d.x, vec4(five_bits(words[q & 3u], fifths, r + 4u * q)), d.y);
}
