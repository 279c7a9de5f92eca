// Q4_0: d · (nib − 8). Fields: d, 16 bytes of nibbles.
const uint q4_0_SHARING = 32u;
Shared q4_0_shared(uint at, uint r) { return Shared(half_at(at), 0.0, 0u); }
uint q4_0_place(uint r) { return 2u + (r & 15u); }
vec4 q4_0_values(uint at, uint r, uint word, Shared s) { return times(s.d, vec4(nibbles(word, r)) - 8.0); }
