#version 460
// y = epilogue((v - mean) / sqrt(var + eps) * gamma + beta), v = load(x), per row; RMS: v / sqrt(mean(v^2) + eps) ...
// The mean is taken twice: d = v - (first mean), then mean(d) corrects it and var = mean(d^2) - mean(d)^2, where
// mean(d) is rounding error alone, so nothing cancels. LANES threads a row (see rows.glsl).
#include "interface.glsl"
#include "rows.glsl"

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

void main() {
    begin_row();
    vec2 sums = vec2(0.0);
    EACH_QUAD {
        vec4 v = fetch(column(k), 0.0);
#ifdef KEEP_ROW
        kept[k] = v;
#endif
        sums += vec2(sum4(v), dot(v, v));
    }
    sums = row_sum(sums) / float(width);
    float shift = 0.0, mean = 0.0, spread = sums.y;
#ifndef RMS
    shift = sums.x;
    sums = vec2(0.0);
    EACH_QUAD {
        vec4 d = mix(vec4(0.0), VALUE(k) - shift, below(width - min(width, column(k))));
        sums += vec2(sum4(d), dot(d, d));
    }
    sums = row_sum(sums) / float(width);
    mean = sums.x;
    spread = max_nan(sums.y - mean * mean, 0.0);
#endif
    float scale = 1.0 / sqrt(spread + arg_eps());
    EACH_QUAD {
        uint c = column(k);
        if (live && c < width) store_quad(c, (VALUE(k) - shift - mean) * scale * factor(c) + offset(c));
    }
}
