#version 460
// dk[j] = scale · sum over the queries i that see key j, of every head of its group, of ds[i, j] · q[i], and dv[j] = sum
// of p[i, j] · dy[i], for a tile of keys: ds = p · (dp - delta), p = e^(s - lse), dp = <dy[i], v[j]>. Rows of the tile
// (grad.glsl) are keys, columns queries; keys that nobody sees get zeros.
#define PLACED
#define GRADIENT
#define TILES 2
#include "interface.glsl"
#include "rules.glsl"
#include "grad.glsl"

// lse and delta of the step's queries.
shared vec2 of_queries[BC];

PRODUCT(multiply_keys, k, q, D)
PRODUCT(multiply_values, v, dy, DV)
SUM(q, 0u, D)
SUM(dy, 1u, DV)
STORE(grad, 0u, 64u, D)
STORE(v_grad, 1u, 128u, DV)

bool pair_sees(uint row, uint column) { return column < SQ && sees(column, int(row)); }

void step(uint query0, uint end, uint sums, bool inside) {
    float s[RN * CN], dp[RN * CN];
    begin_step();
    if (u < BC) {
        uint at = sums + min(query0 + u, end - 1u);
        of_queries[u] = vec2(load_lse(at), load_delta(at));
    }
    multiply_keys(s, query0, end);
    multiply_values(dp, query0, end);
    [[unroll]] for (uint j = 0u; j < CN; j++) {
        uint query = min(query0 + column_of(j), end - 1u);
        int first = first_key(query), last = query == query0 + column_of(j) ? end_key(query) : 0;
        vec2 of_query = of_queries[column_of(j)];
        [[unroll]] for (uint i = 0u; i < RN; i++) {
            uint at = i * CN + j, key = row_of(i);
            bool near = inside || int(key) >= first && int(key) < last;
            if (near) weigh_pair(s[at], dp[at], query, key, of_query.x, of_query.y);
            else s[at] = dp[at] = 0.0;
        }
    }
    stage_weights(s);
    sum_dy(query0, end);
    barrier();
    stage_weights(dp);
    sum_q(query0, end);
}

// All steps of one query head.
void add_head(uint b, uint h) {
    q_base = arg_q_at() + b * arg_q_b() + h * arg_q_h();
    dy_base = arg_dy_at() + b * arg_dy_b() + h * arg_dy_h();
    place_keys(b, h);
    int key0 = int(row0), key_end = min(key0 + int(BR), total);
    if (key0 >= key_end) return;
    int begin = max(key0 - end0 + 1, 0), end = min(int(SQ), key_end - first0);
    for (int query0 = begin / int(BC) * int(BC); query0 < end; query0 += int(BC)) {
        bool whole = query0 + int(BC) <= end && key0 + int(BR) <= total;
        bool inside = whole && first_key(uint(query0) + BC - 1u) <= key0 && end_key(uint(query0)) >= key0 + int(BR);
        step(uint(query0), uint(end), (b * arg_hq() + h) * SQ, inside);
    }
}

void main() {
    SQ = arg_sq(); SK = arg_sk(); D = arg_d(); DV = arg_dv();
    uint group = arg_group(), heads = arg_hq() / group, g = linear_group();
    uint tiles = (SK + BR - 1u) / BR, parts = (max(D, DV) + DP - 1u) / DP;
    // The first tiles of a causal head have the most queries: they come first.
    uint tile = g % tiles, rest = g / tiles;
    col0 = rest % parts * DP;
    uint kh = rest / parts % heads, b = rest / parts / heads;
    if (b >= arg_batches()) return;
    row0 = tile * BR;
    rows_end = SK;
    place_threads();
    k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h();
    v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h();
    for (uint h = kh * group; h < (kh + 1u) * group; h++) add_head(b, h);
    join_pairs();
    store_rows_grad(b * arg_grad_b() + kh * arg_grad_h(), SK, scale);
    store_rows_v_grad(b * arg_v_grad_b() + kh * arg_v_grad_h(), SK, 1.0);
}
