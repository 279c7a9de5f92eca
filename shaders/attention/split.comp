#version 460
// y = epilogue(softmax(scores) · v) for BQ queries of one head, online, the keys split among TEAMS teams of 32 threads.
//
// A thread has ROWS queries; of each it owns every LANES-th quad of the width, in products and result. No score leaves
// it but for the sum over the LANES threads that share a query. A step stages BK keys and values, of which a team takes
// every TEAMS-th group of KEYS: within a team all threads read the same quads. A team's chains have 64 keys, then
// pairs (runs.glsl); in the end the teams' results are merged in order. Values that are not finite are multiplied only for
// queries that see them.
#include "interface.glsl"
#if LANES > 1
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "rules.glsl"
#include "quads.glsl"

const uint NT = 32 * TEAMS, WQ = W / 4, OWN = WQ / LANES, SLOTS = 32 / LANES, BQ = SLOTS * ROWS;
const uint V_AT = BK * WQ, Q_AT = 2 * V_AT, STAGED = Q_AT + BQ * WQ, MERGED = TEAMS * BQ * WQ;
layout(local_size_x = NT) in;

shared vec4 pool[STAGED > MERGED ? STAGED : MERGED];
shared vec2 runs[TEAMS * BQ];
shared uint odd;

uint SQ, D, DV, u, team, lane, row0, step_id;
vec4 acc[ROWS * OWN];
float row_max[ROWS], row_sum[ROWS], s[ROWS * KEYS];

vec4 hole_epilogue(vec4 v) { return v; }

// Where a quad of a query lies: neighbouring threads meet different banks.
uint place(uint row, uint quad) { return row * WQ + (quad ^ (row * LANES & 7u)); }

uint slot(uint r) { return lane / LANES + SLOTS * r; }

uint own(uint i) { return lane % LANES + LANES * i; }

void stage_q(uint base, uint pitch) {
    [[unroll]] for (uint n = 0u; n < (BQ * WQ + NT - 1u) / NT; n++) {
        uint e = u + NT * n, row = e / WQ, c = e % WQ;
        if (e < BQ * WQ)
            pool[Q_AT + place(row, c)] = quad_q(base + min(row0 + row, SQ - 1u) * pitch + 4u * c, 4u * c, D);
    }
}

// Keys and values key0 on; after the last of them it again.
void stage(uint key0, uint last, uint k_base, uint k_row, uint v_base, uint v_row) {
    [[unroll]] for (uint n = 0u; n < BK * WQ / NT; n++) {
        uint e = u + NT * n, key = min(key0 + e / WQ, last), c = e % WQ;
        pool[e] = quad_k(k_base + key * k_row + 4u * c, 4u * c, D);
        vec4 v = quad_v(v_base + key * v_row + 4u * c, 4u * c, DV);
        uvec4 exponent = floatBitsToUint(v) & 0x7f800000u;
        if (any(equal(exponent, uvec4(0x7f800000u)))) odd = step_id;
        pool[V_AT + e] = v;
    }
}

void products(uint key) {
    [[unroll]] for (uint i = 0u; i < ROWS * KEYS; i++) s[i] = 0.0;
    [[unroll]] for (uint i = 0u; i < OWN; i++) {
        vec4 q[ROWS];
        [[unroll]] for (uint r = 0u; r < ROWS; r++) q[r] = pool[Q_AT + place(slot(r), own(i))];
        [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            vec4 k = pool[(key + c) * WQ + own(i)];
            [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint r = 0u; r < ROWS; r++)
                s[r * KEYS + c] = fma(q[r][e], k[e], s[r * KEYS + c]);
        }
    }
#if LANES > 1
    [[unroll]] for (uint i = 0u; i < ROWS * KEYS; i++)
        [[unroll]] for (uint x = 1u; x < LANES; x *= 2u) s[i] += subgroupShuffleXor(s[i], x);
#endif
}

#include "split_softmax.glsl"
#include "runs.glsl"
#define ROW_MAX(r) row_max[r]
RUNS(ROWS, OWN, 10u, row_sum, ROW_MAX)

void add_values(uint key) {
    [[unroll]] for (uint i = 0u; i < OWN; i++) [[unroll]] for (uint c = 0u; c < KEYS; c++) {
        vec4 v = pool[V_AT + (key + c) * WQ + own(i)];
        [[unroll]] for (uint r = 0u; r < ROWS; r++)
            acc[r * OWN + i] = fma(vec4(s[r * KEYS + c]), v, acc[r * OWN + i]);
    }
}

// The same where some value is not finite: what a query does not see has no effect.
void add_odd_values(uint key, int key0) {
    [[unroll]] for (uint r = 0u; r < ROWS; r++) [[unroll]] for (uint c = 0u; c < KEYS; c++)
        if (sees(min(row0 + slot(r), SQ - 1u), key0 + int(c)))
            [[unroll]] for (uint i = 0u; i < OWN; i++)
                acc[r * OWN + i] = fma(vec4(s[r * KEYS + c]), pool[V_AT + (key + c) * WQ + own(i)], acc[r * OWN + i]);
}

void main() {
    keep_holes();
#if LANES > 1
    // Threads that share a query are neighbours in one subgroup, wherever the device puts its threads.
    u = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#else
    u = gl_LocalInvocationID.x;
#endif
    team = u / 32u;
    lane = u % 32u;
    step_id = 0u;
    if (u == 0u) odd = 0u;
    barrier();
    SQ = arg_sq(); D = arg_d(); DV = arg_dv();
    // The last tiles of a causal head have the most keys: they come first.
    uint tiles = (SQ + BQ - 1u) / BQ, heads = arg_hq(), g = linear_group(), tile = tiles - 1u - g % tiles;
    uint h = g / tiles % heads, b = g / tiles / heads, kh = h / arg_group();
    if (b >= arg_batches()) return;
    row0 = tile * BQ;
    stage_q(arg_q_at() + b * arg_q_b() + h * arg_q_h(), arg_q_row());
    uint k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h(), k_row = arg_k_row();
    uint v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h(), v_row = arg_v_row();
    place_keys(b, h);
    [[unroll]] for (uint i = 0u; i < ROWS * OWN; i++) acc[i] = vec4(0.0);
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        row_max[r] = minus_inf();
        row_sum[r] = 0.0;
    }
    uint last_row = min(row0 + BQ, SQ) - 1u;
    int end = end_key(last_row), full_from = first_key(last_row), full_to = end_key(row0);
    for (int key0 = first_key(row0); key0 < end;) {
        for (int chain_end = min(key0 + 64 * int(TEAMS), end); key0 < chain_end; key0 += int(BK)) {
            step_id++;
            stage(uint(key0), uint(end) - 1u, k_base, k_row, v_base, v_row);
            barrier();
            bool inside = key0 >= full_from && key0 + int(BK) <= full_to, finite = odd != step_id;
            [[dont_unroll]] for (uint key = team * KEYS; key < BK && key0 + int(key) < end; key += TEAMS * KEYS) {
                products(key);
                soften(key0 + int(key), inside);
                if (finite) add_values(key);
                else add_odd_values(key, key0 + int(key));
            }
            barrier();
        }
        if (key0 < end) carry();
    }
    join_runs();
    barrier();
    merge(b, h);
}
