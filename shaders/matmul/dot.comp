#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]) for few rows m, where b lies along k (a weight of [n, k]).
//
// A workgroup makes MM rows of NQ quads of columns: its 128 threads stride over k, sixteen bytes of b a thread
// and step if A_MODE and B_MODE are 1, one element otherwise, with all loads of a step independent. The partial sums meet in shared memory,
// in an order fixed by the shape. A thread's chains have 64 terms, then pairs (pairs.glsl); the sums over the threads,
// which follow, are chains of OUT, of 8 where there are more than 8, and of what is left.
#include "product_interface.glsl"
#include "matrix_slots.glsl"
#include "pairs.glsl"

const uint THREADS = 128, OUT = 4 * NQ * MM, GROUP = THREADS / OUT;
layout(local_size_x = THREADS) in;
shared float partial[OUT * THREADS];

// Eight elements of 16 bits.
void load8_b(uint i8, out vec4 low, out vec4 high) {
    uvec4 w = loadu4_b(i8), a = split_halves(w.xy), b = split_halves(w.zw);
    low = rounded_b(T_b == 1u ? f16_to_f32(a) : uintBitsToFloat(a << 16u));
    high = rounded_b(T_b == 1u ? f16_to_f32(b) : uintBitsToFloat(b << 16u));
}

uint at_a[MM], at_b[4 * NQ];
// Of many outputs each has one chain: the registers are short.
#if MM > 1
#define NO_TERM 0.0
#define FIRST(v) v
float acc[OUT];
float whole(float v) { return v; }
PAIRS(float, OUT, 16u, acc, ADD, NO_TERM)
#else
#define NO_TERM vec4(0.0)
#define FIRST(v) v.x
vec4 acc[OUT];
float whole(vec4 v) { return (v.x + v.y) + (v.z + v.w); }
PAIRS(vec4, OUT, 16u, acc, ADD, NO_TERM)
#endif
// Steps of a chain: of quads, and of single elements.
const uint CHAIN4 = MM > 1 ? 16 : 64, CHAIN1 = 64;

void add(vec4 fa[MM], vec4 fb[4 * NQ]) {
    [[unroll]] for (uint o = 0u; o < OUT; o++) {
        vec4 x = fa[o / (4u * NQ)], w = fb[o % (4u * NQ)];
#if MM > 1
        [[unroll]] for (uint c = 0u; c < 4u; c++) acc[o] = fma(x[c], w[c], acc[o]);
#else
        acc[o] = fma(x, w, acc[o]);
#endif
    }
}
void add4(uint k) {
    vec4 fa[MM], fb[4 * NQ];
    [[unroll]] for (uint j = 0u; j < 4u * NQ; j++) fb[j] = rounded_b(load4_b((at_b[j] + k) >> 2u));
    [[unroll]] for (uint i = 0u; i < MM; i++) fa[i] = rounded_a(load4_a((at_a[i] + k) >> 2u));
    add(fa, fb);
}
void add1(uint k, uint a_col, uint b_row) {
    float fb[4 * NQ], fa[MM];
    [[unroll]] for (uint j = 0u; j < 4u * NQ; j++) fb[j] = rounded_b(load_b(at_b[j] + k * b_row));
    [[unroll]] for (uint i = 0u; i < MM; i++) fa[i] = rounded_a(load_a(at_a[i] + k * a_col));
    [[unroll]] for (uint o = 0u; o < OUT; o++) FIRST(acc[o]) = fma(fa[o / (4u * NQ)], fb[o % (4u * NQ)], FIRST(acc[o]));
}
void add8(uint k) {
    vec4 fa[MM], ga[MM], fb[4 * NQ], gb[4 * NQ];
    [[unroll]] for (uint j = 0u; j < 4u * NQ; j++) load8_b((at_b[j] + k) >> 3u, fb[j], gb[j]);
    [[unroll]] for (uint i = 0u; i < MM; i++) {
        fa[i] = rounded_a(load4_a((at_a[i] + k) >> 2u));
        ga[i] = rounded_a(load4_a((at_a[i] + k + 4u) >> 2u));
    }
    add(fa, fb);
    add(ga, gb);
}

#include "dot_runs.glsl"

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

void main() {
    keep_holes();
    uint M = arg_m(), N = arg_n(), K = arg_k(), t = gl_LocalInvocationID.x;
    uint tiles_m = (M + MM - 1u) / MM, tiles_n = (N + 4u * NQ - 1u) / (4u * NQ), group = linear_group();
    uint tile_m = group % tiles_m, tile_n = group / tiles_m % tiles_n, batch = group / tiles_m / tiles_n;
    if (batch >= arg_batches()) return;
    uint outer = batch / arg_inner(), inner = batch % arg_inner();
    uint a_at = arg_a_at() + outer * arg_a_b0() + inner * arg_a_b1(), a_row = arg_a_row(), a_col = arg_a_col();
    uint b_at = arg_b_at() + outer * arg_b_b0() + inner * arg_b_b1(), b_row = arg_b_row(), b_col = arg_b_col();
    uint row = tile_m * MM, col = tile_n * 4u * NQ;
    [[unroll]] for (uint i = 0u; i < MM; i++) at_a[i] = a_at + min(row + i, M - 1u) * a_row;
    [[unroll]] for (uint j = 0u; j < 4u * NQ; j++) at_b[j] = b_at + min(col + j, N - 1u) * b_col;

    [[unroll]] for (uint o = 0u; o < OUT; o++) acc[o] = NO_TERM;
    if (A_MODE == 1u && B_MODE == 1u) {
        bool wide = (T_b == 1u || T_b == 2u) && ((K | b_at | b_col) & 7u) == 0u;
        uint chain = CHAIN4 * 4u * THREADS, run = at_once();
        if (run > 0u && ((K | b_at | b_col) & run - 1u) != 0u) run = 0u;
        for (uint k1 = 0u; k1 < K; k1 += chain) {
            uint end = min(k1 + chain, K);
            if (run > 0u) for (uint k = k1 + run * t; k < end; k += run * THREADS) add_run(k);
            else if (wide) for (uint k = k1 + 8u * t; k < end; k += 8u * THREADS) add8(k);
            else for (uint k = k1 + 4u * t; k < end; k += 4u * THREADS) add4(k);
            if (end < K) carry();
        }
    } else for (uint k1 = 0u; k1 < K; k1 += CHAIN1 * THREADS) {
        uint end = min(k1 + CHAIN1 * THREADS, K);
        for (uint k = k1 + t; k < end; k += THREADS) add1(k, a_col, b_row);
        if (end < K) carry();
    }
    join_pairs();
    // Output o of thread i lies at o, i + o·GROUP: neither the stores nor the sums meet in one bank.
    [[unroll]] for (uint o = 0u; o < OUT; o++) partial[o * THREADS + (t + o * GROUP) % THREADS] = whole(acc[o]);
    barrier();
    float sum = 0.0;
    [[unroll]] for (uint i = 0u; i < OUT; i++) sum += partial[t / GROUP * THREADS + (i * GROUP + t) % THREADS];
    barrier();
    partial[t] = sum;
    barrier();
    // What is left of an output: of many threads in two turns, so that one does not add up all.
    const uint TURN = GROUP > 8u ? 8u : 1u, LEFT = GROUP / TURN;
    if (TURN > 1u) {
        sum = 0.0;
        if (t < OUT * LEFT) [[unroll]] for (uint i = 0u; i < TURN; i++) sum += partial[t * TURN + i];
        barrier();
        if (t < OUT * LEFT) partial[t] = sum;
        barrier();
    }
    row += t / NQ;
    col += t % NQ * 4u;
    if (t >= MM * NQ || row >= M || col >= N) return;
    vec4 v = vec4(0.0);
    [[unroll]] for (uint j = 0u; j < 4u; j++) for (uint i = 0u; i < LEFT; i++) v[j] += partial[(t * 4u + j) * LEFT + i];
    slot_columns = N;
    place_slots(outer, inner);
    v = hole_epilogue(v, batch, row, col);
    uint at = arg_y_at() + outer * arg_y_b0() + inner * arg_y_b1() + row * arg_y_row() + col;
    if (VEC_Y != 0u) store4_y(at >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at + e, v[e]);
}
