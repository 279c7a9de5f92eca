#version 460
// y = epilogue(softmax(scores) · v) in registers, without shared memory: for devices, CPUs first of all, where it is no
// nearer than memory.
//
// Each of the 8 threads of a workgroup owns ROWS queries of one head, query row0 + 8·r + thread, with their results,
// maxima and sums; keys and values are the same for all threads. A step takes KEYS keys. W columns of the result a
// workgroup; W is at least the width of the keys. No branch is worth its while: both sides would be executed.
// With SHUFFLE each thread reads every eighth quad of a key or value and hands it to the others: on lavapipe a read is two
// hundred instructions, a shuffle one. Sums are chains of 64 keys, chains of 64 of those, a chain of these: arrays that no
// variable indexes, since lavapipe reads others one thread at a time. A key has at most W elements, which is one chain.
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "interface.glsl"
#include "rules.glsl"

layout(local_size_x = 8) in;
const uint WQ = W / 4;

uint D, DV, col0;
vec4 q[ROWS * WQ], acc[ROWS * WQ];
float row_max[ROWS], row_sum[ROWS], s[KEYS * ROWS];
int first[ROWS], end[ROWS];
bool counts[KEYS * ROWS];

vec4 hole_epilogue(vec4 v) { return v; }

#include "quads.glsl"
#include "lanes_operands.glsl"
#include "lanes_chains.glsl"

void products(int key0, int last) {
    fetch_k(key0, last);
    [[unroll]] for (uint c = 0u; c < KEYS; c++) {
        [[unroll]] for (uint r = 0u; r < ROWS; r++) s[c * ROWS + r] = 0.0;
        [[unroll]] for (uint i = 0u; i < WQ; i++) {
            vec4 k = k_at(key0, last, c, i);
            [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint r = 0u; r < ROWS; r++)
                s[c * ROWS + r] = fma(q[r * WQ + i][e], k[e], s[c * ROWS + r]);
        }
    }
}

// From products to weights; older sums and results are scaled to the new maxima.
void soften(int key0, uint row0, uint last_row) {
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        float m = row_max[r];
        uint row = min(row0 + 8u * r, last_row);
        [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            int key = key0 + int(c);
            bool seen = key >= first[r] && key < end[r];
            float x = score(s[c * ROWS + r]);
            if (MASK_KIND != 0u && seen) seen = allows(row, uint(key), x);
            counts[c * ROWS + r] = seen;
            x = seen ? x : minus_inf();
            s[c * ROWS + r] = x;
            m = max(m, x);
        }
        float shrink = weight(row_max[r], m);
        row_max[r] = m;
        row_sum[r] *= shrink;
        [[unroll]] for (uint j = 0u; j < WQ; j++) acc[r * WQ + j] *= shrink;
        [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            float p = weight(s[c * ROWS + r], m);
            s[c * ROWS + r] = p;
            row_sum[r] += p;
        }
    }
}

// A value that a query must not see has no effect, whatever it is.
void add_values(int key0, int last) {
    fetch_v(key0, last);
    [[unroll]] for (uint j = 0u; j < WQ; j++) {
        vec4 v[KEYS];
        [[unroll]] for (uint c = 0u; c < KEYS; c++) v[c] = v_at(key0, last, c, j);
        [[unroll]] for (uint r = 0u; r < ROWS; r++) [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            float p = s[c * ROWS + r];
            vec4 sum = fma(vec4(p), v[c], acc[r * WQ + j]);
            acc[r * WQ + j] = counts[c * ROWS + r] ? sum : acc[r * WQ + j];
        }
    }
}

void store_row(uint r, uint row, uint at) {
    bool seen = whole_sum[r] == 0.0 && sees_any(row);
    [[unroll]] for (uint j = 0u; j < WQ; j++) {
        uint col = col0 + 4u * j;
        vec4 v = whole[r * WQ + j];
        [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = divided(v[e], whole_sum[r], seen);
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
    col0 = part * W;
    uint tile_row = tile * 8u * ROWS, row0 = tile_row + gl_LocalInvocationID.x, last_row = min(tile_row + 8u * ROWS, SQ) - 1u;
    place_keys(b, h);
    uint q_base = arg_q_at() + b * arg_q_b() + h * arg_q_h();
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        uint row = min(row0 + 8u * r, last_row);
        first[r] = first_key(row);
        end[r] = end_key(row);
        row_max[r] = minus_inf();
        row_sum[r] = 0.0;
        chains_max[r] = minus_inf();
        chains_sum[r] = 0.0;
        whole_max[r] = minus_inf();
        whole_sum[r] = 0.0;
        [[unroll]] for (uint i = 0u; i < WQ; i++) {
            q[r * WQ + i] = quad_q(q_base + row * arg_q_row() + 4u * i, 4u * i, D);
            acc[r * WQ + i] = vec4(0.0);
            chains[r * WQ + i] = vec4(0.0);
            whole[r * WQ + i] = vec4(0.0);
        }
    }
    k_base = arg_k_at() + b * arg_k_b() + kh * arg_k_h(); k_row = arg_k_row();
    v_base = arg_v_at() + b * arg_v_b() + kh * arg_v_h() + col0; v_row = arg_v_row();
    int last = end_key(last_row) - 1;
    for (int key0 = first_key(tile_row); key0 <= last;) {
        for (int chains_end = key0 + CHAINS; key0 < chains_end && key0 <= last;) {
            for (int chain_end = key0 + CHAIN; key0 < chain_end && key0 <= last; key0 += int(KEYS)) {
                products(key0, last);
                soften(key0, row0, last_row);
                add_values(key0, last);
            }
            JOIN(chains, chains_sum, chains_max, acc, row_sum, row_max)
        }
        JOIN(whole, whole_sum, whole_max, chains, chains_sum, chains_max)
    }
    uint y_base = b * arg_y_b() + h * arg_y_h(), y_row = arg_y_row();
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        uint row = row0 + 8u * r;
        if (row < SQ) store_row(r, row, y_base + row * y_row);
    }
}
