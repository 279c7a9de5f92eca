#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]), BM x BN elements a workgroup (tile.glsl, units.glsl).
// Modes of a (b alike, with columns for rows): 0 and 1 read along k, 2 and 3 along rows; 1 and 3 sixteen bytes at once.
#ifdef UNITS
#include "units_extensions.glsl"
#endif
#include "product_interface.glsl"
#include "matrix_slots.glsl"
#include "product.glsl"

TYPED(a, A_MODE)
TYPED(b, B_MODE)
OPERAND(a, A, rows_at, M, K, A_MODE)
OPERAND(b, B, cols_at, N, K, B_MODE)
STAGE_A(a, EVERY)
STAGE_B(B_MODE == 3u)

uint matrix, y_at, y_row;

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

void put_quad(uint row, uint col, vec4 v) {
    v = hole_epilogue(v, matrix, row, col);
    uint at = y_at + row * y_row + col;
    if (VEC_Y != 0u) store4_y(at >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at + e, v[e]);
}

void main() {
    keep_holes();
    M = arg_m(); N = arg_n(); K = arg_k();
    uint tiles_n = (N + BN - 1u) / BN, tiles_m = (M + BM - 1u) / BM, group = linear_group();
    matrix = group / tiles_n / tiles_m;
    if (matrix >= arg_batches()) return;
    uint outer = matrix / arg_inner(), inner = matrix % arg_inner();
    begin_tile(group / tiles_n % tiles_m, group % tiles_n);
    aim_a(arg_a_at() + outer * arg_a_b0() + inner * arg_a_b1(), arg_a_row(), arg_a_col());
    aim_b(arg_b_at() + outer * arg_b_b0() + inner * arg_b_b1(), arg_b_col(), arg_b_row());
    sum_tile();
    slot_columns = N;
    place_slots(outer, inner);
    y_at = arg_y_at() + outer * arg_y_b0() + inner * arg_y_b1();
    y_row = arg_y_row();
    finish_tile();
}
