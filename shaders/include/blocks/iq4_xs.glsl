// IQ4_XS: d · (sc − 32) · value of the nibble, sc of six bits for each 32 elements. Fields: d, 2 bytes of the high pairs of bits of sc,
// 4 of their low nibbles, 128 of nibbles: of each 32 elements sixteen bytes, low nibbles first.
float iq4_xs_scale(uint at, uint sub) {
    uint first = block_word(at >> 2u), low = byte_at(at + 4u + (sub >> 1u)) >> 4u * (sub & 1u) & 15u, high = first >> 16u + 2u * sub & 3u;
    precise float scale = f16_to_f32(first & 0xffffu) * (float(low | high << 4u) - 32.0);
    return scale;
}

void iq4_xs_quads(uint at, uint r, uint count, out vec4 v[8]) {
    float scale = iq4_xs_scale(at, r >> 5u);
    uint words[8];
    read_words(at + 8u + 16u * (r >> 5u) + (r & 15u), min(count, 4u), words);
    [[unroll]] for (uint q = 0u; q < 8u; q++) if (q < count) v[q] = times(scale, iq4_values(nibbles(words[q & 3u], (r & 31u) + 4u * q)));
}
