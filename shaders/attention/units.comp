#version 460
// As tile.comp, by matrix units: factors and weights rounded to 16 bits, f32 sums (OPS 1.7, T3). Keys and values are at most
// W wide.
//
// Four subgroups of 32 threads have 16 queries each, as fragments, and all results of these. A step takes 64 keys: their
// scores leave the fragments through shared memory, where two neighbouring threads have a query and weigh its keys; the
// weights go back as halves, in the place of the scores. Older results are scaled by a fragment whose rows are the scales.
// Values that are not finite count as zero in the units, and are added for the queries that see them.
#include "units_extensions.glsl"
#extension GL_KHR_shader_subgroup_shuffle : require
#include "interface.glsl"
#include "halves.glsl"
#include "rules.glsl"
#include "quads.glsl"

const uint BQ = 64, BK = 64, NT = 128, WF = W / 16, KF = BK / 16;
// Quads of halves between neighbouring rows of what is staged, and between those of scores.
const uint LS = (W + 8) / 4, LW = (BK + 8) / 2;
layout(local_size_x = NT) in;

shared uvec2 stage[BK * LS];
shared uvec2 scores[4 * 16 * LW];
shared uvec4 square[4 * 64]; // 16 x 16 numbers of each subgroup
shared uint odd;

uint SQ, D, DV, row0, row, part, own_scores, own_square;
uint q_base, k_base, v_base;
float row_max, row_sum;

vec4 hole_epilogue(vec4 v) { return v; }

#include "units_operands.glsl"
#include "units_products.glsl"
#include "units_softmax.glsl"

// The step of keys key0 on; `end` is the end of all keys that any query of the tile sees.
void step(uint key0, uint end, bool inside) {
    barrier();
    stage_k(key0, end);
    if (gl_LocalInvocationIndex == 0u) odd = 0u;
    barrier();
    multiply_scores();
    subgroupBarrier();
    float shrink = weigh(int(key0), inside);
    scale_results(shrink);
    barrier();
    stage_v(key0, end);
    barrier();
    multiply_values();
    if (odd != 0u) [[dont_unroll]] for (uint j = 0u; j < WF; j++) add_odd(j, key0, min(BK, end - key0));
}

void store_rows(uint b, uint h) {
    uint query = row0 + gl_SubgroupID * 16u + row, at = b * arg_y_b() + h * arg_y_h() + query * arg_y_row();
    float sum = row_sum + subgroupShuffleXor(row_sum, 1u);
    bool seen = query < SQ && sum == 0.0 && sees_any(query);
    [[dont_unroll]] for (uint j = 0u; j < WF; j++) {
        subgroupBarrier();
        [[unroll]] for (uint f = 0u; f < WF; f++)
            if (f == j) coopMatStore(acc[f], square, own_square, 4u, gl_CooperativeMatrixLayoutRowMajor);
        subgroupBarrier();
        [[unroll]] for (uint i = 0u; i < 2u; i++) {
            uint col = j * 16u + 8u * part + 4u * i;
            if (query >= SQ || col >= DV) continue;
            vec4 v = uintBitsToFloat(square[own_square + row * 4u + 2u * part + i]);
            [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = divided(v[e], sum, seen);
            v = hole_epilogue(v);
            if ((VEC & 8u) != 0u) store4_y((at + col) >> 2u, v);
            else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < DV) store_y(at + col + e, v[e]);
        }
    }
}

void main() {
    keep_holes();
    SQ = arg_sq(); D = arg_d(); DV = arg_dv();
    uint tiles = (SQ + BQ - 1u) / BQ, heads = arg_hq(), g = linear_group();
    // The last tiles of a causal head have the most keys: they come first.
    uint tile = tiles - 1u - g % tiles, rest = g / tiles, h = rest % heads, b = rest / heads, kh = h / arg_group();
    if (b >= arg_batches()) return;
    row0 = tile * BQ;
    row = gl_SubgroupInvocationID / 2u;
    part = gl_SubgroupInvocationID % 2u;
    own_scores = gl_SubgroupID * 16u * LW;
    own_square = gl_SubgroupID * 64u;
    q_base = arg_q_at() + b * arg_q_b() + h * arg_q_h();
    k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h();
    v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h();
    place_keys(b, h);
    [[unroll]] for (uint j = 0u; j < WF; j++) acc[j] = FRAGMENT(float, gl_MatrixUseAccumulator)(0.0);
    row_max = minus_inf();
    row_sum = 0.0;
    stage_q(row0, SQ);
    barrier();
    load_queries();

    uint last_row = min(row0 + BQ, SQ) - 1u;
    int end = end_key(last_row), full_from = first_key(last_row), full_to = end_key(row0);
    for (int key0 = first_key(row0) / int(BK) * int(BK); key0 < end; key0 += int(BK))
        step(uint(key0), uint(end), key0 >= full_from && key0 + int(BK) <= full_to);
    store_rows(b, h);
}
