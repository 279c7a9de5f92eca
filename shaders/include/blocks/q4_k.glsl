// Q4_K: d · sc · nib − dmin · mn, sc and mn of each 32 elements. Fields: d, dmin, 12 bytes of sc and mn, 128 of nibbles: low nibbles
// of 32 bytes are elements 0 to 31, high ones 32 to 63, and so on.
const uint q4_k_SHARING = 32u;
Shared q4_k_shared(uint at, uint r) { return k_shared(at, r); }
uint q4_k_place(uint r) { return 16u + 32u * (r >> 6u) + (r & 31u); }
vec4 q4_k_values(uint at, uint r, uint word, Shared s) { return times_less(s.d, vec4(spread(word >> 4u * (r >> 5u & 1u), 15u)), s.m); }
