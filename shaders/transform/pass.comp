#version 460
// One pass of a Fourier transform (Stockham): `at_once` lines of `radix` values a group, in shared memory, up to eight
// values a thread. A value is turned by the line's own k of `done` when it is loaded. Then a line is passes again, by the
// factors of the radix: after factors of the product p, with q the next one, y[h p q + m] = sum over r < q of
// x[r radix / q + h p + m % p] w^r, m < p q, by Horner's rule, where w is the root of m of p q, from a table of the roots
// of the radix.
#include "interface.glsl"
#include "roots.glsl"
layout(local_size_x = 256) in;

const uint EACH = 8u;
shared vec2 held[2048], roots[2048];

// Values of a line in the pass, and lines of the group.
uint radix, lines;

// n / d, a shift where d is a power of two.
uint parted(uint n, uint d, out uint rest) {
    if ((d & (d - 1u)) != 0u) return divide(n, d, rest);
    rest = n & (d - 1u);
    return n >> findMSB(d);
}

struct Line {
    uint o, j, i;
};

Line line_of(uint line) {
    Line l;
    l.o = parted(parted(line, arg_inner(), l.i), arg_length() / radix, l.j);
    return l;
}

// Element e of the group: line g and place r, which lie side by side in memory along the one or the other.
uint place_of(uint e, uint across, out uint g) {
    uint r;
    if (across == 1u) r = parted(e, lines, g);
    else g = parted(e, radix, r);
    return r;
}

bool is_finite(float v) { return (floatBitsToUint(v) & 0x7f800000u) != 0x7f800000u; }

vec2 given_value(Line l, uint t) {
    uint n = arg_length(), given = arg_given();
    bool turned = MIRRORED == 1u && t > n / 2u;
    if (turned) t = n - t;
    if (t >= given) return vec2(0.0);
    uint at = (l.o * given + t) * arg_inner() + l.i;
    if (COMPLEX == 0u) return vec2(load_x(at), 0.0);
    vec2 z = vec2(load_x(2u * at), load_x(2u * at + 1u));
    if (MIRRORED == 1u && (t == 0u || 2u * t == n)) z.y = 0.0;
    return turned ? vec2(z.x, -z.y) : z;
}

// A value of the pass: all sums with one that is not finite are NaN.
vec2 value(Line l, uint r) {
    uint t = r * (arg_length() / radix) + l.j, k;
    vec2 z = given_value(l, t);
    if (WEIGHTED == 1u) z = times(z, vec2(load_by(2u * t), load_by(2u * t + 1u)));
    if (!is_finite(z.x) || !is_finite(z.y)) return vec2(uintBitsToFloat(0x7fc00000u));
    if (arg_done() == 1u) return z;
    parted(l.j, arg_done(), k);
    return times(z, root(r * k, radix * arg_done()));
}

#include "butterflies.glsl"

// The sum of q values of the line that begins at `first`, for its place; p is what was transformed before.
vec2 joined(uint first, uint place, uint p, uint q) {
    uint m, h = parted(place, p * q, m), low;
    parted(m, p, low);
    uint apart = radix / q, at = first + h * p + low + (q - 1u) * apart;
    vec2 w = roots[m * (apart / p)];
    vec2 sum = held[at];
    for (uint r = 1u; r < q; r++) {
        at -= apart;
        sum = held[at] + times(w, sum);
    }
    return sum;
}

void store(Line l, uint s, vec2 z) {
    uint done = arg_done(), k, a = parted(l.j, done, k), at = a * done * radix + k + s * done;
    if (at >= arg_kept()) return;
    at = (l.o * arg_kept() + at) * arg_inner() + l.i;
    z *= arg_factor();
    store_y(PAIRS == 1u ? 2u * at : at, z.x);
    if (PAIRS == 1u) store_y(2u * at + 1u, z.y);
}

void main() {
    radix = arg_radix();
    lines = arg_at_once();
    uint t = gl_LocalInvocationID.x, begin = linear_group() * lines, g;
    [[unroll]] for (uint u = 0u; u < EACH; u++) {
        uint e = t + 256u * u;
        if (e < radix) roots[e] = root(e, radix);
        if (e >= lines * radix) continue;
        uint r = place_of(e, ACROSS, g);
        if (begin + g < arg_lines()) held[g * radix + r] = value(line_of(begin + g), r);
    }
    barrier();
    uint p = 1u;
    for (uint left = arg_radices(); left != 0u; left >>= 4u) {
        uint q = left & 15u, before = p;
        p *= q;
        if (q == 8u) eights(t, before);
        else if (q == 4u) fours(t, before);
        else if (q == 2u) twos(t, before);
        if (q == 8u || q == 4u || q == 2u) continue;
        vec2 y[EACH];
        [[unroll]] for (uint u = 0u; u < EACH; u++) {
            uint e = t + 256u * u, place = place_of(e, 0u, g);
            if (e < lines * radix) y[u] = joined(e - place, place, before, q);
        }
        barrier();
        [[unroll]] for (uint u = 0u; u < EACH; u++) if (t + 256u * u < lines * radix) held[t + 256u * u] = y[u];
        barrier();
    }
    [[unroll]] for (uint u = 0u; u < EACH; u++) {
        if (t + 256u * u >= lines * radix) break;
        uint s = place_of(t + 256u * u, BACK, g);
        if (begin + g < arg_lines()) store(line_of(begin + g), s, held[g * radix + s]);
    }
}
