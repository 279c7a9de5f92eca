// IQ4_NL: d · value of the nibble. Fields: d, 16 bytes of nibbles.
const uint iq4_nl_SHARING = 32u;
Shared iq4_nl_shared(uint at, uint r) { return Shared(half_at(at), 0.0, 0u); }
uint iq4_nl_place(uint r) { return 2u + (r & 15u); }
vec4 iq4_nl_values(uint at, uint r, uint word, Shared s) { return times(s.d, iq4_values(nibbles(word, r))); }
