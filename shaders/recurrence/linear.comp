#version 460
// S = e^g S + k u', u = v or beta (v - S' k) of the decayed S; o = scale S' q; step by step. LANES threads for each column
// of S, thread `lane` of them with keys lane, lane + LANES, ... of it in registers; neighbouring threads have neighbouring
// columns. Sums over keys: chains of KEPT terms, then pairs.
#include "interface.glsl"
#include "divide.glsl"
#include "explog.glsl"
layout(local_size_x = 256) in;

#define EACH [[unroll]] for (uint n = 0u; n < KEPT; n++)

const uint COLUMNS = 256u / LANES;
shared float part[256];

// The sum over the lanes of a column, in each of them.
float across(float v) {
    if (LANES == 1u) return v;
    uint t = gl_LocalInvocationID.x;
    part[t] = v;
    barrier();
    for (uint s = 128u; s >= COLUMNS; s >>= 1u) {
        if (t < s) part[t] += part[t + s];
        barrier();
    }
    v = part[t & (COLUMNS - 1u)];
    barrier();
    return v;
}

float exp_any(float x) { return x > 88.0 ? exp(x) : exp_own(x); }

uint lane, batch, column, own, read_q, read_k, out_head;
float s[KEPT], rate[KEPT];

// Key n of this thread; beyond the last one there are some that count for nothing.
uint key(uint n) { return n * LANES + lane; }
bool is_key(uint n) { return key(n) < arg_keys(); }
uint key_of(uint n) { return min(key(n), arg_keys() - 1u); }

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

void decay(uint of_head) {
    if (DECAYS == 0u) return;
    float g = DECAYS == 2u ? 0.0 : load_decay(of_head), e = DECAYS == 1u ? exp_any(g) : 1.0;
    EACH {
        if (DECAYS == 2u) e = exp_any(load_decay(of_head * arg_keys() + key_of(n)));
        if (DECAYS == 3u) e = exp_any(g * rate[n]);
        s[n] *= e;
    }
}

// One step; `row` is batch and step.
void advance(uint row, bool live) {
    uint keys = arg_keys(), values = arg_values(), of_head = row * arg_hv() + own;
    uint k = (row * arg_hk() + read_k) * keys, q = (row * arg_hq() + read_q) * keys;
    decay(of_head);
    float u = load_v(of_head * values + column);
    if (DELTA == 1u) {
        float known = 0.0;
        EACH if (is_key(n)) known += s[n] * load_k(k + key_of(n));
        u -= across(known);
    }
    if (BETAS == 1u) u *= load_beta(of_head);
    if (BETAS == 2u) u *= load_beta(row);
    float o = 0.0;
    EACH if (is_key(n)) {
        s[n] += load_k(k + key_of(n)) * u;
        o += s[n] * load_q(q + key_of(n));
    }
    o = across(o);
    if (live && lane == 0u) store_o((row * arg_heads() + out_head) * values + column, arg_scale() * o);
}

void main() {
    uint t = gl_LocalInvocationID.x, steps = arg_steps(), all = arg_batches() * arg_heads() * arg_values();
    uint vector = linear_group() * COLUMNS + (t & (COLUMNS - 1u));
    bool live = vector < all;
    lane = t / COLUMNS;
    bool keeps = place(min(vector, all - 1u)) && live;
    EACH {
        s[n] = GIVEN == 1u ? load_state(state_at(n)) : 0.0;
        rate[n] = DECAYS == 3u ? load_rates(own * arg_keys() + key_of(n)) : 0.0;
    }
    for (uint i = 0u; i < steps; i++) advance(batch * steps + i, live);
    EACH if (keeps && is_key(n)) store_last(state_at(n), s[n]);
}
