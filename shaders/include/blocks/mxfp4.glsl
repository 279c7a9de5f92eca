// MXFP4: 2^(e − 127) · value of the nibble, which is held doubled. Fields: e, 16 bytes of nibbles. A block begins at any byte.
// 2^(e − 128) · q is made of two factors that are normal numbers, d · (m · q), since a device may take others as 0.
const uint mxfp4_SHARING = 32u;
Shared mxfp4_shared(uint at, uint r) {
    uint e = byte_at(at);
    return e < 128u ? Shared(uintBitsToFloat(e + 1u << 23u), 0.25, 0u) : Shared(uintBitsToFloat(e - 1u << 23u), 1.0, 0u);
}
uint mxfp4_place(uint r) { return 1u + (r & 15u); }
vec4 mxfp4_values(uint at, uint r, uint word, Shared s) { return times(s.d, s.m * twice_e2m1(nibbles(word, r))); }
