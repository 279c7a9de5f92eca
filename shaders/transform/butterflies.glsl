// Passes by small numbers: a thread reads the values of a sum once for all sums of them.

// z times the root of a quarter turn.
vec2 quarter(vec2 z) { return INVERSE == 1u ? vec2(-z.y, z.x) : vec2(z.y, -z.x); }

void sum_2(inout vec2 v[2]) {
    vec2 less = v[0] - v[1];
    v[0] += v[1];
    v[1] = less;
}

void four(inout vec2 a, inout vec2 b, inout vec2 c, inout vec2 d) {
    vec2 even = a + c, odd = b + d, less = a - c, turned = quarter(b - d);
    a = even + odd;
    b = less + turned;
    c = even - odd;
    d = less - turned;
}

void sum_4(inout vec2 v[4]) { four(v[0], v[1], v[2], v[3]); }

void sum_8(inout vec2 v[8]) {
    four(v[0], v[2], v[4], v[6]);
    four(v[1], v[3], v[5], v[7]);
    const float HALF = 0.707106781;
    vec2 w = vec2(HALF, INVERSE == 1u ? HALF : -HALF);
    vec2 odd[4] = vec2[](v[1], times(w, v[3]), quarter(v[5]), times(vec2(-w.x, w.y), v[7]));
    vec2 even[4] = vec2[](v[0], v[2], v[4], v[6]);
    [[unroll]] for (uint k = 0u; k < 4u; k++) {
        v[k] = even[k] + odd[k];
        v[k + 4u] = even[k] - odd[k];
    }
}

// A pass by Q after one of p: each sum of Q values and the Q - 1 others of the same values are made by one thread, which
// turns them by the powers of a root before.
#define JOINED(NAME, Q, SUM) \
void NAME(uint t, uint p) { \
    const uint MANY = (EACH + Q - 1u) / Q; \
    uint apart = radix() / Q, all = lines() * apart, to[MANY]; \
    vec2 z[MANY * Q]; \
    [[unroll]] for (uint u = 0u; u < MANY; u++) { \
        uint b = t + 256u * u, rest, low; \
        if (beyond(t, u, 256u, all)) continue; \
        uint first = line_at(b, apart, rest); \
        to[u] = first + parted(rest, p, low) * p * Q + low; \
        vec2 v[Q], w[Q]; \
        [[unroll]] for (uint r = 0u; r < Q; r++) v[r] = held[at(first + r * apart + rest)]; \
        if (p > 1u) { \
            w[1] = root(low, p * Q); \
            [[unroll]] for (uint r = 2u; r < Q; r++) \
                w[r] = times(w[r / 2u], w[r - r / 2u]); \
            [[unroll]] for (uint r = 1u; r < Q; r++) v[r] = times(w[r], v[r]); \
        } \
        SUM(v); \
        [[unroll]] for (uint r = 0u; r < Q; r++) z[u * Q + r] = v[r]; \
    } \
    barrier(); \
    [[unroll]] for (uint u = 0u; u < MANY; u++) \
        if (!beyond(t, u, 256u, all)) \
            [[unroll]] for (uint r = 0u; r < Q; r++) held[at(to[u] + r * p)] = z[u * Q + r]; \
    barrier(); \
}
JOINED(pass_8, 8, sum_8)
JOINED(pass_4, 4, sum_4)
JOINED(pass_2, 2, sum_2)
