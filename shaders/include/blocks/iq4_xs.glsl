// IQ4_XS: d · (sc − 32) · value of the nibble, sc of six bits for each 32 elements. Fields: d, 2 bytes of the high pairs of bits of sc,
// 4 of their low nibbles, 128 of nibbles: of each 32 elements sixteen bytes, low nibbles first.
const uint iq4_xs_SHARING = 32u;
Shared iq4_xs_shared(uint at, uint r) {
    uint first = block_word(at >> 2u), sub = r >> 5u;
    uint low = byte_at(at + 4u + (sub >> 1u)) >> 4u * (sub & 1u) & 15u, high = first >> 16u + 2u * sub & 3u;
    precise float scale = f16_to_f32(first & 0xffffu) * (float(low | high << 4u) - 32.0);
    return Shared(scale, 0.0, 0u);
}
uint iq4_xs_place(uint r) { return 8u + 16u * (r >> 5u) + (r & 15u); }
vec4 iq4_xs_values(uint at, uint r, uint word, Shared s) { return times(s.d, iq4_values(nibbles(word, r))); }
