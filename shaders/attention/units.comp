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

#define FRAGMENT(TYPE, USE) coopmat<TYPE, gl_ScopeSubgroup, 16, 16, USE>
FRAGMENT(ELEMENT, gl_MatrixUseA) queries[WF];
FRAGMENT(float, gl_MatrixUseAccumulator) acc[WF];

vec4 hole_epilogue(vec4 v) { return v; }

// A quad as halves; where it is stored as what it is rounded to, as it lies there.
#define HALVES(X, BIT, FULL, AS_STORED) \
uvec2 halves_##X(uint at, uint c, uint width) { \
    if (AS_STORED && (VEC & (BIT | FULL)) == (BIT | FULL)) return loadu2_##X(at >> 2u); \
    return halves(stored_quad_##X(at, c, width)); \
}
HALVES(q, 1u, 16u, false)
HALVES(k, 2u, 16u, T_k != 0u && T_k == ROUND)
HALVES(v, 4u, 32u, T_v != 0u && T_v == ROUND)

// Rows `from` on, those from `end` on being copies of the last, which nothing uses.
#define STAGE(X, PITCH, WIDTH) \
void stage_##X(uint from, uint end) { \
    uint pitch = PITCH; \
    [[unroll]] for (uint i = 0u; i < BK * W / 4u / NT; i++) { \
        uint e = gl_SubgroupID * 32u + gl_SubgroupInvocationID + i * NT, r = e / (W / 4u), c = e % (W / 4u) * 4u; \
        stage[r * LS + c / 4u] = kept_##X(halves_##X(X##_base + min(from + r, end - 1u) * pitch + c, c, WIDTH)); \
    } \
}
uvec2 kept_q(uvec2 quad) { return quad; }
uvec2 kept_k(uvec2 quad) { return quad; }

const uint LARGEST = ROUND == ROUND_BF16 ? 0x7f80u : 0x7c00u; // the exponent of what is not finite

bvec4 are_finite(uvec2 quad) { return notEqual(split_halves(quad) & LARGEST, uvec4(LARGEST)); }

uvec2 kept_v(uvec2 quad) {
    bvec4 finite = are_finite(quad);
    if (!all(finite)) odd = 1u;
    return quad & mask(finite);
}
STAGE(q, arg_q_row(), D)
STAGE(k, arg_k_row(), D)
STAGE(v, arg_v_row(), DV)

float half_value(uint h) { return ROUND == ROUND_BF16 ? uintBitsToFloat(h << 16u) : f16_to_f32(h); }

void load_queries() {
    [[unroll]] for (uint d = 0u; d < WF; d++)
        coopMatLoad(queries[d], stage, gl_SubgroupID * 16u * LS + d * 4u, LS, gl_CooperativeMatrixLayoutRowMajor);
}

// Scores of 64 keys, to this subgroup's place in shared memory.
void multiply_scores() {
    [[unroll]] for (uint j = 0u; j < KF; j++) {
        FRAGMENT(float, gl_MatrixUseAccumulator) s = FRAGMENT(float, gl_MatrixUseAccumulator)(0.0);
        [[unroll]] for (uint d = 0u; d < WF; d++) {
            FRAGMENT(ELEMENT, gl_MatrixUseB) keys;
            coopMatLoad(keys, stage, j * 16u * LS + d * 4u, LS, gl_CooperativeMatrixLayoutColumnMajor);
            s = coopMatMulAdd(queries[d], keys, s);
        }
        coopMatStore(s, scores, own_scores + j * 8u, LW, gl_CooperativeMatrixLayoutRowMajor);
    }
}

// Quad j of the 32 keys that this thread has of its query, which are every second quad.
uint quad_of(uint j) { return 2u * j + part; }

// From scores to weights; sets what older sums and results are to be scaled by.
float weigh(int key0, bool inside) {
    float s[32];
    uint at = own_scores + row * LW, query = min(row0 + gl_SubgroupID * 16u + row, SQ - 1u);
    int first = first_key(query), end = end_key(query);
    float m = row_max;
    [[unroll]] for (uint j = 0u; j < 8u; j++) {
        uvec4 words = uvec4(scores[at + 2u * quad_of(j)], scores[at + 2u * quad_of(j) + 1u]);
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            int key = key0 + int(4u * quad_of(j) + e);
            float x = score(uintBitsToFloat(words[e]));
            if (MASK_KIND != 0u || !inside) {
                bool seen = key >= first && key < end;
                if (MASK_KIND != 0u && seen) seen = allows(query, uint(key), x);
                x = seen ? x : minus_inf();
            }
            s[4u * j + e] = x;
            m = max(m, x);
        }
    }
    m = max(m, subgroupShuffleXor(m, 1u));
    float shrink = weight(row_max, m), sum = 0.0;
    row_max = m;
    // All scores have been read.
    subgroupBarrier();
    [[unroll]] for (uint j = 0u; j < 8u; j++) {
        vec4 p;
        [[unroll]] for (uint e = 0u; e < 4u; e++) p[e] = weight(s[4u * j + e], m);
        sum += (p.x + p.y) + (p.z + p.w);
        scores[at + quad_of(j)] = halves(p);
    }
    row_sum = row_sum * shrink + sum;
    return shrink;
}

// A fragment whose numbers are this subgroup's square.
void load_square(out FRAGMENT(float, gl_MatrixUseAccumulator) f) {
    subgroupBarrier();
    coopMatLoad(f, square, own_square, 4u, gl_CooperativeMatrixLayoutRowMajor);
    subgroupBarrier();
}

void scale_results(float shrink) {
    uvec4 quad = floatBitsToUint(vec4(shrink));
    square[own_square + row * 4u + 2u * part] = quad;
    square[own_square + row * 4u + 2u * part + 1u] = quad;
    FRAGMENT(float, gl_MatrixUseAccumulator) scales;
    load_square(scales);
    [[unroll]] for (uint j = 0u; j < WF; j++) acc[j] = acc[j] * scales;
}

void multiply_values() {
    [[unroll]] for (uint k = 0u; k < KF; k++) {
        FRAGMENT(ELEMENT, gl_MatrixUseA) weights;
        coopMatLoad(weights, scores, own_scores + k * 4u, LW, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0u; j < WF; j++) {
            FRAGMENT(ELEMENT, gl_MatrixUseB) values;
            coopMatLoad(values, stage, k * 16u * LS + j * 4u, LS, gl_CooperativeMatrixLayoutRowMajor);
            acc[j] = coopMatMulAdd(weights, values, acc[j]);
        }
    }
}

// What a query sees of values that are not finite, in eight columns of its own.
void add_odd(uint j, uint key0, uint keys) {
    vec4 sums[2] = vec4[2](vec4(0.0), vec4(0.0));
    uint query = min(row0 + gl_SubgroupID * 16u + row, SQ - 1u);
    [[dont_unroll]] for (uint k = 0u; k < keys; k++) {
        if (!sees(query, int(key0 + k))) continue;
        uint h = scores[own_scores + row * LW + k / 4u][k / 2u % 2u] >> (16u * (k & 1u)) & 0xffffu;
        [[unroll]] for (uint i = 0u; i < 2u; i++) {
            uint c = j * 16u + 8u * part + 4u * i;
            uvec2 quad = halves_v(v_base + (key0 + k) * arg_v_row() + c, c, DV);
            bvec4 finite = are_finite(quad);
            uvec4 each = split_halves(quad);
            [[unroll]] for (uint e = 0u; e < 4u; e++)
                if (!finite[e]) sums[i][e] = fma(half_value(h), half_value(each[e]), sums[i][e]);
        }
    }
    [[unroll]] for (uint i = 0u; i < 2u; i++) square[own_square + row * 4u + 2u * part + i] = floatBitsToUint(sums[i]);
    FRAGMENT(float, gl_MatrixUseAccumulator) added;
    load_square(added);
    [[unroll]] for (uint f = 0u; f < WF; f++) if (f == j) acc[f] = acc[f] + added;
}

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
