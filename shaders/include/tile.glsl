// What kernels of tiles share: BM x BN sums of K terms each, from loaders of two operands, to whoever stores them.
//
// The threads form SK slices; each slice sums its own part of k and the slices are added in their order. A slice is
// TX x TY threads; thread (tx, ty) owns the quads of rows ty + TY·i and the quads of columns tx + TX·j: TM x TN sums.
// Steps of BK along k are staged in shared memory as [k][row], twice, the next step being fetched while one is used.
// The products of UK k are one straight piece of code.
// Everything outside is read from inside: what lies outside k is then zero, rows and columns are never stored.
// Sums are chains of 128 terms, then pairs (pairs.glsl). K_TAIL: 0 k is a multiple of BK·SK; 1 any k; 2 any k of at least BK.
//
// The kernel calls `begin_tile`, aims its loaders, then `sum_tile` and `finish_tile`. Of a loader X there must be
// `vec4 fetch_X(quad, k)` and `put_X(stage, quad, k, first, v)`, where quads of a thread are numbered below RX; `put_quad`
// takes four neighbouring columns of a row, which are inside M and begin inside N.
#include "pairs.glsl"

const uint TX = BN / TN, TY = BM / TM, NT = TX * TY;
const uint IM = TM / 4, IN = TN / 4, RA = BM * BK / 4 / NT, RB = BN * BK / 4 / NT; // RA, RB: 1, 2 or 4
const uint LA = BM + 4, LB = BN + 4;
layout(local_size_x = NT * SK) in;

shared float stage_a[SK * 2 * BK * LA];
shared vec4 stage_b[SK * 2 * BK * LB / 4]; // at least 4·NT·SK quads: finish_tile() passes a piece through it

uint M, N, K, rows_at, cols_at, u, tx, ty, slice;
vec4 acc[TM * IN];

// Steps of a chain.
const uint CHAIN = 128 / BK;
#ifdef CHAINS_IN_REGISTERS
// A chain of chains beside the chain: k is at most 128 · 128 terms a slice. Costs as many registers again, and on an H200
// less than the levels of a counter, which lie in memory (docs/selection.md).
vec4 sums[TM * IN];
void begin_sums() { [[unroll]] for (uint q = 0u; q < TM * IN; q++) acc[q] = sums[q] = vec4(0.0); }
void end_chain() {
    [[unroll]] for (uint q = 0u; q < TM * IN; q++) {
        sums[q] += acc[q];
        acc[q] = vec4(0.0);
    }
}
void end_sums() { [[unroll]] for (uint q = 0u; q < TM * IN; q++) acc[q] += sums[q]; }
#else
// Eight levels: 2^21 terms a slice.
PAIRS(vec4, TM * IN, 8u, acc, ADD, vec4(0.0))
void begin_sums() { [[unroll]] for (uint q = 0u; q < TM * IN; q++) acc[q] = vec4(0.0); }
void end_chain() { carry(); }
void end_sums() { join_pairs(); }
#endif

// A step that would reach past the end begins BK before it (K_TAIL 2) or reads the last k again (1); what it reads
// twice counts as zero: all k below `first`, and all not below K.
const bool TAIL = K_TAIL != 0u || SK > 1;
float kept(float v, uint k, uint first) { return TAIL && (k < first || k >= K) ? 0.0 : v; }

vec4 fetch_a(uint i, uint k0);
vec4 fetch_b(uint i, uint k0);
void put_a(uint stage, uint i, uint k0, uint first, vec4 v);
void put_b(uint stage, uint i, uint k0, uint first, vec4 v);
void put_quad(uint row, uint col, vec4 v);

#define FETCH(k) \
    a0 = fetch_a(0u, k); if (RA > 1) a1 = fetch_a(1u, k); if (RA > 2) { a2 = fetch_a(2u, k); a3 = fetch_a(3u, k); } \
    b0 = fetch_b(0u, k); if (RB > 1) b1 = fetch_b(1u, k); if (RB > 2) { b2 = fetch_b(2u, k); b3 = fetch_b(3u, k); }
#define PUT(X, R, V0, V1, V2, V3) \
    put_##X(stage, 0u, k0, first, rounded_##X(V0)); if (R > 1) put_##X(stage, 1u, k0, first, rounded_##X(V1)); \
    if (R > 2) { put_##X(stage, 2u, k0, first, rounded_##X(V2)); put_##X(stage, 3u, k0, first, rounded_##X(V3)); }

void multiply(uint stage) {
    uint at_a = stage * BK * LA + 4u * ty, at_b = stage * BK * LB / 4u + tx;
    [[dont_unroll]] for (uint k0 = 0u; k0 < BK; k0 += UK) [[unroll]] for (uint k1 = 0u; k1 < UK; k1++) {
        uint k = k0 + k1;
        float fa[TM];
        vec4 fb[IN];
        [[unroll]] for (uint i = 0u; i < TM; i++) fa[i] = stage_a[at_a + k * LA + i / 4u * 4u * TY + i % 4u];
        [[unroll]] for (uint j = 0u; j < IN; j++) fb[j] = stage_b[at_b + k * LB / 4u + TX * j];
        [[unroll]] for (uint i = 0u; i < TM; i++)
            [[unroll]] for (uint j = 0u; j < IN; j++) acc[i * IN + j] = fma(vec4(fa[i]), fb[j], acc[i * IN + j]);
    }
}

// Which tile and which part of it are this thread's.
void begin_tile(uint tile_m, uint tile_n) {
    slice = gl_LocalInvocationID.x / NT;
    u = gl_LocalInvocationID.x % NT;
    tx = u % WX + WX * (u / 32u % (TX / WX));
    ty = u / WX % (32u / WX) + 32u / WX * (u / (32u * (TX / WX)));
    rows_at = tile_m * BM;
    cols_at = tile_n * BN;
    begin_sums();
}

void sum_tile() {
    uint steps = (K + BK * SK - 1u) / (BK * SK), first = slice * steps * BK, stage = 2u * slice;
    uint last = !TAIL ? first + steps * BK - BK : K_TAIL == 1u && K < BK ? 0u : K - BK, k0 = TAIL ? min(first, last) : first;
    // The next step is fetched without a condition, the last one once more: where a fetched value meets an old one
    // behind a branch, or a zero, compilers copy it at once, and the copy waits for memory before the products.
    vec4 a0, a1, a2, a3, b0, b1, b2, b3;
    if (steps > 0u) { FETCH(k0) }
    for (uint s = 0u; s < steps;) {
        uint chain_end = min(s + CHAIN, steps);
        for (; s < chain_end; s++) {
            PUT(a, RA, a0, a1, a2, a3) PUT(b, RB, b0, b1, b2, b3)
            barrier();
            first += BK;
            k0 = min(first, last);
            FETCH(k0)
            multiply(stage);
            stage ^= 1u;
        }
        if (s < steps) end_chain();
    }
    end_sums();
}

// Through shared memory, so that the hole is one copy of code and neighbours store neighbouring quads: piece (i, j) is
// 4·TY rows of TX quads.
void finish_tile() {
    [[dont_unroll]] for (uint p = 0u; p < IM * IN; p++) {
        barrier();
        [[unroll]] for (uint r = 0u; r < IM * IN; r++) if (p == r) [[unroll]] for (uint c = 0u; c < 4u; c++)
            stage_b[(slice * 4u * TY + 4u * ty + c) * TX + tx] = acc[(r / IN * 4u + c) * IN + r % IN];
        barrier();
        [[dont_unroll]] for (uint q = gl_LocalInvocationID.x; q < 4u * NT; q += NT * SK) {
            vec4 v = stage_b[q];
            [[unroll]] for (uint s = 1u; s < SK; s++) v += stage_b[s * 4u * NT + q];
            uint row = rows_at + 4u * TY * (p / IN) + q / TX, col = cols_at + 4u * (TX * (p % IN) + q % TX);
            if (row < M && col < N) put_quad(row, col, v);
        }
    }
}
