#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]) for few rows m, where b lies along n.
//
// A workgroup makes MM rows of QUADS quads of columns: thread t has the quad t % QUADS and every KL-th k from t / QUADS
// on, AHEAD loads of b in flight. A thread's chains have 64 terms, then pairs (pairs.glsl); its
// sums are added in shared memory in the order of their first k, eight by eight: 24 additions at most.
// B_MODE 3 reads b sixteen bytes at once, any other one element at a time.
#include "product_interface.glsl"
#include "matrix_slots.glsl"
#include "pairs.glsl"

const uint THREADS = 128;
layout(local_size_x = THREADS) in;
shared vec4 partial[MM * THREADS];

uint N, b_at, b_row, b_col, col;
vec4 acc[MM];
PAIRS(vec4, MM, 16u, acc, ADD, vec4(0.0))

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

vec4 quad_b(uint k) {
    if (B_MODE == 3u) return rounded_b(load4_b((b_at + min(col, N - 4u) + k * b_row) >> 2u));
    vec4 v;
    [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = load_b(b_at + min(col + e, N - 1u) * b_col + k * b_row);
    return rounded_b(v);
}

float element_a(uint at) { return rounded_a(load_a(at)); }

void main() {
    keep_holes();
    uint M = arg_m(), K = arg_k(), t = gl_LocalInvocationID.x, KL = THREADS / QUADS;
    N = arg_n();
    uint tiles_m = (M + MM - 1u) / MM, tiles_n = (N + 4u * QUADS - 1u) / (4u * QUADS), group = linear_group();
    uint tile_m = group % tiles_m, tile_n = group / tiles_m % tiles_n, batch = group / tiles_m / tiles_n;
    if (batch >= arg_batches()) return;
    uint outer = batch / arg_inner(), inner = batch % arg_inner();
    uint a_at = arg_a_at() + outer * arg_a_b0() + inner * arg_a_b1(), a_row = arg_a_row(), a_col = arg_a_col();
    b_at = arg_b_at() + outer * arg_b_b0() + inner * arg_b_b1(); b_row = arg_b_row(); b_col = arg_b_col();
    uint row0 = tile_m * MM, at_a[MM], q = t % QUADS;
    col = 4u * (tile_n * QUADS + q);
    [[unroll]] for (uint i = 0u; i < MM; i++) at_a[i] = a_at + min(row0 + i, M - 1u) * a_row;

    [[unroll]] for (uint i = 0u; i < MM; i++) acc[i] = vec4(0.0);
    uint k = t / QUADS;
    for (uint whole = K / (AHEAD * KL), s = 0u; s < whole;) {
        for (uint end = min(s + 64u / AHEAD, whole); s < end; s++, k += AHEAD * KL) {
            vec4 fb[AHEAD];
            [[unroll]] for (uint c = 0u; c < AHEAD; c++) fb[c] = quad_b(k + c * KL);
            [[unroll]] for (uint c = 0u; c < AHEAD; c++)
                [[unroll]] for (uint i = 0u; i < MM; i++)
                    acc[i] = fma(vec4(element_a(at_a[i] + (k + c * KL) * a_col)), fb[c], acc[i]);
        }
        if (s < whole) carry();
    }
    for (; k < K; k += KL) {
        vec4 fb = quad_b(k);
        [[unroll]] for (uint i = 0u; i < MM; i++) acc[i] = fma(vec4(element_a(at_a[i] + k * a_col)), fb, acc[i]);
    }
    join_pairs();
    [[unroll]] for (uint i = 0u; i < MM; i++) partial[i * THREADS + t] = acc[i];
    barrier();
    slot_columns = N;
    place_slots(outer, inner);
    uint y_at = arg_y_at() + outer * arg_y_b0() + inner * arg_y_b1(), y_row = arg_y_row();
    for (uint o = t; o < MM * QUADS; o += THREADS) {
        uint row = row0 + o / QUADS, at_col = 4u * (tile_n * QUADS + o % QUADS);
        if (row >= M || at_col >= N) continue;
        vec4 v = vec4(0.0);
        for (uint i = 0u; i < KL; i += 8u) {
            vec4 eight = vec4(0.0);
            for (uint j = i; j < min(i + 8u, KL); j++) eight += partial[o / QUADS * THREADS + j * QUADS + o % QUADS];
            v += eight;
        }
        v = hole_epilogue(v, batch, row, at_col);
        uint at = y_at + row * y_row + at_col;
        if (VEC_Y != 0u) store4_y(at >> 2u, v);
        else [[unroll]] for (uint e = 0u; e < 4u; e++) if (at_col + e < N) store_y(at + e, v[e]);
    }
}
