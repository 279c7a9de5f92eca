// Q5_0: d · (q − 16), q of five bits. Fields: d, 4 bytes of fifth bits, 16 bytes of nibbles.
const uint q5_0_SHARING = 32u;
Shared q5_0_shared(uint at, uint r) { return Shared(half_at(at), 0.0, bytes4(at + 2u)); }
uint q5_0_place(uint r) { return 6u + (r & 15u); }
vec4 q5_0_values(uint at, uint r, uint word, Shared s) { return times(s.d, vec4(five_bits(word, s.fifths, r)) - 16.0); }
