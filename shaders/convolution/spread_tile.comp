#version 460
// A transposed convolution as products of BM x BN elements a workgroup (tile.glsl, units.glsl), one for each phase
// (phases.glsl): rows are outputs, columns the positions of the phase in all batches, k counts its taps and channels
// (phase_loader.glsl).
#ifdef UNITS
#include "units_extensions.glsl"
#endif
#include "interface.glsl"
#include "divide.glsl"
#define rounded_a rounded_w
#define rounded_b rounded_x
const uint B_MODE = 0u;
#include "product.glsl"
#include "columns.glsl"
#include "phases.glsl"

const uint QUADS = 0u, VEC_Y = 0u;
uint positions;
#include "places.glsl"
#include "phase_loader.glsl"

void put_quad(uint row, uint col, vec4 v) {
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uint number;
        batch_of[e] = divide(min(col + e, N - 1u), positions, number);
        place_of[e] = place_in_result(phase, position_of(phase, number));
    }
    put_places(row, col, v);
}

void main() {
    keep_holes();
    uvec3 most = most_along(), phases = phases_along();
    uint tiles_n = (arg_batches() * most.x * most.y * most.z + BN - 1u) / BN, tiles_m = (arg_outputs() + BM - 1u) / BM;
    uint tile = linear_group(), number = tile / tiles_n / tiles_m / arg_groups();
    group = tile / tiles_n / tiles_m % arg_groups();
    if (number >= phases.x * phases.y * phases.z) return;
    phase = phase_of(number);
    positions = phase.size.x * phase.size.y * phase.size.z;
    M = arg_outputs(); N = arg_batches() * positions;
    if (tile % tiles_n * BN >= N) return;
    begin_tile(tile / tiles_n % tiles_m, tile % tiles_n);
    channels = arg_channels();
    padded = (channels + BK - 1u) / BK * BK;
    aim_a();
    aim_b();
    K = padded * phase.taps.x * phase.taps.y * phase.taps.z;
    sum_tile();
    finish_tile();
}
