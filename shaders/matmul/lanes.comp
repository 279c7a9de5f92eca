#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]) without shared memory: for devices, CPUs first of all,
// where it is no nearer than memory.
//
// A thread sums MR rows of NQ quads of columns; the 8 threads of a workgroup are neighbours along n, so what they read
// of a is the same for all. With SHUFFLE each reads two of sixteen neighbouring terms of a and hands them to the others: on
// lavapipe a read is a hundred instructions, a shuffle one, and two words that lie together are one read. B_MODE 3 reads four
// neighbouring columns of b at once, and 1 four terms of a column; blocks are read 32 elements at a time; everything else is
// read one element at a time. A chain has 64 terms; 32 chains are added one after
// the other, and so are these sums, so that a term passes 128 additions at most for k up to 65,536, which is more than the
// driver lets the loops turn. Rows and columns outside are read from inside and
// never stored.
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "product_interface.glsl"
#include "matrix_slots.glsl"

layout(local_size_x = 8) in;
const uint BN = 32 * NQ;

uint N, b_at, b_row, b_col, col0;

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

// Element (k, column e of quad j) of b.
uint place_b(uint k, uint j, uint e) { return b_at + min(col0 + 32u * j + e, N - 1u) * b_col + k * b_row; }

vec4 quad_b(uint k, uint j) {
    if (B_MODE == 3u) return rounded_b(load4_b((b_at + min(col0 + 32u * j, N - 4u) + k * b_row) >> 2u));
    return rounded_b(
        vec4(load_b(place_b(k, j, 0u)), load_b(place_b(k, j, 1u)), load_b(place_b(k, j, 2u)), load_b(place_b(k, j, 3u))));
}

// The chain, the sum of up to 32 chains, the sum of those.
vec4 acc[MR * NQ], chains[MR * NQ], total[MR * NQ];
const uint CHAIN = 64, CHAINS = 32;

#include "lanes_terms.glsl"

#ifdef BLOCKS
// Terms k to k + 31, in the order of k; blocks lie along it.
void add_blocks(uint k, uint last) {
    float a[32 * MR];
    [[unroll]] for (uint g = 0u; g < 32u; g += TERMS) {
        read_terms(k + g, last);
        [[unroll]] for (uint t = 0u; t < TERMS; t++) [[unroll]] for (uint i = 0u; i < MR; i++)
            a[(g + t) * MR + i] = term_a(i, k + g, t);
    }
    [[unroll]] for (uint c = 0u; c < 4u * NQ; c++) {
        Run run = block_run(place_b(0u, c >> 2u, c & 3u) + k);
        [[unroll]] for (uint q = 0u; q < 8u; q++) {
            vec4 w = rounded_b(run_quad(run, q));
            [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint i = 0u; i < MR; i++)
                acc[i * NQ + (c >> 2u)][c & 3u] = fma(a[(4u * q + e) * MR + i], w[e], acc[i * NQ + (c >> 2u)][c & 3u]);
        }
    }
}
#endif

#ifdef SHUFFLE
// Terms from k to before `end`, four of each column at once: b lies along k, and both are multiples of four.
void add_quads(uint k, uint end) {
    for (; k < end; k += TERMS) {
        read_terms(k, end - 1u);
        uint terms = min(TERMS, end - k);
        [[dont_unroll]] for (uint t = 0u; t < terms; t += 4u) {
            float a[4 * MR];
            [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint i = 0u; i < MR; i++)
                a[e * MR + i] = subgroupShuffle(own_a[i][e & 1u], (t + e) >> 1u);
            [[unroll]] for (uint c = 0u; c < 4u * NQ; c++) {
                vec4 w = rounded_b(load4_b(place_b(k + t, c >> 2u, c & 3u) >> 2u));
                [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint i = 0u; i < MR; i++)
                    acc[i * NQ + (c >> 2u)][c & 3u] = fma(a[e * MR + i], w[e], acc[i * NQ + (c >> 2u)][c & 3u]);
            }
        }
    }
}
#endif

// Terms from k to before `end`.
void add_terms(uint k, uint end) {
    for (; k < end; k += TERMS) {
        read_terms(k, end - 1u);
        uint terms = TERMS == 1u ? 1u : min(TERMS, end - k);
        EACH_TERM for (uint t = 0u; t < terms; t++) {
            vec4 fb[NQ];
            [[unroll]] for (uint j = 0u; j < NQ; j++) fb[j] = quad_b(k + t, j);
            [[unroll]] for (uint i = 0u; i < MR; i++) {
                vec4 fa = vec4(term_a(i, k, t));
                [[unroll]] for (uint j = 0u; j < NQ; j++) acc[i * NQ + j] = fma(fa, fb[j], acc[i * NQ + j]);
            }
        }
    }
}

#define MOVE(FROM, TO) \
    [[unroll]] for (uint q = 0u; q < MR * NQ; q++) { \
        TO[q] += FROM[q]; \
        FROM[q] = vec4(0.0); \
    }

#include "store_quad.glsl"

void main() {
    keep_holes();
    uint M = arg_m(), K = arg_k();
    N = arg_n();
    uint tiles_n = (N + BN - 1u) / BN, tiles_m = (M + MR - 1u) / MR, group = linear_group();
    uint tile_n = group % tiles_n, tile_m = group / tiles_n % tiles_m, batch = group / tiles_n / tiles_m;
    if (batch >= arg_batches()) return;
    uint outer = batch / arg_inner(), inner = batch % arg_inner();
    uint a_at = arg_a_at() + outer * arg_a_b0() + inner * arg_a_b1(), a_row = arg_a_row();
    a_col = arg_a_col();
    b_at = arg_b_at() + outer * arg_b_b0() + inner * arg_b_b1(); b_row = arg_b_row(); b_col = arg_b_col();
    uint row0 = tile_m * MR;
    col0 = tile_n * BN + 4u * gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0u; i < MR; i++) row_at[i] = a_at + min(row0 + i, M - 1u) * a_row;
    [[unroll]] for (uint q = 0u; q < MR * NQ; q++) {
        acc[q] = chains[q] = total[q] = vec4(0.0);
    }
    for (uint k2 = 0u; k2 < K; k2 += CHAINS * CHAIN) {
        for (uint k1 = k2; k1 < min(k2 + CHAINS * CHAIN, K); k1 += CHAIN) {
            uint end = min(k1 + CHAIN, K);
#ifdef BLOCKS
            if (T_b >= 16u && B_MODE == 1u) for (uint k = k1; k < end; k += 32u) add_blocks(k, K - 1u);
            else
#endif
#ifdef SHUFFLE
            if (B_MODE == 1u) add_quads(k1, end);
            else
#endif
            add_terms(k1, end);
            MOVE(acc, chains)
        }
        MOVE(chains, total)
    }
    slot_columns = N;
    place_slots(outer, inner);
    uint y_at = arg_y_at() + outer * arg_y_b0() + inner * arg_y_b1(), y_row = arg_y_row();
    // One copy of the hole and of the stores: unrolled, they were nine tenths of what the driver had to compile.
    vec4 sums[MR * NQ];
    [[unroll]] for (uint q = 0u; q < MR * NQ; q++) sums[q] = total[q];
    uint quads = min(MR, M - row0) * NQ;
    [[dont_unroll]] for (uint q = 0u; q < quads; q++) {
        uint row = row0 + q / NQ, col = col0 + 32u * (q % NQ);
        if (col < N) store_quad(y_at + row * y_row + col, N - col, hole_epilogue(sums[q], batch, row, col));
    }
}
