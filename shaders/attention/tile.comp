#version 460
// y = epilogue(softmax(scores) · v) for a tile of BQ queries of one head, online: no score leaves the workgroup.
//
// TX x TY threads. Of the scores of BQ queries and BK keys thread (tx, ty) owns those of queries ty + TY·i and keys
// tx + TX·j, of the result the same queries and the quads of columns tx + TX·j; DP columns a workgroup.
// A step takes BK keys: scores from chunks of CH of the width, staged as rows of quads, one more each for the banks; then the
// maximum of each query over the threads; then weights, staged as [key][four queries of a thread], times chunks of CV values.
// Products are chains of 128 elements of the width and a chain of those, sums chains of 128 keys, then pairs (runs.glsl).
// Values that are not finite are multiplied only for queries that see them.
#include "interface.glsl"
#include "rules.glsl"

const uint NT = TX * TY, RQ = BQ / (4 * TY), SN = BK / (4 * TX), ON = DP / (4 * TX);
const uint QQ = BQ / 4, CQ = CH / 4, CP = CQ + 1, VQ = DP / 4;
const uint SCORES = (BQ + BK) * CP, VALUES = CV * VQ;
layout(local_size_x = NT) in;

shared vec4 stage[SCORES > VALUES ? SCORES : VALUES];
shared vec4 weights[BK * QQ];
shared float part[TX * BQ], row_max[BQ], row_scale[BQ];
shared uint odd;

uint SQ, D, DV, u, tx, ty, row0, col0, chunk_id;
uint q_base, k_base, v_base;
vec4 acc[RQ * 4 * ON];
float sums[RQ * 4];

vec4 hole_epilogue(vec4 v) { return v; }

#include "quads.glsl"
#include "tile_products.glsl"
#include "tile_softmax.glsl"
#include "runs.glsl"
#define ROW_MAX(r) row_max[query(r) - row0]
RUNS(RQ * 4, ON, 8u, sums, ROW_MAX)

void store_rows(uint b, uint h) {
    [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) part[tx * BQ + query(i) - row0] = sums[i];
    barrier();
    uint base = b * arg_y_b() + h * arg_y_h(), pitch = arg_y_row();
    [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) {
        uint row = query(i);
        if (row >= SQ) continue;
        float sum = 0.0;
        [[unroll]] for (uint t = 0u; t < TX; t++) sum += part[t * BQ + row - row0];
#ifdef EXTENDED
        float m = row_max[row - row0], shrink = take_sink(h, m, sum);
        bool seen = sum == 0.0 && sees_any(row);
        if (WITH_LSE == 1u && tx == 0u && col0 == 0u) store_lse((b * arg_hq() + h) * SQ + row, log_sum(m, sum, seen));
#else
        bool seen = sum == 0.0 && sees_any(row);
#endif
        [[unroll]] for (uint j = 0u; j < ON; j++) {
            uint col = col0 + 4u * (tx + TX * j);
            if (col >= DV) continue;
            vec4 v = acc[i * ON + j];
#ifdef EXTENDED
            v *= shrink;
#endif
            [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = divided(v[e], sum, seen);
            v = hole_epilogue(v);
            uint at = base + row * pitch + col;
            if ((VEC & 8u) != 0u) store4_y(at >> 2u, v);
            else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < DV) store_y(at + e, v[e]);
        }
    }
}

// The step of keys key0 on; `end` is the end of all keys that any query of the tile sees. With AHEAD, what the first chunk needs
// is on its way, and each chunk sends for the next one's: the last one of the scores for those of the next step.
void step(uint key0, uint end, bool inside) {
    float s[RQ * 4 * SN * 4];
    [[unroll]] for (uint i = 0u; i < RQ * 4u * SN * 4u; i++) s[i] = 0.0;
    for (uint d0 = 0u; d0 < D;) {
        for (uint chain_end = min(d0 + 128u, D); d0 < chain_end; d0 += CH) {
            if (AHEAD == 0u) fetch_scores(key0, end, d0);
            barrier();
            put_q();
            put_k();
            barrier();
            bool last = d0 + CH >= D;
            if (AHEAD == 1u) fetch_scores(last ? key0 + BK : key0, end, last ? 0u : d0 + CH);
            multiply_scores(s, min(CH, D - d0));
        }
        if (D > 128u) end_chain(s, d0);
    }
    if (AHEAD == 1u) fetch_values(key0, end);
    finish_scores(s, int(key0), inside);
    update_maxima(s);
    stage_weights(s);
    for (uint c = 0u; c < BK && key0 + c < end; c += CV) {
        if (AHEAD == 0u) fetch_values(key0 + c, end);
        chunk_id++;
        barrier();
        put_values();
        barrier();
        if (AHEAD == 1u) fetch_values(key0 + min(c + CV, BK - CV), end);
        uint keys = min(CV, end - key0 - c);
        if (odd != chunk_id) multiply_values(c, keys);
        else multiply_odd_values(c, keys, key0 + c);
    }
}

void main() {
    keep_holes();
    SQ = arg_sq(); D = arg_d(); DV = arg_dv();
    uint tiles = (SQ + BQ - 1u) / BQ, parts = (DV + DP - 1u) / DP, heads = arg_hq(), g = linear_group();
#ifdef EXTENDED
    parts = max(parts, 1u); // Of values without a width there are sums.
#endif
    // The last tiles of a causal head have the most keys: they come first.
    uint tile = tiles - 1u - g % tiles, rest = g / tiles;
    col0 = rest % parts * DP;
    uint h = rest / parts % heads, b = rest / parts / heads, kh = h / arg_group();
    if (b >= arg_batches()) return;
    row0 = tile * BQ;
    u = gl_LocalInvocationID.x;
    tx = u % 8u + 8u * (u / 32u % (TX / 8u));
    ty = u / 8u % 4u + 4u * (u / (4u * TX));
    q_base = arg_q_at() + b * arg_q_b() + h * arg_q_h();
    k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h();
    v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h();
    place_keys(b, h);
    [[unroll]] for (uint i = 0u; i < RQ * 4u * ON; i++) acc[i] = vec4(0.0);
    [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) sums[i] = 0.0;
    chunk_id = 0u;
    if (u < BQ) row_max[u] = minus_inf();
    if (u == 0u) odd = 0u;
    barrier();

    uint last_row = min(row0 + BQ, SQ) - 1u;
    int end = end_key(last_row), full_from = first_key(last_row), full_to = end_key(row0);
    int begin = first_key(row0) / int(BK) * int(BK);
    if (AHEAD == 1u && begin < end) fetch_scores(uint(begin), uint(end), 0u);
    for (int key0 = begin; key0 < end;) {
        for (int chain_end = min(key0 + 128, end); key0 < chain_end; key0 += int(BK))
            step(uint(key0), uint(end), key0 >= full_from && key0 + int(BK) <= full_to);
        if (key0 < end) carry();
    }
    join_runs();
    barrier();
    store_rows(b, h);
}
