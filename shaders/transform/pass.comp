#version 460
// One pass of a Fourier transform (Stockham): `at_once` lines of `radix` values a group, in shared memory, up to sixteen
// values a thread. A value is turned by the line's own k of `done` when it is loaded. Then a line is passes again, by the
// factors of the radix: after factors of the product p, with q the next one, y[h p q + m] = sum over r < q of
// x[r radix / q + h p + m % p] w^r, m < p q, where w is the root of m of p q.
#include "interface.glsl"
layout(local_size_x = 256) in;

const uint EACH = 16u;
shared vec2 held[4096];

#include "numbers.glsl"
#include "roots.glsl"

// Lines that lie side by side in memory stand an odd number of values apart, and neighbouring threads take neighbouring
// lines; of others, neighbouring values, and blocks of sixteen are shuffled: so that threads meet few banks twice.
const bool SPREAD = ACROSS + BACK != 0u;
uint pitch() { return SPREAD && lines() > 1u ? radix() | 1u : radix(); }
uint at(uint i) { return SPREAD ? i : i ^ (i >> 4u & 15u); }

// Where the line of sum b of a pass begins that takes values `apart` apart, and which of its sums it is.
uint line_at(uint b, uint apart, out uint rest) {
    uint g;
    if (SPREAD) rest = parted(b, lines(), g);
    else g = parted(b, apart, rest);
    return g * pitch();
}

// Whether a thread is past `all` at its turn u; the first part is known where the numbers are constants.
bool beyond(uint t, uint u, uint step, uint all) { return u * step >= all || t + u * step >= all; }

struct Line {
    uint o, j, i;
};

Line line_of(uint line) {
    Line l;
    l.o = parted(parted(line, inner(), l.i), extent() / radix(), l.j);
    return l;
}

// Element e of the group: line g and place r, which lie side by side in memory along the one or the other.
uint place_of(uint e, uint across, out uint g) {
    uint r;
    if (across == 1u) r = parted(e, lines(), g);
    else g = parted(e, radix(), r);
    return r;
}

bool is_finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }

vec2 given_value(Line l, uint t) {
    uint n = extent();
    bool turned = MIRRORED == 1u && t > n / 2u;
    if (turned) t = n - t;
    if (given() < n && t >= given()) return vec2(0.0);
    uint place = (l.o * given() + t) * inner() + l.i;
    if (COMPLEX == 0u) return vec2(load_x(place), 0.0);
    vec2 z = uintBitsToFloat(loadu2_x(place));
    if (MIRRORED == 1u && (t == 0u || 2u * t == n)) z.y = 0.0;
    return turned ? vec2(z.x, -z.y) : z;
}

// A value of the pass: all sums with one that is not finite are NaN.
vec2 value(Line l, uint r) {
    uint t = r * (extent() / radix()) + l.j, k;
    vec2 z = given_value(l, t);
    if (WEIGHTED == 1u && (MIRRORED == 1u || t < given())) z = times(z, uintBitsToFloat(loadu2_by(t)));
    if (!is_finite(z.x) || !is_finite(z.y)) return vec2(uintBitsToFloat(0x7fc00000u));
    if (done() == 1u) return z;
    parted(l.j, done(), k);
    return times(z, root(r * k, radix() * done()));
}

void store(Line l, uint s, vec2 z) {
    uint k, a = parted(l.j, done(), k), to = a * done() * radix() + k + s * done();
    if (kept() < extent() && to >= kept()) return;
    to = (l.o * kept() + to) * inner() + l.i;
    z *= arg_factor();
    if (PAIRS == 1u) storeu2_y(to, floatBitsToUint(z));
    else store_y(to, z.x);
}

#include "butterflies.glsl"
#include "odd.glsl"
#include "primes.glsl"

// A pass by q, or where that is 1 by the next one of the primes.
void joined(uint t, inout uint p, inout uint primes, uint q) {
    uint by = q;
    if (q == 8u) pass_8(t, p);
    else if (q == 4u) pass_4(t, p);
    else if (q == 2u) pass_2(t, p);
    else if (q == 3u) pass_3(t, p);
    else if (q == 5u) pass_5(t, p);
    else if (q == 7u) pass_7(t, p);
    else if (q == 9u) pass_9(t, p);
    else if (q == 11u) pass_11(t, p);
    else if (q == 13u) pass_13(t, p);
    else if (q == 1u) {
        by = primes & 255u;
        pass_prime(t, p, by);
        primes >>= 8u;
    }
    p *= by;
}
// No branch between the loads, so that they are under way together: beyond the ends the last ones are loaded again.
void load_all(uint t, uint begin, uint all) {
    vec2 v[EACH];
    uint g;
    [[unroll]] for (uint u = 0u; u < EACH; u++) {
        if (256u * u >= all) break;
        uint r = place_of(min(t + 256u * u, all - 1u), ACROSS, g);
        v[u] = value(line_of(min(begin + g, arg_lines() - 1u)), r);
    }
    [[unroll]] for (uint u = 0u; u < EACH; u++) {
        if (256u * u >= all) break;
        uint r = place_of(min(t + 256u * u, all - 1u), ACROSS, g);
        held[at(g * pitch() + r)] = v[u];
    }
}

#define NEXT(I) if ((FIXED_RADICES >> (4u * I) & 15u) != 0u) joined(t, p, primes, FIXED_RADICES >> (4u * I) & 15u);

void main() {
    uint t = gl_LocalInvocationID.x, begin = linear_group() * lines(), g, p = 1u, all = lines() * radix();
    if (FIXED) load_all(t, begin, all);
    else for (uint e = t; e < all; e += 256u) {
        uint r = place_of(e, ACROSS, g);
        held[at(g * pitch() + r)] = value(line_of(min(begin + g, arg_lines() - 1u)), r);
    }
    barrier();
    uint primes = FIXED ? FIXED_PRIMES : arg_primes();
    if (FIXED) {
        NEXT(0u) NEXT(1u) NEXT(2u) NEXT(3u) NEXT(4u) NEXT(5u) NEXT(6u)
    } else {
        for (uint left = arg_radices(); left != 0u; left >>= 4u) joined(t, p, primes, left & 15u);
    }
    for (uint e = t; e < all; e += 256u) {
        uint s = place_of(e, BACK, g);
        if (begin + g < arg_lines()) store(line_of(begin + g), s, held[at(g * pitch() + s)]);
    }
}
