#version 460
// dq[i] = scale · sum over the keys j that query i sees of ds[i, j] · k[j], for a tile of queries: ds = p · (dp - delta),
// p = e^(s - lse), dp = <dy[i], v[j]>. Rows of the tile (grad.glsl) are queries, columns keys.
#define PLACED
#define GRADIENT
#define TILES 1
#include "interface.glsl"
#include "rules.glsl"
#include "grad.glsl"

float lses[RN], deltas[RN];

PRODUCT(multiply_queries, q, k, D)
PRODUCT(multiply_results, dy, v, DV)
SUM(k, 0u, D)
STORE(grad, 0u, 64u, D)

bool pair_sees(uint row, uint column) { return row < SQ && sees(row, int(column)); }

void step(uint key0, uint end, bool inside) {
    float s[RN * CN], dp[RN * CN];
    begin_step();
    multiply_queries(s, key0, end);
    multiply_results(dp, key0, end);
    [[unroll]] for (uint i = 0u; i < RN; i++) {
        uint query = min(row_of(i), SQ - 1u);
        int first = first_key(query), last = end_key(query);
        [[unroll]] for (uint j = 0u; j < CN; j++) {
            uint at = i * CN + j, key = key0 + column_of(j);
            bool near = inside || int(key) >= first && int(key) < last;
            if (near) weigh_pair(s[at], dp[at], query, key, lses[i], deltas[i]);
            else dp[at] = 0.0;
        }
    }
    stage_weights(dp);
    sum_k(key0, end);
}

void main() {
    SQ = arg_sq(); SK = arg_sk(); D = arg_d(); DV = arg_dv();
    uint tiles = (SQ + BR - 1u) / BR, parts = (D + DP - 1u) / DP, heads = arg_hq(), g = linear_group();
    // The last tiles of a causal head have the most keys: they come first.
    uint tile = tiles - 1u - g % tiles, rest = g / tiles;
    col0 = rest % parts * DP;
    uint h = rest / parts % heads, b = rest / parts / heads, kh = h / arg_group();
    if (b >= arg_batches()) return;
    row0 = tile * BR;
    rows_end = SQ;
    place_threads();
    q_base = arg_q_at() + b * arg_q_b() + h * arg_q_h();
    k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h();
    v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h();
    dy_base = arg_dy_at() + b * arg_dy_b() + h * arg_dy_h();
    place_keys(b, h);
    [[unroll]] for (uint i = 0u; i < RN; i++) {
        uint at = (b * heads + h) * SQ + min(row_of(i), SQ - 1u);
        lses[i] = load_lse(at);
        deltas[i] = load_delta(at);
    }
    uint last_row = min(row0 + BR, SQ) - 1u;
    int end = end_key(last_row), full_from = first_key(last_row), full_to = end_key(row0);
    for (int key0 = first_key(row0) / int(BC) * int(BC); key0 < end; key0 += int(BC))
        step(uint(key0), uint(end), key0 >= full_from && key0 + int(BC) <= full_to);
    join_pairs();
    store_rows_grad(b * arg_grad_b() + h * arg_grad_h(), SQ, scale);
}
