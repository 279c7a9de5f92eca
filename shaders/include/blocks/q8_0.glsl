// Q8_0: d · q, q a signed byte. Fields: d, 32 bytes.
const uint q8_0_SHARING = 32u;
Shared q8_0_shared(uint at, uint r) { return Shared(half_at(at), 0.0, 0u); }
uint q8_0_place(uint r) { return 2u + r; }
vec4 q8_0_values(uint at, uint r, uint word, Shared s) { return times(s.d, signed_bytes(word)); }
