// Q5_K: d · sc · q − dmin · mn, q of five bits, sc and mn of each 32 elements. Fields: d, dmin, 12 bytes of sc and mn, 32 of fifth bits
// (bit s of byte l: of element 32 · s + l), 128 of nibbles: low nibbles of 32 bytes are elements 0 to 31, high ones 32 to 63, and so on.
const uint q5_k_SHARING = 32u;
Shared q5_k_shared(uint at, uint r) { return k_shared(at, r); }
uint q5_k_place(uint r) { return 48u + 32u * (r >> 6u) + (r & 31u); }
vec4 q5_k_values(uint at, uint r, uint word, Shared s) {
    uvec4 low = spread(word >> 4u * (r >> 5u & 1u), 15u), fifths = spread(bytes4(at + 16u + (r & 31u)) >> (r >> 5u), 1u);
    return times_less(s.d, vec4(low | fifths << 4u), s.m);
}
