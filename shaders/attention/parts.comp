#version 460
// parts[row, p] = (Σ e^(s - m) v, m, Σ e^(s - m)) over the keys of part p that the row sees, m the largest score of them:
// for few rows over many keys, so that many workgroups share a head.
//
// Key j belongs to part (j / BLOCK) % PARTS. Up to ROWS rows a workgroup: queries of the heads that share a key head, the
// queries of a head together. LANES neighbouring threads, a team, share a key: each owns every LANES-th quad of the
// width. A team takes KEYS keys at once and keeps its own maximum, sums and result; nothing is staged and nobody waits
// for anybody before the teams are merged in their order. A team's chains have 64 keys, then pairs (runs.glsl).
#include "interface.glsl"
#if LANES > 1
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "rules.glsl"
#include "quads.glsl"

const uint NT = THREADS, TEAMS = NT / LANES, WQ = W / 4, OWN = WQ / LANES, BLOCK = 64;
layout(local_size_x = NT) in;

// How a loop over the quads that a thread owns is compiled: a thread alone owns all of them, and drivers that run on the
// CPU then compile for a quarter of a minute what is unrolled.
#if LANES > 1
#define EACH [[unroll]]
#else
#define EACH [[dont_unroll]]
#endif

shared vec4 pool[TEAMS * WQ];
shared vec2 runs[TEAMS];

uint SQ, D, DV, rows, row0, team, lane;
vec4 q[ROWS * OWN], acc[ROWS * OWN];
float row_max[ROWS], row_sum[ROWS], s[ROWS * KEYS];
int first[ROWS], end[ROWS];
uint mask_at[ROWS];
bool counts[ROWS * KEYS];

#include "parts_keys.glsl"
#include "runs.glsl"
#define ROW_MAX(r) row_max[r]
RUNS(ROWS, OWN, 10u, row_sum, ROW_MAX)

void put(uint at, vec4 v) {
    if ((VEC & 8u) != 0u) store4_y(at >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) store_y(at + e, v[e]);
}

void merge(uint r, uint at) {
    uint u = team * LANES + lane;
    barrier();
    EACH for (uint i = 0u; i < OWN; i++) pool[team * WQ + own(i)] = acc[r * OWN + i];
    if (lane == 0u) runs[team] = vec2(row_max[r], row_sum[r]);
    barrier();
    if (u >= WQ || row0 + r >= rows) return;
    float m = runs[0].x, sum = 0.0, none = 0.0;
    [[unroll]] for (uint t = 1u; t < TEAMS; t++) m = max(m, runs[t].x);
    vec4 v = vec4(0.0);
    for (uint t = 0u; t < TEAMS; t++) {
        vec2 run = runs[t];
        if (run.x < LOWEST) {
            none += run.y;
            continue;
        }
        float shrink = weight(run.x, m);
        sum = fma(run.y, shrink, sum);
        v = fma(pool[t * WQ + u], vec4(shrink), v);
    }
    if (4u * u < DV) {
        if (4u * u + 4u <= DV) put(at + 4u * u, v);
        else [[unroll]] for (uint e = 0u; e < 4u; e++) if (4u * u + e < DV) store_y(at + 4u * u + e, v[e]);
    }
    if (u == 0u) put(at + DV, vec4(m, m < LOWEST ? none : sum, 0.0, 0.0));
}

void main() {
#if LANES > 1
    uint u = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#else
    uint u = gl_LocalInvocationID.x;
#endif
    team = u / LANES;
    lane = u % LANES;
    SQ = arg_sq(); D = arg_d(); DV = arg_dv();
    uint group = arg_group(), heads = arg_hq() / group, parts = PARTS;
    rows = group * SQ;
    uint tiles = (rows + ROWS - 1u) / ROWS, g = linear_group(), part = g % parts, rest = g / parts;
    uint tile = rest % tiles, kh = rest / tiles % heads, b = rest / tiles / heads;
    if (b >= arg_batches()) return;
    row0 = tile * ROWS;
    place_keys(b, kh * group);
    int from = 0x7fffffff, to = 0, full_from = 0, full_to = 0x7fffffff;
    uint y_at[ROWS];
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        uint row = min(row0 + r, rows - 1u), h = kh * group + row / SQ, i = row % SQ;
        first[r] = first_key(i);
        end[r] = end_key(i);
        from = min(from, first[r]);
        to = max(to, end[r]);
        full_from = max(full_from, first[r]);
        full_to = min(full_to, end[r]);
        mask_at[r] = arg_mask_at() + b * arg_mask_b() + h * arg_mask_h() + i * mask_row;
        uint base = arg_q_at() + b * arg_q_b() + h * arg_q_h() + i * arg_q_row();
        y_at[r] = b * arg_y_b() + h * arg_y_h() + i * arg_y_row() + part * (DV + 4u);
        row_max[r] = minus_inf();
        row_sum[r] = 0.0;
        EACH for (uint j = 0u; j < OWN; j++) {
            q[r * OWN + j] = quad_q(base + 4u * own(j), 4u * own(j), D);
            acc[r * OWN + j] = vec4(0.0);
        }
    }
    uint k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h(), k_row = arg_k_row();
    uint v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h(), v_row = arg_v_row();
    uint block = uint(max(from, 0)) / BLOCK, last = uint(max(to - 1, 0));
    block += (part + parts - block % parts) % parts;
    while (int(block * BLOCK) < to) {
        // TEAMS blocks have BLOCK keys for each team.
        for (uint chain_end = block + TEAMS * parts; block < chain_end && int(block * BLOCK) < to; block += parts) {
            bool inside = int(block * BLOCK) >= full_from && int((block + 1u) * BLOCK) <= full_to;
            [[dont_unroll]] for (uint c = 0u; c < BLOCK; c += TEAMS * KEYS) {
                uint key0 = block * BLOCK + c + team;
                products(key0, last, k_base, k_row);
                soften(key0, inside);
                add_values(key0, last, v_base, v_row, inside);
            }
        }
        if (int(block * BLOCK) < to) carry();
    }
    join_runs();
    [[unroll]] for (uint r = 0u; r < ROWS; r++) merge(r, y_at[r]);
}
