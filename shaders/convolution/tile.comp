#version 460
// y[n, g, o, p] = hole(sum over channels and taps of w[g, o, c, t] · x[n, g, c, window(p, t)]) as a product of BM x BN
// elements a workgroup (tile.glsl, units.glsl): rows are outputs, columns the positions of all batches, k counts channels and
// taps. a is the weights, read by strides; b is the operand, read through the window (window_loader.glsl).
#ifdef UNITS
#include "units_extensions.glsl"
#endif
#include "interface.glsl"
#include "divide.glsl"
const uint B_MODE = 0u;
#include "product.glsl"
#include "columns.glsl"

uint positions;
#include "places.glsl"

TYPED(a, A_MODE)
OPERAND(a, A, rows_at, M, K, A_MODE)
STAGE_A(a, EVERY)
#include "window_loader.glsl"

void place_columns(uint col) {
    if (QUADS != 0u) {
        uint p, n = divide(col, positions, p);
        batch_of = uvec4(n);
        place_of = p + uvec4(0u, 1u, 2u, 3u);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uint p;
        batch_of[e] = divide(min(col + e, N - 1u), positions, p);
        place_of[e] = p;
    }
}

void put_quad(uint row, uint col, vec4 v) {
    place_columns(col);
    put_places(row, col, v);
}

void main() {
    keep_holes();
    positions = arg_out(0) * arg_out(1) * arg_out(2);
    M = arg_outputs(); N = arg_batches() * positions; K = arg_channels() * TAPS;
    uint tiles_n = (N + BN - 1u) / BN, tiles_m = (M + BM - 1u) / BM, tile = linear_group();
    group = tile / tiles_n / tiles_m;
    if (group >= arg_groups()) return;
    begin_tile(tile / tiles_n % tiles_m, tile % tiles_n);
    aim_a(arg_a_at() + group * arg_a_g(), arg_a_row(), arg_a_col());
    aim_b();
    sum_tile();
    finish_tile();
}
