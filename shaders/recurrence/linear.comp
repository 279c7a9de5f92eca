#version 460
// S = e^g S + k u', u = v or beta (v - S' k) of the decayed S; o = scale S' q; step by step. LANES threads for each column
// of S, each with KEPT neighbouring keys of it in registers; neighbouring threads have neighbouring columns. What a step reads
// is fetched during the one before it. Sums over keys: chains of KEPT terms, then pairs.
#include "interface.glsl"
#include "divide.glsl"
#include "explog.glsl"
layout(local_size_x = 256) in;

#define EACH [[unroll]] for (uint n = 0u; n < KEPT; n++)

const uint COLUMNS = 256u / LANES;
shared float part[512];
uint half_of_part = 0u;

// The sum over the lanes of a column, in each of them. Sums take turns with two halves of `part`: who writes to one has passed
// the barrier after which nobody reads it any more.
float across(float v) {
    if (LANES == 1u) return v;
    uint t = gl_LocalInvocationID.x, at = half_of_part, column = t & (COLUMNS - 1u);
    half_of_part ^= 256u;
    part[at + t] = v;
    barrier();
    if (LANES <= 16u) {
        float p[16];
        [[unroll]] for (uint l = 0u; l < 16u; l++) p[l] = l < LANES ? part[at + l * COLUMNS + column] : 0.0;
        [[unroll]] for (uint s = 8u; s > 0u; s >>= 1u) if (s < LANES) [[unroll]] for (uint l = 0u; l < s; l++) p[l] += p[l + s];
        return p[0];
    }
    for (uint s = 128u; s >= COLUMNS; s >>= 1u) {
        if (t < s) part[at + t] += part[at + t + s];
        barrier();
    }
    return part[at + column];
}

uint lane, batch, column, own, read_q, read_k, out_head;
float s[KEPT], rate[KEPT];

// Key n of this thread; beyond the last one there are some that count for nothing.
uint key(uint n) { return lane * KEPT + n; }
bool is_key(uint n) { return key(n) < arg_keys(); }
uint key_of(uint n) { return min(key(n), arg_keys() - 1u); }

// Whether four keys lie side by side, and all of them are there or none.
bool in_quads() { return (arg_keys() & 3u) == 0u; }

uint state_at(uint n) {
    uint keys = arg_keys(), values = arg_values(), head = batch * arg_hv() + own;
    return BY_VALUE == 1u ? (head * values + column) * keys + key_of(n) : (head * keys + key_of(n)) * values + column;
}

// Which column this is; whether it is the first of those that keep one state.
bool place(uint vector) {
    uint heads = arg_heads(), hv = arg_hv(), rest, unused;
    uint line = divide(vector, arg_values(), column);
    batch = divide(line, heads, out_head);
    own = divide(out_head * hv, heads, rest);
    read_q = divide(out_head * arg_hq(), heads, unused);
    read_k = divide(own * arg_hk(), hv, unused);
    return rest == 0u;
}

// What a step reads. Where keys are quads a thread reads four at once.
struct Terms { float k[KEPT], q[KEPT], g[KEPT], decay, v, beta; };

Terms fetched(uint row) {
    Terms of;
    uint keys = arg_keys(), of_head = row * arg_hv() + own, k = (row * arg_hk() + read_k) * keys, q = (row * arg_hq() + read_q) * keys;
    bool quads = in_quads();
    EACH {
        if (quads && (n & 3u) == 0u) {
            uint first = min(key(n), keys - 4u);
            vec4 four_k = load4_k((k + first) >> 2u), four_q = load4_q((q + first) >> 2u);
            [[unroll]] for (uint e = 0u; e < 4u; e++) {
                of.k[n + e] = four_k[e];
                of.q[n + e] = four_q[e];
            }
        }
        if (!quads) {
            of.k[n] = load_k(k + key_of(n));
            of.q[n] = load_q(q + key_of(n));
        }
        if (DECAYS == 2u) of.g[n] = load_decay(of_head * keys + key_of(n));
    }
    of.decay = DECAYS == 1u || DECAYS == 3u ? load_decay(of_head) : 0.0;
    of.v = load_v(of_head * arg_values() + column);
    of.beta = BETAS == 0u ? 1.0 : load_beta(BETAS == 1u ? of_head : row);
    return of;
}

void decay(Terms of) {
    if (DECAYS == 0u) return;
    float e = DECAYS == 1u ? exp_any(of.decay) : 1.0;
    EACH {
        if (DECAYS == 2u) e = exp_any(of.g[n]);
        if (DECAYS == 3u) e = exp_any(of.decay * rate[n]);
        s[n] *= e;
    }
}

// One step; `row` is batch and step.
void advance(Terms of, uint row, bool live) {
    decay(of);
    float u = of.v;
    if (DELTA == 1u) {
        float known = 0.0;
        EACH if (is_key(n)) known += s[n] * of.k[n];
        u -= across(known);
    }
    if (BETAS != 0u) u *= of.beta;
    float o = 0.0;
    EACH if (is_key(n)) {
        s[n] += of.k[n] * u;
        o += s[n] * of.q[n];
    }
    o = across(o);
    if (live && lane == 0u) store_o((row * arg_heads() + out_head) * arg_values() + column, arg_scale() * o);
}

void main() {
    uint t = gl_LocalInvocationID.x, steps = arg_steps(), all = arg_batches() * arg_heads() * arg_values();
    uint vector = linear_group() * COLUMNS + (t & (COLUMNS - 1u));
    bool live = vector < all;
    lane = t / COLUMNS;
    bool keeps = place(min(vector, all - 1u)) && live;
    bool quads = BY_VALUE == 1u && in_quads();
    EACH {
        if (GIVEN == 1u && quads && (n & 3u) == 0u) {
            vec4 four = load4_state(state_at(n) >> 2u);
            [[unroll]] for (uint e = 0u; e < 4u; e++) s[n + e] = four[e];
        }
        if (GIVEN == 0u || !quads) s[n] = GIVEN == 1u ? load_state(state_at(n)) : 0.0;
        rate[n] = DECAYS == 3u ? load_rates(own * arg_keys() + key_of(n)) : 0.0;
    }
    if (steps > 0u) {
        Terms next = fetched(batch * steps);
        for (uint i = 0u; i < steps; i++) {
            Terms now = next;
            if (i + 1u < steps) next = fetched(batch * steps + i + 1u);
            advance(now, batch * steps + i, live);
        }
    }
    EACH if (keeps && is_key(n)) {
        if (!quads) store_last(state_at(n), s[n]);
        else if ((n & 3u) == 0u) store4_last(state_at(n) >> 2u, vec4(s[n], s[n + 1u], s[n + 2u], s[n + 3u]));
    }
}
