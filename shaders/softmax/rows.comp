#version 460
// y = epilogue(e^(v - m) / sum e^(v - m)), v = load(x), m the maximum, per row; LOG: epilogue(v - m - ln sum).
// LANES threads a row (see rows.glsl). With KEEP_ROW: maximum, then e^(v - m) in place and its sum, then the result.
// Without: a running maximum and a sum relative to it, rescaled when the maximum grows; the result from a second read.
// AHEAD quads of a thread are in flight then. Whether max() keeps a NaN does not matter: the sum does.
// A thread that keeps its quads has 16 at most; else chains have 64 runs of AHEAD quads, then pairs (pairs.glsl).
#include "interface.glsl"
#include "rows.glsl"
#include "explog.glsl"

float minus_inf() { return uintBitsToFloat(0xff800000u); }

float max4(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

vec4 result(vec4 d, vec4 e, float sum) { return LOG == 1u ? d - log_own(sum) : e * (1.0 / sum); }

#ifdef KEEP_ROW
shared float part[THREADS];

// Maximum or sum over the lanes of this row, in each of them.
float row_fold(float v, bool is_max) {
    uint t = gl_LocalInvocationID.x;
    part[t] = v;
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] = is_max ? max(part[t], part[t + s]) : part[t] + part[t + s];
        barrier();
    }
    v = part[t - lane];
    barrier();
    return v;
}

void main() {
    begin_row();
    float m = minus_inf(), sum = 0.0;
    EACH_QUAD {
        kept[k] = fetch(column(k), minus_inf());
        m = max(m, max4(kept[k]));
    }
    m = row_fold(m, true);
    // What lies outside the row is -Inf and adds 0.
    EACH_QUAD {
        vec4 d = kept[k] - m, e = exp_own(d);
        kept[k] = LOG == 1u ? d : e;
        sum += sum4(e);
    }
    sum = row_fold(sum, false);
    EACH_QUAD store_quad(column(k), result(kept[k], kept[k], sum));
}
#else
shared vec2 part[THREADS];
#ifndef AHEAD
#define AHEAD 1
#endif

// Two runs (maximum, sum) as one. A run that met nothing but -Inf has the sum 0.
vec2 merge(vec2 a, vec2 b) {
    float m = max(a.x, b.x);
    return vec2(m, a.y * (a.x == m ? 1.0 : exp_own(a.x - m)) + b.y * (b.x == m ? 1.0 : exp_own(b.x - m)));
}

#include "pairs.glsl"
vec2 chain[1];
PAIRS(vec2, 1, 20u, chain, merge, vec2(minus_inf(), 0.0))

// Merges AHEAD quads, k first, into the chain.
void take_quads(uint k) {
    vec4 v[AHEAD];
    [[unroll]] for (uint a = 0u; a < AHEAD; a++) v[a] = fetch(column(k + a), minus_inf());
    float m = minus_inf();
    bool some = false;
    [[unroll]] for (uint a = 0u; a < AHEAD; a++) {
        m = max(m, max4(v[a]));
        some = some || !all(equal(v[a], vec4(minus_inf())));
    }
    float sum = 0.0;
    [[unroll]] for (uint a = 0u; a < AHEAD; a++) sum += sum4(exp_own(v[a] - m));
    if (some) chain[0] = merge(chain[0], vec2(m, sum));
}

void main() {
    begin_row();
    uint t = gl_LocalInvocationID.x;
    chain[0] = vec2(minus_inf(), 0.0);
    for (uint k = 0u; 4u * LANES * k < width;) {
        for (uint chain_end = k + 64u * AHEAD; k < chain_end && 4u * LANES * k < width; k += AHEAD) take_quads(k);
        if (4u * LANES * k < width) carry();
    }
    join_pairs();
    part[t] = chain[0];
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) part[t] = merge(part[t], part[t + s]);
        barrier();
    }
    vec2 run = part[t - lane];
    for (uint k = 0u; 4u * LANES * k < width; k += AHEAD) {
        vec4 v[AHEAD];
        [[unroll]] for (uint a = 0u; a < AHEAD; a++) v[a] = fetch(column(k + a), 0.0);
        [[unroll]] for (uint a = 0u; a < AHEAD; a++) {
            vec4 d = v[a] - run.x;
            store_quad(column(k + a), result(d, exp_own(d), run.y));
        }
    }
}
#endif
