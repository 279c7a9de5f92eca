#version 460
// y = epilogue(s * (u - mean(u) - h * mean(u * h))), u = dy * g, s = 1 / sqrt(var + eps), h = (x - mean) * s, per row;
// CENTRED 0: s = 1 / sqrt(mean(x^2) + eps), h = x * s, and mean(u) is not taken off. The mean is taken twice, as in
// norm.comp: d = x - (first mean), e = mean(d) is its rounding, var = mean(d^2) - e^2, mean(u * h) = s * (mean(u * d) -
// e * mean(u)). LANES threads a row (see rows.glsl). A thread that keeps its quads has 8 at most; else chains have 64
// quads, then pairs (pairs.glsl).
#include "interface.glsl"
#include "rows.glsl"
#include "pairs.glsl"

shared vec4 part[256];

// The sum over the lanes of this row, in each of them.
vec4 row_sum(vec4 v) {
    uint t = gl_LocalInvocationID.x;
    part[t] = v;
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] += part[t + s];
        barrier();
    }
    v = part[t - lane];
    barrier();
    return v;
}

vec4 factor(uint c) {
    if (SCALED == 0u) return vec4(1.0);
    if (VEC == 1u) return load4_g(c >> 2u);
    uint last = width - 1u;
    return vec4(load_g(c), load_g(min(c + 1u, last)), load_g(min(c + 2u, last)), load_g(min(c + 3u, last)));
}

// u of the quad at column c; 0 where there is no element.
vec4 upstream(uint c) {
    if (!live || c >= width) return vec4(0.0);
    uint at = row * width + c, left = width - c;
    vec4 v;
    if (VEC == 1u || (left >= 4u && (at & 3u) == 0u)) {
        v = load4_dy(at >> 2u);
    } else {
        v = vec4(load_dy(at), left > 1u ? load_dy(at + 1u) : 0.0, left > 2u ? load_dy(at + 2u) : 0.0,
                 left > 3u ? load_dy(at + 3u) : 0.0);
    }
    return mix(vec4(0.0), v * factor(c), below(left));
}

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

#ifdef KEEP_ROW
vec4 kept_u[KEEP_ROW];
#define VALUE(k) kept[k]
#define UPSTREAM(k) kept_u[k]
#else
#define VALUE(k) fetch(column(k), 0.0)
#define UPSTREAM(k) upstream(column(k))
#endif

float shift = 0.0;

// What quad k adds: centred to the sum of x, else to those of x^2 and u * x.
vec4 plain_terms(uint k) {
    vec4 v = fetch(column(k), 0.0);
#ifdef KEEP_ROW
    kept[k] = v;
    kept_u[k] = upstream(column(k));
#endif
    if (CENTRED == 1u) return vec4(sum4(v), 0.0, 0.0, 0.0);
    return vec4(0.0, dot(v, v), 0.0, dot(UPSTREAM(k), v));
}

// What quad k adds to the sums of d, d^2, u and u * d.
vec4 shifted_terms(uint k) {
    vec4 d = mix(vec4(0.0), VALUE(k) - shift, below(width - min(width, column(k)))), u = UPSTREAM(k);
    return vec4(sum4(d), dot(d, d), sum4(u), dot(u, d));
}

vec4 sums[1];
#ifdef KEEP_ROW
#define SUM(TERMS) \
    sums[0] = vec4(0.0); \
    EACH_QUAD sums[0] += TERMS(k);
#else
PAIRS(vec4, 1, 20u, sums, ADD, vec4(0.0))
#define SUM(TERMS) \
    sums[0] = vec4(0.0); \
    chains = 0u; \
    for (uint k = 0u; 4u * LANES * k < width;) { \
        for (uint chain_end = k + 64u; k < chain_end && 4u * LANES * k < width; k++) sums[0] += TERMS(k); \
        if (4u * LANES * k < width) carry(); \
    } \
    join_pairs();
#endif

void main() {
    begin_row();
    SUM(plain_terms)
    vec4 means = row_sum(sums[0]) / float(width);
    if (CENTRED == 1u) {
        shift = means.x;
        SUM(shifted_terms)
        means = row_sum(sums[0]) / float(width);
    }
    float off = CENTRED == 1u ? means.x : 0.0, level = CENTRED == 1u ? means.z : 0.0;
    float spread = CENTRED == 1u ? max_nan(means.y - off * off, 0.0) : means.y;
    float inverse = 1.0 / sqrt(spread + arg_eps()), along = (means.w - off * level) * inverse;
    if (STATISTICS == 1u && live && lane == 0u) {
        // The mean of a row with an infinity is infinite, and what lies about it is NaN.
        if (CENTRED == 1u) store_mean(row, off == off ? shift + off : shift);
        store_inverse(row, inverse);
    }
    EACH_QUAD {
        uint c = column(k);
        if (live && c < width) {
            vec4 h = (VALUE(k) - shift - off) * inverse;
            store_quad(c, inverse * (UPSTREAM(k) - level - h * along));
        }
    }
}
