#version 460
// y = epilogue((v - mean) / sqrt(var + eps) * gamma + beta), v = load(x), per row; RMS: v / sqrt(mean(v^2) + eps) ...
// The mean is taken twice: d = v - (first mean), then mean(d) corrects it and var = mean(d^2) - mean(d)^2, where
// mean(d) is rounding error alone, so nothing cancels. LANES threads a row (see rows.glsl). A thread
// that keeps its quads has 16 at most; else chains have 64 quads, then pairs (pairs.glsl).
#include "interface.glsl"
#include "rows.glsl"
#include "pairs.glsl"

shared vec2 part[256];

// The sum over the lanes of this row, in each of them.
vec2 row_sum(vec2 v) {
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
#ifdef RMS
    vec4 plus = vec4(float(ONE_PLUS));
#else
    const vec4 plus = vec4(0.0);
#endif
    if (GAMMA == 0u) return vec4(1.0);
    if (VEC == 1u) return load4_g(c >> 2u) + plus;
    uint last = width - 1u;
    return vec4(load_g(c), load_g(min(c + 1u, last)), load_g(min(c + 2u, last)), load_g(min(c + 3u, last))) + plus;
}

vec4 offset(uint c) {
    if (BETA == 0u) return vec4(0.0);
    if (VEC == 1u) return load4_b(c >> 2u);
    uint last = width - 1u;
    return vec4(load_b(c), load_b(min(c + 1u, last)), load_b(min(c + 2u, last)), load_b(min(c + 3u, last)));
}

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

#ifdef KEEP_ROW
#define VALUE(k) kept[k]
#else
#define VALUE(k) fetch(column(k), 0.0)
#endif

float shift = 0.0;

// What quad k adds to the sums of values and of their squares.
vec2 plain_terms(uint k) {
    vec4 v = fetch(column(k), 0.0);
#ifdef KEEP_ROW
    kept[k] = v;
#endif
    return vec2(sum4(v), dot(v, v));
}

vec2 shifted_terms(uint k) {
    vec4 d = mix(vec4(0.0), VALUE(k) - shift, below(width - min(width, column(k))));
    return vec2(sum4(d), dot(d, d));
}

#ifdef KEEP_ROW
vec2 sums[1];
#define SUM(TERMS) \
    sums[0] = vec2(0.0); \
    EACH_QUAD sums[0] += TERMS(k);
#else
vec2 sums[1];
PAIRS(vec2, 1, 20u, sums, ADD, vec2(0.0))
#define SUM(TERMS) \
    sums[0] = vec2(0.0); \
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
    vec2 means = row_sum(sums[0]) / float(width);
    float mean = 0.0, spread = means.y;
#ifndef RMS
    shift = means.x;
    SUM(shifted_terms)
    means = row_sum(sums[0]) / float(width);
    mean = means.x;
    spread = max_nan(means.y - mean * mean, 0.0);
#endif
    float scale = 1.0 / sqrt(spread + arg_eps());
    EACH_QUAD {
        uint c = column(k);
        if (live && c < width) store_quad(c, (VALUE(k) - shift - mean) * scale * factor(c) + offset(c));
    }
}
