#version 460
// y[r, n] = hole(sum over k of a[r / picks, k] · b[id[r], k, n]) for rows in the order of their experts, BM x BN elements of
// one expert a workgroup (tile.glsl). Modes as in matmul/tile.comp; a is read along k.
#include "interface.glsl"
#include "product.glsl"

WORDS(a, A_MODE)
TYPED(b, B_MODE)
OPERAND(a, A, rows_at, M, K, A_MODE)
OPERAND(b, B, cols_at, N, K, B_MODE)
STAGE_A(a, EVERY)
STAGE_B(B_MODE == 3u)

uint expert, experts;

// The row at a place of the order.
uint row_at(uint place) { return min(loadu_order(experts + 1u + place), arg_rows() - 1u); }
#include "rows_loader.glsl"

vec4 hole_epilogue(vec4 v) { return v; }

void put_quad(uint place, uint col, vec4 v) {
    uint row = row_at(place), at = row * N + col;
    if (min(loadu_id(row), experts) != expert) return;
    v = hole_epilogue(v);
    if (VEC_Y != 0u) store4_y(at >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at + e, v[e]);
}

uint start_of(uint e) { return e > experts ? arg_rows() : min(loadu_order(e), arg_rows()); }

// Tiles before those of an expert: each earlier one has one more than its rows fill at most.
uint tiles_before(uint e) { return start_of(e) / BM + e; }

shared uint found;

void find_expert(uint tile) {
    uint t = gl_LocalInvocationIndex;
    if (t == 0u) found = experts;
    barrier();
    for (uint e = t; e < experts; e += gl_WorkGroupSize.x)
        if (tiles_before(e) <= tile && tile < tiles_before(e + 1u)) found = e;
    barrier();
    expert = found;
}

// Rows without an expert.
void put_zeros() {
    const uint quads = BN / 4;
    for (uint q = gl_LocalInvocationIndex; q < BM * quads; q += gl_WorkGroupSize.x) {
        uint place = rows_at + q / quads, col = cols_at + q % quads * 4u;
        if (place >= M || col >= N) continue;
        if (col == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), row_at(place));
        put_quad(place, col, vec4(0.0));
    }
}

void main() {
    keep_holes();
    N = arg_n(); K = arg_k(); experts = arg_experts();
    uint tiles_n = (N + BN - 1u) / BN, group = linear_group(), tile = group / tiles_n;
    find_expert(tile);
    M = start_of(expert + 1u);
    begin_tile(0u, group % tiles_n);
    uint skipped = tile - tiles_before(expert);
    rows_at = start_of(expert) + skipped * BM;
    if (tile < tiles_before(expert) || rows_at >= M) return;
    if (expert == experts) {
        put_zeros();
        return;
    }
    aim_rows();
    aim_b(arg_b_at() + expert * arg_b_e(), arg_b_col(), arg_b_row());
    sum_tile();
    finish_tile();
}
