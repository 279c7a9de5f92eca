// What kernels of matrix units share: BM x BN sums of K terms each, of factors rounded to f16, from loaders of two operands,
// to whoever stores them. The counterpart of tile.glsl: its loaders differ in where they stage.
//
// A subgroup of 32 threads makes WM x WN results as fragments of 16 x 16 (VK_KHR_cooperative_matrix, f32 sums). Steps of BK
// along k are staged in shared memory as halves, the next step being fetched while one is used. An operand lies there as it
// is read: neighbours along k (ALONG_K_X) or along rows. An accumulator is one chain (OPS 1.7, T3).
// Everything outside is read from inside: what lies outside k is then zero, rows and columns are never stored.
//
// The kernel calls `begin_tile`, aims its loaders, then `sum_tile` and `finish_tile`. Of a loader X there must be
// `vec4 fetch_X(quad, k)` and `uvec2 at_X(quad)`: row (or column) and k, within the step, of the first of the four elements
// of a quad, which are neighbours as they are staged. `put_quad` takes four neighbouring columns of a row, which are inside
// M and begin inside N.
const uint SUBGROUPS = (BM / WM) * (BN / WN), NT = 32 * SUBGROUPS;
const uint FM = WM / 16, FN = WN / 16, RA = BM * BK / 4 / NT, RB = BN * BK / 4 / NT;
layout(local_size_x = NT) in;

// Quads between neighbouring lines of a stage; a line is a row, or a k. Eight halves are left free, so that lines begin in
// different banks.
const bool ALONG_K_A = A_MODE < 2u, ALONG_K_B = B_MODE < 2u;
const uint LA = (ALONG_K_A ? BK + 8u : BM + 8u) / 4u, LB = (ALONG_K_B ? BK + 8u : BN + 8u) / 4u;
const uint QUADS_A = BM * (BK + 8) / 4 > BK * (BM + 8) / 4 ? BM * (BK + 8) / 4 : BK * (BM + 8) / 4;
const uint QUADS_B = BN * (BK + 8) / 4 > BK * (BN + 8) / 4 ? BN * (BK + 8) / 4 : BK * (BN + 8) / 4;
shared uvec2 stage_a[QUADS_A];
shared uvec2 stage_b[QUADS_B];
// A fragment of each subgroup on its way to memory.
shared vec4 results[SUBGROUPS * 64];

uint M, N, K, rows_at, cols_at, u;

vec4 fetch_a(uint i, uint k0);
vec4 fetch_b(uint i, uint k0);
uvec2 at_a(uint i);
uvec2 at_b(uint i);
void put_quad(uint row, uint col, vec4 v);

void begin_tile(uint tile_m, uint tile_n) {
    u = gl_SubgroupID * 32u + gl_SubgroupInvocationID;
    rows_at = tile_m * BM;
    cols_at = tile_n * BN;
}

// Elements of a quad whose k lies below `first` or not below K count as zero.
vec4 kept(vec4 v, uint k, bool along_k, uint first) {
    uvec4 at = uvec4(k) + (along_k ? uvec4(0u, 1u, 2u, 3u) : uvec4(0u));
    return mix(v, vec4(0.0), bvec4(uvec4(lessThan(at, uvec4(first))) | uvec4(greaterThanEqual(at, uvec4(K)))));
}

// The device's own conversion: what a device makes of it, its test says before it gets these kernels.
uvec2 halves(vec4 v) {
    if (ROUND == ROUND_BF16) return join_halves(f32_to_bf16(v));
    return uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw));
}

#define PUT(X, R, V) \
    [[unroll]] for (uint i = 0u; i < R; i++) { \
        uvec2 at = at_##X(i); \
        vec4 v = K_TAIL == 0u ? V[i] : kept(V[i], k0 + at.y, ALONG_K_##X, first); \
        stage_##X[ALONG_K_##X ? at.x * L##X + at.y / 4u : at.y * L##X + at.x / 4u] = halves(v); \
    }
#define ALONG_K_a ALONG_K_A
#define ALONG_K_b ALONG_K_B
#define La LA
#define Lb LB

#define FRAGMENT(TYPE, USE) coopmat<TYPE, gl_ScopeSubgroup, 16, 16, USE>
FRAGMENT(float, gl_MatrixUseAccumulator) acc[FM * FN];

void load_a_fragment(out FRAGMENT(float16_t, gl_MatrixUseA) f, uint row, uint k) {
    if (ALONG_K_A) coopMatLoad(f, stage_a, row * LA + k / 4u, LA, gl_CooperativeMatrixLayoutRowMajor);
    else coopMatLoad(f, stage_a, k * LA + row / 4u, LA, gl_CooperativeMatrixLayoutColumnMajor);
}
void load_b_fragment(out FRAGMENT(float16_t, gl_MatrixUseB) f, uint col, uint k) {
    if (ALONG_K_B) coopMatLoad(f, stage_b, col * LB + k / 4u, LB, gl_CooperativeMatrixLayoutColumnMajor);
    else coopMatLoad(f, stage_b, k * LB + col / 4u, LB, gl_CooperativeMatrixLayoutRowMajor);
}

void multiply() {
    uint row = gl_SubgroupID % (BM / WM) * WM, col = gl_SubgroupID / (BM / WM) * WN;
    [[unroll]] for (uint k = 0u; k < BK; k += 16u) {
        FRAGMENT(float16_t, gl_MatrixUseA) a[FM];
        [[unroll]] for (uint i = 0u; i < FM; i++) load_a_fragment(a[i], row + 16u * i, k);
        [[unroll]] for (uint j = 0u; j < FN; j++) {
            FRAGMENT(float16_t, gl_MatrixUseB) b;
            load_b_fragment(b, col + 16u * j, k);
            [[unroll]] for (uint i = 0u; i < FM; i++) acc[i * FN + j] = coopMatMulAdd(a[i], b, acc[i * FN + j]);
        }
    }
}

void sum_tile() {
    [[unroll]] for (uint f = 0u; f < FM * FN; f++) acc[f] = FRAGMENT(float, gl_MatrixUseAccumulator)(0.0);
    // A step that would reach past the end begins BK before it (K_TAIL 2) or reads the last k again (1).
    uint last = K_TAIL == 1u && K < BK ? 0u : K - BK, first = 0u, k0 = min(first, last);
    vec4 a[RA], b[RB];
    if (K > 0u) {
        [[unroll]] for (uint i = 0u; i < RA; i++) a[i] = fetch_a(i, k0);
        [[unroll]] for (uint i = 0u; i < RB; i++) b[i] = fetch_b(i, k0);
    }
    for (; first < K;) {
        barrier();
        PUT(a, RA, a)
        PUT(b, RB, b)
        barrier();
        first += BK;
        k0 = min(first, last);
        [[unroll]] for (uint i = 0u; i < RA; i++) a[i] = fetch_a(i, k0);
        [[unroll]] for (uint i = 0u; i < RB; i++) b[i] = fetch_b(i, k0);
        multiply();
    }
}

// Fragments are opaque: each passes through shared memory, so that the hole is one copy of code.
void finish_tile() {
    uint row0 = rows_at + gl_SubgroupID % (BM / WM) * WM, col0 = cols_at + gl_SubgroupID / (BM / WM) * WN;
    [[dont_unroll]] for (uint f = 0u; f < FM * FN; f++) {
        barrier();
        [[unroll]] for (uint r = 0u; r < FM * FN; r++)
            if (f == r) coopMatStore(acc[r], results, gl_SubgroupID * 64u, 4u, gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        [[dont_unroll]] for (uint q = gl_SubgroupInvocationID; q < 64u; q += 32u) {
            uint row = row0 + 16u * (f / FN) + q / 4u, col = col0 + 16u * (f % FN) + 4u * (q % 4u);
            if (row < M && col < N) put_quad(row, col, results[gl_SubgroupID * 64u + q]);
        }
    }
}
