#version 460
// y[r, n] = hole(sum over k of a[r / picks, k] · b[id[r], k, n]): a row by the matrix that its id names.
//
// A workgroup makes a quad of columns of one row: its 128 threads stride over k, sixteen bytes of b a thread and step
// where modes allow, with all loads of a step independent. The partial sums meet in shared memory, in a fixed order. A
// thread's chains have 64 terms, then pairs (pairs.glsl); the sums over the threads are chains of 4, 8 and 4.
#include "interface.glsl"
#include "pairs.glsl"
layout(local_size_x = 128) in;

const uint THREADS = 128, GROUP = 32, CHAIN = 64;
shared float partial[4 * THREADS];
uint at_a, at_b[4];
vec4 acc[4];
PAIRS(vec4, 4, 16u, acc, ADD, vec4(0.0))

vec4 hole_epilogue(vec4 v) { return v; }

void add4(uint k) {
    vec4 x = rounded_a(load4_a((at_a + k) >> 2u)), w[4];
    [[unroll]] for (uint j = 0u; j < 4u; j++) w[j] = rounded_b(load4_b((at_b[j] + k) >> 2u));
    [[unroll]] for (uint j = 0u; j < 4u; j++) acc[j] = fma(x, w[j], acc[j]);
}

vec4 half4(uvec4 h) { return T_b == 1u ? f16_to_f32(h) : uintBitsToFloat(h << 16u); }

// Eight elements of 16 bits.
void add8(uint k) {
    vec4 x = rounded_a(load4_a((at_a + k) >> 2u)), z = rounded_a(load4_a((at_a + k + 4u) >> 2u));
    uvec4 w[4];
    [[unroll]] for (uint j = 0u; j < 4u; j++) w[j] = loadu4_b((at_b[j] + k) >> 3u);
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        acc[j] = fma(x, rounded_b(half4(split_halves(w[j].xy))), acc[j]);
        acc[j] = fma(z, rounded_b(half4(split_halves(w[j].zw))), acc[j]);
    }
}

#ifdef BLOCKS
#include "blocks/q4_k_part.glsl"
// A part of a block of Q4_K.
void add_part(uint part) {
    vec4 x[8], low[4], high[4];
    uint k = at_a + q4_k_first(part);
    [[unroll]] for (uint q = 0u; q < 8u; q++) x[q] = rounded_a(load4_a((k + 4u * q + (q & 4u) * 4u) >> 2u));
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        q4_k_part((at_b[j] >> 8u) + (part >> 3u), part & 7u, low, high);
        [[unroll]] for (uint q = 0u; q < 4u; q++) {
            acc[j] = fma(x[q], rounded_b(low[q]), acc[j]);
            acc[j] = fma(x[q + 4u], rounded_b(high[q]), acc[j]);
        }
    }
}
bool has_parts() { return T_b == SCHEME_Q4_K; }
#else
bool has_parts() { return false; }
void add_part(uint part) {}
#endif

// One k of the four columns.
void add1(uint k, uint b_row) {
    float x = rounded_a(load_a(at_a + k));
    vec4 w;
    if (B_MODE == 3u) w = load4_b((at_b[0] + k * b_row) >> 2u);
    else [[unroll]] for (uint j = 0u; j < 4u; j++) w[j] = load_b(at_b[j] + k * b_row);
    w = rounded_b(w);
    [[unroll]] for (uint j = 0u; j < 4u; j++) acc[j].x = fma(x, w[j], acc[j].x);
}

void add_terms(uint K, uint t) {
    if (A_MODE == 1u && B_MODE == 1u) {
        bool wide = (T_b == 1u || T_b == 2u) && ((K | at_b[0] | arg_b_col()) & 7u) == 0u;
        for (uint first = 0u; first < K; first += CHAIN * 4u * THREADS) {
            uint end = min(first + CHAIN * 4u * THREADS, K);
            if (has_parts()) for (uint k = first + 32u * t; k < end; k += 32u * THREADS) add_part(k >> 5u);
            else if (wide) for (uint k = first + 8u * t; k < end; k += 8u * THREADS) add8(k);
            else for (uint k = first + 4u * t; k < end; k += 4u * THREADS) add4(k);
            if (end < K) carry();
        }
        return;
    }
    uint b_row = arg_b_row();
    for (uint first = 0u; first < K; first += CHAIN * THREADS) {
        uint end = min(first + CHAIN * THREADS, K);
        for (uint k = first + t; k < end; k += THREADS) add1(k, b_row);
        if (end < K) carry();
    }
}

void main() {
    keep_holes();
    uint N = arg_n(), t = gl_LocalInvocationID.x, quads = (N + 3u) / 4u, group = linear_group();
    uint row = group / quads, col = group % quads * 4u;
    if (row >= arg_rows()) return;
    uint expert = loadu_id(row), K = arg_k();
    bool inside = expert < arg_experts();
    if (!inside && t == 0u && col == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), row);
    at_a = row / arg_picks() * K;
    uint b_at = arg_b_at() + (inside ? expert : 0u) * arg_b_e();
    [[unroll]] for (uint j = 0u; j < 4u; j++) {
        at_b[j] = b_at + min(col + j, N - 1u) * arg_b_col();
        acc[j] = vec4(0.0);
    }
    if (inside) add_terms(K, t);
    join_pairs();
    // Output o of thread i lies at o, i + o·GROUP: neither the stores nor the sums meet in one bank.
    [[unroll]] for (uint o = 0u; o < 4u; o++)
        partial[o * THREADS + (t + o * GROUP) % THREADS] = (acc[o].x + acc[o].y) + (acc[o].z + acc[o].w);
    barrier();
    float sum = 0.0;
    [[unroll]] for (uint i = 0u; i < 4u; i++) sum += partial[t / GROUP * THREADS + (i * GROUP + t) % THREADS];
    barrier();
    partial[t] = sum;
    barrier();
    sum = 0.0;
    if (t < 16u) [[unroll]] for (uint i = 0u; i < 8u; i++) sum += partial[t * 8u + i];
    barrier();
    if (t < 16u) partial[t] = sum;
    barrier();
    if (t > 0u) return;
    vec4 v = vec4(0.0);
    [[unroll]] for (uint j = 0u; j < 4u; j++) [[unroll]] for (uint i = 0u; i < 4u; i++) v[j] += partial[j * 4u + i];
    v = hole_epilogue(v);
    uint at = row * N + col;
    if (VEC_Y != 0u) store4_y(at >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at + e, v[e]);
}
