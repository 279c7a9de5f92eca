#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]), BM x BN elements a workgroup.
//
// The threads form SK slices; each slice sums its own part of k and the slices are added in their order. A slice is
// TX x TY threads; thread (tx, ty) owns the quads of rows ty + TY·i and the quads of columns tx + TX·j: TM x TN sums.
// Steps of BK along k are staged in shared memory as [k][quad], twice, the next step being fetched while one is used.
// Modes of a (b alike, with columns for rows): 0 and 1 read along k, 2 and 3 along rows; 1 and 3 sixteen bytes at once.
// What lies outside k is zero; rows and columns outside are read from inside and never stored.
#include "interface.glsl"
#include "matrix_slots.glsl"

const uint TX = BN / TN, TY = BM / TM, NT = TX * TY;
const uint QM = BM / 4, QN = BN / 4, IM = TM / 4, IN = TN / 4;
const uint RA = BM * BK / 4 / NT, RB = BN * BK / 4 / NT;
layout(local_size_x = NT * SK) in;

const uint FROM_a = 0, FROM_b = SK * 2 * BK * QM;
shared vec4 pool[SK * 2 * BK * (QM + QN)];

uint M, N, K, rows_at, cols_at, a_at, a_row, a_col, b_at, b_row, b_col, u, tx, ty;
vec4 acc[TM * IN];

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

// Quads of one k are permuted so that threads along k write different banks.
uint swizzle(uint k, uint mode, uint threads) {
    return mode < 2u ? ((k >> 2u & 3u) * 2u ^ (k & 1u)) & (threads - 1u) : 0u;
}
bool inside(uint k) { return K_TAIL == 0u || k < K; }
uint row_in(uint r, uint extent, uint quad) { return EDGE != 0u ? min(r, extent - quad) : r; }

// Quad i of this thread: fetched from memory as a vector, put where its mode says. `place` gives row and k.
#define OPERAND(X, Q, T, ROWS, EXTENT, MODE, AT, ALONG_ROWS, ALONG_K) \
uvec2 place_##X(uint i, uint c) { \
    uint e = u + i * NT, f = u + (4u * i + c) * NT; \
    if (MODE == 1u) return uvec2(e / (BK / 4), e % (BK / 4) * 4u + c); \
    if (MODE == 3u) return uvec2(e % Q * 4u + c, e / Q); \
    return MODE == 0u ? uvec2(f / BK, f % BK) : uvec2(f % (4 * Q), f / (4 * Q)); \
} \
float one_##X(uint i, uint c, uint k0) { \
    uvec2 at = place_##X(i, c); \
    return inside(k0 + at.y) ? load_##X(AT + row_in(ROWS + at.x, EXTENT, 1u) * ALONG_ROWS + (k0 + at.y) * ALONG_K) : 0.0; \
} \
vec4 fetch_##X(uint i, uint k0) { \
    if ((MODE & 1u) == 0u) return vec4(one_##X(i, 0u, k0), one_##X(i, 1u, k0), one_##X(i, 2u, k0), one_##X(i, 3u, k0)); \
    uvec2 at = place_##X(i, 0u); \
    uint r = row_in(ROWS + at.x, EXTENT, MODE == 3u ? 4u : 1u), k = k0 + at.y; \
    return inside(k) ? load4_##X((AT + (MODE == 1u ? r * ALONG_ROWS + k : k * ALONG_K + r)) >> 2u) : vec4(0.0); \
} \
void put_##X(uint stage, uint i, vec4 v) { \
    if (MODE == 3u) pool[FROM_##X + stage * BK * Q + u + i * NT] = v; \
    else [[unroll]] for (uint c = 0u; c < 4u; c++) { \
        uvec2 at = place_##X(i, c); \
        pool[FROM_##X + (stage * BK + at.y) * Q + (at.x / 4u ^ swizzle(at.y, MODE, T))][at.x % 4u] = v[c]; \
    } \
}
OPERAND(a, QM, TY, rows_at, M, A_MODE, a_at, a_row, a_col)
OPERAND(b, QN, TX, cols_at, N, B_MODE, b_at, b_col, b_row)

#define FETCH \
    a0 = fetch_a(0u, k0); if (RA > 1) a1 = fetch_a(1u, k0); if (RA > 2) { a2 = fetch_a(2u, k0); a3 = fetch_a(3u, k0); } \
    b0 = fetch_b(0u, k0); if (RB > 1) b1 = fetch_b(1u, k0); if (RB > 2) { b2 = fetch_b(2u, k0); b3 = fetch_b(3u, k0); }
#define PUT \
    put_a(stage, 0u, a0); if (RA > 1) put_a(stage, 1u, a1); if (RA > 2) { put_a(stage, 2u, a2); put_a(stage, 3u, a3); } \
    put_b(stage, 0u, b0); if (RB > 1) put_b(stage, 1u, b1); if (RB > 2) { put_b(stage, 2u, b2); put_b(stage, 3u, b3); }

void multiply(uint at_a, uint at_b) {
    [[dont_unroll]] for (uint k0 = 0u; k0 < BK; k0 += UK) [[unroll]] for (uint k1 = 0u; k1 < UK; k1++) {
        uint k = k0 + k1;
        vec4 fa[IM], fb[IN];
        [[unroll]] for (uint i = 0u; i < IM; i++) fa[i] = pool[FROM_a + at_a + k * QM + TY * i + (ty ^ swizzle(k, A_MODE, TY))];
        [[unroll]] for (uint j = 0u; j < IN; j++) fb[j] = pool[FROM_b + at_b + k * QN + TX * j + (tx ^ swizzle(k, B_MODE, TX))];
        [[unroll]] for (uint i = 0u; i < TM; i++)
            [[unroll]] for (uint j = 0u; j < IN; j++) acc[i * IN + j] = fma(vec4(fa[i / 4u][i % 4u]), fb[j], acc[i * IN + j]);
    }
}

// Through shared memory, so that the hole is one copy of code and neighbours store neighbouring quads: piece (i, j) is
// 4·TY rows of TX quads.
void finish(uint slice, uint batch, uint y_at, uint y_row) {
    [[dont_unroll]] for (uint p = 0u; p < IM * IN; p++) {
        barrier();
        [[unroll]] for (uint r = 0u; r < IM * IN; r++) if (p == r) [[unroll]] for (uint c = 0u; c < 4u; c++)
            pool[(slice * 4u * TY + 4u * ty + c) * TX + tx] = acc[(r / IN * 4u + c) * IN + r % IN];
        barrier();
        [[dont_unroll]] for (uint q = gl_LocalInvocationID.x; q < 4u * NT; q += NT * SK) {
            vec4 v = pool[q];
            [[unroll]] for (uint s = 1u; s < SK; s++) v += pool[s * 4u * NT + q];
            uint row = rows_at + 4u * TY * (p / IN) + q / TX, col = cols_at + 4u * (TX * (p % IN) + q % TX);
            if (row >= M || col >= N) continue;
            v = hole_epilogue(v, batch, row, col);
            uint at = y_at + row * y_row + col;
            if (VEC_Y != 0u) store4_y(at >> 2u, v);
            else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at + e, v[e]);
        }
    }
}

void main() {
    keep_holes();
    M = arg_m(); N = arg_n(); K = arg_k();
    uint tiles_n = (N + BN - 1u) / BN, tiles_m = (M + BM - 1u) / BM, group = linear_group();
    uint tile_n = group % tiles_n, tile_m = group / tiles_n % tiles_m, rest = group / tiles_n / tiles_m;
    uint batches = arg_batches(), batch = rest % batches, split = rest / batches;
    if (split >= arg_splits()) return;
    uint outer = batch / arg_inner(), inner = batch % arg_inner(), slice = gl_LocalInvocationID.x / NT;
    u = gl_LocalInvocationID.x % NT;
    tx = u % WX + WX * (u / 32u % (TX / WX));
    ty = u / WX % (32u / WX) + 32u / WX * (u / (32u * (TX / WX)));
    a_at = arg_a_at() + outer * arg_a_b0() + inner * arg_a_b1(); a_row = arg_a_row(); a_col = arg_a_col();
    b_at = arg_b_at() + outer * arg_b_b0() + inner * arg_b_b1(); b_row = arg_b_row(); b_col = arg_b_col();
    rows_at = tile_m * BM;
    cols_at = tile_n * BN;
    [[unroll]] for (uint q = 0u; q < TM * IN; q++) acc[q] = vec4(0.0);

    uint chunk = arg_k_chunk(), steps = chunk / BK, k0 = (split * SK + slice) * chunk, stage = 2u * slice;
    // Named, not an array: the compilers keep the loads of the next step ahead of the products only then.
    vec4 a0, a1, a2, a3, b0, b1, b2, b3;
    if (steps > 0u) { FETCH }
    for (uint s = 0u; s < steps; s++) {
        PUT
        barrier();
        if (s + 1u < steps) { k0 += BK; FETCH }
        multiply(stage * BK * QM, stage * BK * QN);
        stage ^= 1u;
    }
    slot_columns = N;
    place_slots(outer, inner);
    uint y_at = arg_y_at() + split * arg_y_split() + outer * arg_y_b0() + inner * arg_y_b1();
    finish(slice, batch, y_at, arg_y_row());
}
