// What kernels of matrix units share: BM x BN sums of K terms each, of factors rounded to 16 bits, from loaders of two
// operands, to whoever stores them. The counterpart of tile.glsl.
//
// The subgroups, of 32 threads, form SK slices; each slice sums its own part of every step, and the slices are added in their
// order. A subgroup makes WM x WN results as fragments of 16 x 16 (VK_KHR_cooperative_matrix, f32 sums). Steps of BK along k
// are staged in shared memory as halves, the next step being fetched while one is used. An operand lies there as it is read:
// neighbours along k (ALONG_K_X) or along rows. An accumulator is one chain (OPS 1.7, T3).
// Everything outside is read from inside: what lies outside k is then zero, rows and columns are never stored.
//
// The kernel calls `begin_tile`, aims its loaders, then `sum_tile` and `finish_tile`. Of a loader X there must be
// `uvec4 fetch_X(quad, k)`, what was fetched of a quad of four neighbours; `uvec2 stage_at_X(quad)`, row (or column) and k,
// within the step, of the first of them; `uvec2 staged_X(quad, fetched)`, the four as halves. `put_quad` takes four
// neighbouring columns of a row, which are inside M and begin inside N.
#include "halves.glsl"

const uint TILES = (BM / WM) * (BN / WN), SUBGROUPS = TILES * SK, NT = 32 * SUBGROUPS;
const uint FM = WM / 16, FN = WN / 16, RA = BM * BK / 4 / NT, RB = BN * BK / 4 / NT;
const uint TILE_A = BM, TILE_B = BN;
layout(local_size_x = NT) in;

// Quads between neighbouring lines of a stage; a line is a row, or a k. Eight halves are left free, so that lines begin in
// different banks.
const bool ALONG_K_A = A_MODE < 2u, ALONG_K_B = B_MODE < 2u;
const uint LA = (ALONG_K_A ? BK + 8u : BM + 8u) / 4u, LB = (ALONG_K_B ? BK + 8u : BN + 8u) / 4u;
const uint QUADS_A = BM * (BK + 8) / 4 > BK * (BM + 8) / 4 ? BM * (BK + 8) / 4 : BK * (BM + 8) / 4;
const uint QUADS_B = BN * (BK + 8) / 4 > BK * (BN + 8) / 4 ? BN * (BK + 8) / 4 : BK * (BN + 8) / 4;
// A fragment of each subgroup passes through stage_a on its way to memory: two pairs of words for each quad.
const uint RESULTS = SUBGROUPS * 128;
shared uvec2 stage_a[QUADS_A > RESULTS ? QUADS_A : RESULTS];
shared uvec2 stage_b[QUADS_B];

uint M, N, K, rows_at, cols_at, u;

uvec4 fetch_a(uint i, uint k0);
uvec4 fetch_b(uint i, uint k0);
uvec2 stage_at_a(uint i);
uvec2 stage_at_b(uint i);
uvec2 staged_a(uint i, uvec4 words);
uvec2 staged_b(uint i, uvec4 words);
void put_quad(uint row, uint col, vec4 v);

void begin_tile(uint tile_m, uint tile_n) {
    u = gl_SubgroupID * 32u + gl_SubgroupInvocationID;
    rows_at = tile_m * BM;
    cols_at = tile_n * BN;
}

// Elements of a quad whose k lies below `first` or not below K count as zero.
uvec2 inside_k(uint k, bool along_k, uint first) {
    uvec4 at = uvec4(k) + (along_k ? uvec4(0u, 1u, 2u, 3u) : uvec4(0u));
    return mask(bvec4(uvec4(greaterThanEqual(at, uvec4(first))) & uvec4(lessThan(at, uvec4(K)))));
}

#define PUT(X, R, V, ALONG_K, L) \
    [[unroll]] for (uint i = 0u; i < R; i++) { \
        uvec2 at = stage_at_##X(i), quad = staged_##X(i, V[i]); \
        if (K_TAIL != 0u) quad &= inside_k(k0 + at.y, ALONG_K, first); \
        stage_##X[ALONG_K ? at.x * L + at.y / 4u : at.y * L + at.x / 4u] = quad; \
    }

FRAGMENT(float, gl_MatrixUseAccumulator) acc[FM * FN];

void load_a_fragment(out FRAGMENT(ELEMENT, gl_MatrixUseA) f, uint row, uint k) {
    if (ALONG_K_A) coopMatLoad(f, stage_a, row * LA + k / 4u, LA, gl_CooperativeMatrixLayoutRowMajor);
    else coopMatLoad(f, stage_a, k * LA + row / 4u, LA, gl_CooperativeMatrixLayoutColumnMajor);
}
void load_b_fragment(out FRAGMENT(ELEMENT, gl_MatrixUseB) f, uint col, uint k) {
    if (ALONG_K_B) coopMatLoad(f, stage_b, col * LB + k / 4u, LB, gl_CooperativeMatrixLayoutColumnMajor);
    else coopMatLoad(f, stage_b, k * LB + col / 4u, LB, gl_CooperativeMatrixLayoutRowMajor);
}

// Where a subgroup's results begin in the tile.
uvec2 results_at(uint tile) { return uvec2(tile % (BM / WM) * WM, tile / (BM / WM) * WN); }

void multiply() {
    uvec2 at = results_at(gl_SubgroupID % TILES);
    uint slice = gl_SubgroupID / TILES * (BK / SK);
    [[unroll]] for (uint k = 0u; k < BK / SK; k += 16u) {
        FRAGMENT(ELEMENT, gl_MatrixUseA) a[FM];
        [[unroll]] for (uint i = 0u; i < FM; i++) load_a_fragment(a[i], at.x + 16u * i, slice + k);
        [[unroll]] for (uint j = 0u; j < FN; j++) {
            FRAGMENT(ELEMENT, gl_MatrixUseB) b;
            load_b_fragment(b, at.y + 16u * j, slice + k);
            [[unroll]] for (uint i = 0u; i < FM; i++) acc[i * FN + j] = coopMatMulAdd(a[i], b, acc[i * FN + j]);
        }
    }
}

void sum_tile() {
    [[unroll]] for (uint f = 0u; f < FM * FN; f++) acc[f] = FRAGMENT(float, gl_MatrixUseAccumulator)(0.0);
    // A step that would reach past the end begins BK before it (K_TAIL 2) or reads the last k again (1).
    uint last = K_TAIL == 1u && K < BK ? 0u : K - BK, first = 0u, k0 = min(first, last);
    uvec4 a[RA], b[RB];
    if (K > 0u) {
        [[unroll]] for (uint i = 0u; i < RA; i++) a[i] = fetch_a(i, k0);
        [[unroll]] for (uint i = 0u; i < RB; i++) b[i] = fetch_b(i, k0);
    }
    for (; first < K;) {
        barrier();
        PUT(a, RA, a, ALONG_K_A, LA)
        PUT(b, RB, b, ALONG_K_B, LB)
        barrier();
        first += BK;
        k0 = min(first, last);
        [[unroll]] for (uint i = 0u; i < RA; i++) a[i] = fetch_a(i, k0);
        [[unroll]] for (uint i = 0u; i < RB; i++) b[i] = fetch_b(i, k0);
        multiply();
    }
}

vec4 result(uint quad) { return uintBitsToFloat(uvec4(stage_a[2u * quad], stage_a[2u * quad + 1u])); }

// Whoever reads a fragment next: all slices' threads, or those of the subgroup that wrote it.
#define FRAGMENT_BARRIER if (SK > 1) barrier(); else subgroupBarrier();

// Fragments are opaque: each passes through shared memory, where slices are added, so that the hole is one copy of code.
void finish_tile() {
    uint begin = SK > 1 ? u : gl_SubgroupID * 64u + gl_SubgroupInvocationID;
    uint end = SK > 1 ? TILES * 64u : gl_SubgroupID * 64u + 64u, hop = SK > 1 ? NT : 32u;
    barrier();
    [[dont_unroll]] for (uint f = 0u; f < FM * FN; f++) {
        FRAGMENT_BARRIER
        [[unroll]] for (uint r = 0u; r < FM * FN; r++)
            if (f == r) coopMatStore(acc[r], stage_a, gl_SubgroupID * 128u, 8u, gl_CooperativeMatrixLayoutRowMajor);
        FRAGMENT_BARRIER
        [[dont_unroll]] for (uint q = begin; q < end; q += hop) {
            uvec2 at = uvec2(rows_at, cols_at) + results_at(q / 64u);
            uint row = at.x + 16u * (f / FN) + q % 64u / 4u, col = at.y + 16u * (f % FN) + 4u * (q % 4u);
            vec4 v = result(q);
            [[unroll]] for (uint s = 1u; s < SK; s++) v += result(s * TILES * 64u + q);
            if (row < M && col < N) put_quad(row, col, v);
        }
    }
}
