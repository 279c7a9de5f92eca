#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]) by matrix units, factors rounded to f16, BM x BN elements a
// workgroup (units.glsl). Modes as in tile.comp.
#pragma use_vulkan_memory_model
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#include "interface.glsl"
#include "matrix_slots.glsl"
#include "units.glsl"
#include "units_operands.glsl"

OPERAND(a, RA, rows_at, M, BM, A_MODE)
OPERAND(b, RB, cols_at, N, BN, B_MODE)

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
