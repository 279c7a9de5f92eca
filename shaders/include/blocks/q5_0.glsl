// Q5_0: d · (q − 16), q of five bits. Fields: d, 4 bytes of fifth bits, 16 bytes of nibbles.
void q5_0_quads(uint at, uint r, uint count, out vec4 v[8]) {
    float d = half_at(at);
    uint fifths = bytes4(at + 2u);
    uint words[8];
    read_words(at + 6u + (r & 15u), min(count, 4u), words);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times(d, vec4(five_bits(words[q & 3u], fifths, r + 4u * q)) - 16.0);
}
