// Passes by 8, 4 and 2: a thread reads the values of a sum once for all sums of them.

// z times the root of a quarter turn.
vec2 quarter(vec2 z) { return INVERSE == 1u ? vec2(-z.y, z.x) : vec2(z.y, -z.x); }

void four(inout vec2 a, inout vec2 b, inout vec2 c, inout vec2 d) {
    vec2 even = a + c, odd = b + d, less = a - c, turned = quarter(b - d);
    a = even + odd;
    b = less + turned;
    c = even - odd;
    d = less - turned;
}

// The transform of q = 8, 4 or 2 neighbouring values of z, as they come.
void few(inout vec2 z[EACH], uint at, uint q) {
    if (q == 2u) {
        vec2 less = z[at] - z[at + 1u];
        z[at] += z[at + 1u];
        z[at + 1u] = less;
    } else if (q == 4u) {
        four(z[at], z[at + 1u], z[at + 2u], z[at + 3u]);
    } else {
        four(z[0], z[2], z[4], z[6]);
        four(z[1], z[3], z[5], z[7]);
        const float HALF = 0.707106781;
        vec2 w = vec2(HALF, INVERSE == 1u ? HALF : -HALF);
        vec2 odd[4] = vec2[](z[1], times(w, z[3]), quarter(z[5]), times(vec2(-w.x, w.y), z[7]));
        vec2 even[4] = vec2[](z[0], z[2], z[4], z[6]);
        [[unroll]] for (uint k = 0u; k < 4u; k++) {
            z[k] = even[k] + odd[k];
            z[k + 4u] = even[k] - odd[k];
        }
    }
}

// A pass of q = 8, 4 or 2, each of whose sums a thread makes with the q - 1 others of the same values.
#define JOINED(NAME, Q) \
void NAME(uint t, uint p) { \
    uint apart = radix / Q, all = lines * apart, at[EACH / Q]; \
    vec2 z[EACH]; \
    [[unroll]] for (uint u = 0u; u < EACH / Q; u++) { \
        uint b = t + 256u * u, rest, low, first = parted(b, apart, rest) * radix; \
        if (b >= all) continue; \
        at[u] = first + parted(rest, p, low) * p * Q + low; \
        [[unroll]] for (uint r = 0u; r < Q; r++) { \
            z[u * Q + r] = held[first + r * apart + rest]; \
            if (r > 0u && p > 1u) z[u * Q + r] = times(roots[r * low * (apart / p)], z[u * Q + r]); \
        } \
        few(z, u * Q, Q); \
    } \
    barrier(); \
    [[unroll]] for (uint u = 0u; u < EACH / Q; u++) \
        if (t + 256u * u < all) \
            [[unroll]] for (uint r = 0u; r < Q; r++) held[at[u] + r * p] = z[u * Q + r]; \
    barrier(); \
}
JOINED(eights, 8u)
JOINED(fours, 4u)
JOINED(twos, 2u)
