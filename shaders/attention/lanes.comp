#version 460
// y = epilogue(softmax(scores) · v) in registers, for devices whose subgroups of 8 are the vectors of a CPU.
//
// A lane owns ROWS queries of one head: query row0 + 8·r + lane. It keeps them, their results, maxima and sums in
// registers. A step takes 8 keys: each lane loads one key, and its elements are broadcast from there, for memory is
// read one lane after the other while a broadcast is one instruction. Then the weights, then values in the same way.
// W columns of the result a workgroup; W is at least the width of the keys.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_vote : require
#include "interface.glsl"
#include "rules.glsl"

layout(local_size_x = 8) in;
const uint WQ = W / 4;

shared float odd_weights[64 * ROWS];
uint D, DV, lane, col0;
vec4 q[ROWS * WQ], acc[ROWS * WQ];
float row_max[ROWS], row_sum[ROWS], s[8 * ROWS];
int first[ROWS], end[ROWS];

vec4 hole_epilogue(vec4 v) { return v; }

// Four elements from `at` on, of which `left` exist, or none.
#define QUAD(X, BIT) \
vec4 quad_##X(uint at, uint c, uint width) { \
    if (c >= width) return vec4(0.0); \
    if ((VEC & BIT) != 0u) return load4_##X(at >> 2u); \
    uint left = width - c; \
    return vec4(load_##X(at), left > 1u ? load_##X(at + 1u) : 0.0, left > 2u ? load_##X(at + 2u) : 0.0, \
                left > 3u ? load_##X(at + 3u) : 0.0); \
}
QUAD(q, 1u)
QUAD(k, 2u)
QUAD(v, 4u)

void products(uint at) {
    vec4 k[WQ];
    [[unroll]] for (uint i = 0u; i < WQ; i++) k[i] = quad_k(at + 4u * i, 4u * i, D);
    [[unroll]] for (uint c = 0u; c < 8u; c++) {
        [[unroll]] for (uint r = 0u; r < ROWS; r++) s[c * ROWS + r] = 0.0;
        [[unroll]] for (uint i = 0u; i < WQ; i++) {
            vec4 b = subgroupBroadcast(k[i], c);
            [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint r = 0u; r < ROWS; r++)
                s[c * ROWS + r] = fma(q[r * WQ + i][e], b[e], s[c * ROWS + r]);
        }
    }
}

// From products to weights; older sums and results are scaled to the new maxima.
void soften(int key0, uint row0, uint last_row) {
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        float m = row_max[r];
        uint row = min(row0 + 8u * r, last_row);
        [[unroll]] for (uint c = 0u; c < 8u; c++) {
            int key = key0 + int(c);
            bool seen = key >= first[r] && key < end[r];
            float x = score(s[c * ROWS + r]);
            if (MASK_KIND != 0u && seen) x = masked(x, row, uint(key));
            x = seen ? x : minus_inf();
            s[c * ROWS + r] = x;
            m = max(m, x);
        }
        float shrink = row_max[r] < LOWEST ? 0.0 : weight(row_max[r], m);
        row_max[r] = m;
        row_sum[r] *= shrink;
        [[unroll]] for (uint j = 0u; j < WQ; j++) acc[r * WQ + j] *= shrink;
        [[unroll]] for (uint c = 0u; c < 8u; c++) {
            float p = weight(s[c * ROWS + r], m);
            s[c * ROWS + r] = p;
            row_sum[r] += p;
        }
    }
}

void add_values(vec4 v[WQ]) {
    [[unroll]] for (uint j = 0u; j < WQ; j++) [[unroll]] for (uint e = 0u; e < 4u; e++) {
        float b[8];
        [[unroll]] for (uint c = 0u; c < 8u; c++) b[c] = subgroupBroadcast(v[j][e], c);
        [[unroll]] for (uint r = 0u; r < ROWS; r++) {
            float sum = acc[r * WQ + j][e];
            [[unroll]] for (uint c = 0u; c < 8u; c++) sum = fma(s[c * ROWS + r], b[c], sum);
            acc[r * WQ + j][e] = sum;
        }
    }
}

// Values that are not finite, times the weights that count. Rare, so short: weights go where they can be indexed.
void add_odd_values(vec4 v[WQ]) {
    [[unroll]] for (uint i = 0u; i < 8u * ROWS; i++) odd_weights[8u * i + lane] = s[i];
    [[dont_unroll]] for (uint c = 0u; c < 8u; c++) [[unroll]] for (uint j = 0u; j < WQ; j++) {
        vec4 b = subgroupBroadcast(v[j], c);
        [[unroll]] for (uint r = 0u; r < ROWS; r++) {
            float p = odd_weights[8u * (c * ROWS + r) + lane];
            acc[r * WQ + j] += floatBitsToUint(p) == NOTHING ? vec4(0.0) : p * b;
        }
    }
}

void values(uint at) {
    vec4 v[WQ], rest[WQ];
    bool odd = false;
    [[unroll]] for (uint j = 0u; j < WQ; j++) {
        v[j] = quad_v(at + 4u * j, col0 + 4u * j, DV);
        bvec4 bad = equal(floatBitsToUint(v[j]) & 0x7f800000u, uvec4(0x7f800000u));
        rest[j] = mix(vec4(0.0), v[j], bad);
        v[j] = mix(v[j], vec4(0.0), bad);
        odd = odd || any(bad);
    }
    add_values(v);
    // A loop, for both sides of a branch would be executed.
    for (bool more = subgroupAny(odd); more; more = false) add_odd_values(rest);
}

void store_row(uint r, uint row, uint at) {
    bool seen = row_sum[r] == 0.0 && sees_any(row);
    [[unroll]] for (uint j = 0u; j < WQ; j++) {
        uint col = col0 + 4u * j;
        vec4 v = acc[r * WQ + j];
        [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = divided(v[e], row_sum[r], seen);
        v = hole_epilogue(v);
        if (col >= DV) continue;
        if ((VEC & 8u) != 0u) store4_y((at + col) >> 2u, v);
        else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < DV) store_y(at + col + e, v[e]);
    }
}

void main() {
    keep_holes();
    D = arg_d(); DV = arg_dv();
    uint SQ = arg_sq(), tiles = (SQ + 8u * ROWS - 1u) / (8u * ROWS), parts = (DV + W - 1u) / W, heads = arg_hq();
    uint g = linear_group(), tile = tiles - 1u - g % tiles, rest = g / tiles, part = rest % parts;
    uint h = rest / parts % heads, b = rest / parts / heads, kh = h / arg_group();
    if (b >= arg_batches()) return;
    lane = gl_LocalInvocationID.x;
    col0 = part * W;
    uint tile_row = tile * 8u * ROWS, row0 = tile_row + lane, last_row = min(tile_row + 8u * ROWS, SQ) - 1u;
    place_keys(b, h);
    uint q_base = arg_q_at() + b * arg_q_b() + h * arg_q_h();
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        uint row = min(row0 + 8u * r, last_row);
        first[r] = first_key(row);
        end[r] = end_key(row);
        row_max[r] = minus_inf();
        row_sum[r] = 0.0;
        [[unroll]] for (uint i = 0u; i < WQ; i++) {
            q[r * WQ + i] = quad_q(q_base + row * arg_q_row() + 4u * i, 4u * i, D);
            acc[r * WQ + i] = vec4(0.0);
        }
    }
    uint k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h(), k_row = arg_k_row();
    uint v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h() + col0, v_row = arg_v_row();
    int last_end = end_key(last_row);
    for (int key0 = first_key(tile_row); key0 < last_end; key0 += 8) {
        uint key = uint(min(key0 + int(lane), last_end - 1));
        products(k_base + key * k_row);
        soften(key0, row0, last_row);
        values(v_base + key * v_row);
    }
    uint y_base = b * arg_y_b() + h * arg_y_h(), y_row = arg_y_row();
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        uint row = row0 + 8u * r;
        if (row < SQ) store_row(r, row, y_base + row * y_row);
    }
}
