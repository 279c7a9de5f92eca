// Q4_1: d · nib + m. Fields: d, m, 16 bytes of nibbles.
void q4_1_quads(uint at, uint r, uint count, out vec4 v[8]) {
    vec2 d = halves_of(block_word(at >> 2u));
    uint words[8];
    read_words(at + 4u + (r & 15u), min(count, 4u), words);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times_plus(d.x, vec4(nibbles(words[q & 3u], r + 4u * q)), d.y);
}
