// How integers meet by MODE: 0 the second as its words are, 1 sum, 2 product, 3 maximum, 4 minimum, in 64 bits, cut to their
// own width at the end.
#include "wide.glsl"

uvec2 widened(uint w) { return SIGNED == 1u ? wide_of(int(w)) : uvec2(w, 0u); }

uvec2 combine(uvec2 a, uvec2 b) {
    if (MODE == 0u) return b;
    if (MODE == 1u) return wide_add(a, b);
    if (MODE == 2u) return wide_mul(a, b);
    if (MODE == 3u) return wide_less(a, b, SIGNED == 1u) ? b : a;
    return wide_less(b, a, SIGNED == 1u) ? b : a;
}

uint wrapped(uint w) {
    if (MODE == 0u) return w;
    return SIGNED == 1u ? uint(bitfieldExtract(int(w), 0, int(BITS))) : bitfieldExtract(w, 0, int(BITS));
}
