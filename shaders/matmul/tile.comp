#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]), BM x BN elements a workgroup.
//
// The threads form SK slices; each slice sums its own part of k and the slices are added in their order. A slice is
// TX x TY threads; thread (tx, ty) owns the quads of rows ty + TY·i and the quads of columns tx + TX·j: TM x TN sums.
// Steps of BK along k are staged in shared memory as [k][quad], twice, the next step being fetched while one is used.
// Modes of a (b alike, with columns for rows): 0 and 1 read along k, 2 and 3 along rows; 1 and 3 sixteen bytes at once.
// What lies outside k is zero; rows and columns outside are read from inside and never stored.
#include "interface.glsl"

const uint TX = BN / TN, TY = BM / TM, NT = TX * TY;
const uint QM = BM / 4, QN = BN / 4, IM = TM / 4, IN = TN / 4;
const uint RA = BM * BK / 4 / NT, RB = BN * BK / 4 / NT;
layout(local_size_x = NT * SK) in;

shared vec4 stage_a[SK * 2 * BK * QM];
shared vec4 stage_b[SK * 2 * BK * QN];

uint M, N, K, rows_at, cols_at, a_at, a_row, a_col, b_at, b_row, b_col, u, tx, ty;
uint slot_at[4], slot_row[4], slot_col[4];
float ra[4 * RA], rb[4 * RB];
vec4 acc[TM * IN];

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

uvec4 slotload_epilogue(uint slot, uint batch, uint row, uint col) {
    uint step = slot_col[slot], at = slot_at[slot] + row * slot_row[slot] + col * step, last = N - 1u - col;
    if (step == 0u) return uvec4(slot_raw(slot, at));
    if (step == 1u && (at & 3u) == 0u && last >= 3u) return slot_raw4(slot, at >> 2u);
    return uvec4(slot_raw(slot, at), slot_raw(slot, at + step * min(1u, last)),
                 slot_raw(slot, at + step * min(2u, last)), slot_raw(slot, at + step * min(3u, last)));
}

void slotstore_epilogue(uint slot, uint batch, uint row, uint col, uvec4 bits) {
    uint step = slot_col[slot], at = slot_at[slot] + row * slot_row[slot] + col * step, last = N - 1u - col;
    if (step == 1u && (at & 3u) == 0u && last >= 3u) slot_store_raw4(slot, at >> 2u, bits);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (e <= last) slot_store_raw(slot, at + step * e, bits[e]);
}

// Quads of one k are permuted so that threads along k write different banks.
uint swizzle(uint k, uint mode, uint threads) {
    return mode < 2u ? ((k >> 2u & 3u) * 2u ^ (k & 1u)) & (threads - 1u) : 0u;
}
bool inside(uint k) { return K_TAIL == 0u || k < K; }
uint row_in(uint r, uint extent, uint quad) { return EDGE == 1u ? min(r, extent - quad) : r; }

#define OPERAND(X, R, Q, T, ROWS, EXTENT, MODE, AT, ALONG_ROWS, ALONG_K) \
void fetch_##X(uint k0) { \
    [[unroll]] for (uint i = 0u; i < R; i++) { \
        uint e = u + i * NT; \
        if (MODE == 1u) { \
            uint k = k0 + e % (BK / 4) * 4u, r = row_in(ROWS + e / (BK / 4), EXTENT, 1u); \
            vec4 v = vec4(0.0); \
            if (inside(k)) v = load4_##X((AT + r * ALONG_ROWS + k) >> 2u); \
            r##X[4 * i] = v.x; r##X[4 * i + 1] = v.y; r##X[4 * i + 2] = v.z; r##X[4 * i + 3] = v.w; \
        } else if (MODE == 3u) { \
            uint k = k0 + e / Q, r = row_in(ROWS + e % Q * 4u, EXTENT, 4u); \
            vec4 v = vec4(0.0); \
            if (inside(k)) v = load4_##X((AT + k * ALONG_K + r) >> 2u); \
            r##X[4 * i] = v.x; r##X[4 * i + 1] = v.y; r##X[4 * i + 2] = v.z; r##X[4 * i + 3] = v.w; \
        } else [[unroll]] for (uint c = 0u; c < 4u; c++) { \
            uint f = u + (4u * i + c) * NT; \
            uint k = k0 + (MODE == 0u ? f % BK : f / (4 * Q)), r = row_in(ROWS + (MODE == 0u ? f / BK : f % (4 * Q)), EXTENT, 1u); \
            r##X[4 * i + c] = 0.0; \
            if (inside(k)) r##X[4 * i + c] = load_##X(AT + r * ALONG_ROWS + k * ALONG_K); \
        } \
    } \
} \
void put_##X(uint at) { \
    [[unroll]] for (uint i = 0u; i < R; i++) { \
        uint e = u + i * NT; \
        if (MODE == 3u) stage_##X[at + e] = vec4(r##X[4 * i], r##X[4 * i + 1], r##X[4 * i + 2], r##X[4 * i + 3]); \
        else [[unroll]] for (uint c = 0u; c < 4u; c++) { \
            uint f = u + (4u * i + c) * NT; \
            uint k = MODE == 1u ? e % (BK / 4) * 4u + c : MODE == 0u ? f % BK : f / (4 * Q); \
            uint r = MODE == 1u ? e / (BK / 4) : MODE == 0u ? f / BK : f % (4 * Q); \
            stage_##X[at + k * Q + (r / 4u ^ swizzle(k, MODE, T))][r % 4u] = r##X[4 * i + c]; \
        } \
    } \
}
OPERAND(a, RA, QM, TY, rows_at, M, A_MODE, a_at, a_row, a_col)
OPERAND(b, RB, QN, TX, cols_at, N, B_MODE, b_at, b_col, b_row)

void multiply(uint at_a, uint at_b) {
    [[unroll]] for (uint k = 0u; k < BK; k++) {
        vec4 fa[IM], fb[IN];
        [[unroll]] for (uint i = 0u; i < IM; i++) fa[i] = stage_a[at_a + k * QM + TY * i + (ty ^ swizzle(k, A_MODE, TY))];
        [[unroll]] for (uint j = 0u; j < IN; j++) fb[j] = stage_b[at_b + k * QN + TX * j + (tx ^ swizzle(k, B_MODE, TX))];
        [[unroll]] for (uint i = 0u; i < TM; i++)
            [[unroll]] for (uint j = 0u; j < IN; j++) acc[i * IN + j] = fma(vec4(fa[i / 4u][i % 4u]), fb[j], acc[i * IN + j]);
    }
}

void add_slices(uint slice) {
    [[unroll]] for (uint s = 1u; s < SK; s++) {
        barrier();
        if (slice == s) [[unroll]] for (uint q = 0u; q < TM * IN; q++) stage_a[q * NT + u] = acc[q];
        barrier();
        if (slice == 0u) [[unroll]] for (uint q = 0u; q < TM * IN; q++) acc[q] += stage_a[q * NT + u];
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
    rows_at = EDGE == 2u ? min(tile_m * BM, M - BM) : tile_m * BM;
    cols_at = EDGE == 2u ? min(tile_n * BN, N - BN) : tile_n * BN;
    [[unroll]] for (uint q = 0u; q < TM * IN; q++) acc[q] = vec4(0.0);

    uint chunk = arg_k_chunk(), steps = chunk / BK, k0 = (split * SK + slice) * chunk, stage = 2u * slice;
    if (steps > 0u) { fetch_a(k0); fetch_b(k0); }
    for (uint s = 0u; s < steps; s++) {
        put_a(stage * BK * QM); put_b(stage * BK * QN);
        barrier();
        if (s + 1u < steps) { k0 += BK; fetch_a(k0); fetch_b(k0); }
        multiply(stage * BK * QM, stage * BK * QN);
        stage ^= 1u;
    }
    if (SK > 1u) add_slices(slice);
    if (slice != 0u) return;
    [[unroll]] for (uint s = 0u; s < 4u; s++) {
        slot_at[s] = arg_slot_at(s) + outer * arg_slot_b0(s) + inner * arg_slot_b1(s);
        slot_row[s] = arg_slot_row(s); slot_col[s] = arg_slot_col(s);
    }
    uint y_at = arg_y_at() + split * arg_y_split() + outer * arg_y_b0() + inner * arg_y_b1(), y_row = arg_y_row();
    [[unroll]] for (uint i = 0u; i < TM; i++) [[unroll]] for (uint j = 0u; j < IN; j++) {
        uint row = rows_at + 4u * (ty + TY * (i / 4u)) + i % 4u, col = cols_at + 4u * (tx + TX * j);
        if (row < tile_m * BM || row >= M || col + 3u < tile_n * BN || col >= N) continue;
        vec4 v = hole_epilogue(acc[i * IN + j], batch, row, col);
        uint at = y_at + row * y_row + col;
        if (VEC_Y != 0u) store4_y(at >> 2u, v);
        else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at + e, v[e]);
    }
}
