// Q4_0: d · (nib − 8). Fields: d, 16 bytes of nibbles.
void q4_0_quads(uint at, uint r, uint count, out vec4 v[8]) {
    float d = half_at(at);
    uint words[8];
    read_words(at + 2u + (r & 15u), min(count, 4u), words);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times(d, vec4(nibbles(words[q & 3u], r + 4u * q)) - 8.0);
}
