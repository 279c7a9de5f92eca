// Q8_0: d · q, q a signed byte. Fields: d, 32 bytes.
void q8_0_quads(uint at, uint r, uint count, out vec4 v[8]) {
    float d = half_at(at);
    uint words[8];
    read_words(at + 2u + r, count, words);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times(d, signed_bytes(words[q]));
}
