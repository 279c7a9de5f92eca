// NVFP4: e · value of the nibble, which is held doubled, e for each 16 elements. Fields: 4 bytes of e (four bits of exponent with bias 7
// above three of mantissa; 0x7f is 0), 32 of nibbles: of each 16 elements eight bytes, low nibbles first.
const uint nvfp4_SHARING = 16u;
Shared nvfp4_shared(uint at, uint r) {
    uint e = byte_at(at + (r >> 4u)), exponent = e >> 3u & 15u, mantissa = e & 7u;
    float half_scale = exponent == 0u ? float(mantissa) / 1024.0 : uintBitsToFloat(exponent + 119u << 23u | mantissa << 20u);
    return Shared(e == 0x7fu ? 0.0 : half_scale, 0.0, 0u);
}
uint nvfp4_place(uint r) { return 4u + 8u * (r >> 4u) + (r & 7u); }
vec4 nvfp4_values(uint at, uint r, uint word, Shared s) { return times(s.d, twice_e2m1(spread(word >> 4u * (r >> 3u & 1u), 15u))); }
