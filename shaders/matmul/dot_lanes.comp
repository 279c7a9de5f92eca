#version 460
// y[b, m, n] = hole(sum over k of a[b, m, k] · b[b, k, n]) for few rows m, where b lies along k (a weight of [n, k]): for devices,
// CPUs first of all, that read for one lane after the other.
//
// The 8 threads of a workgroup are a subgroup and make one row of 32 columns. Of 256 terms each takes 32, of one column after the
// other: its terms of a are read once, and b in the order in which it lies, where a processor reads ahead. Four chains of 8 terms
// are a thread's sum of a column; those of the threads are added by shuffles, 32 such sums one after the other, and then these, so
// that a term passes 109 additions at most for k up to 524,288; longer ones are not taken. Terms and columns outside are read from
// inside and count nothing.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "product_interface.glsl"
#include "matrix_slots.glsl"

layout(local_size_x = 8) in;
const uint RUN = 32, STEP = 8 * RUN, STEPS = 32;

uint K;
vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

// Four terms from k on, at `at + k * stride`; `quads`: they are one read. Those from K on are 0.
#define QUAD(X, QUADS) \
vec4 quad_##X(uint at, uint stride, uint k) { \
    if (QUADS) return k < K ? rounded_##X(load4_##X(at + k >> 2u)) : vec4(0.0); \
    vec4 v = vec4(0.0); \
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (k + e < K) v[e] = rounded_##X(load_##X(at + (k + e) * stride)); \
    return v; \
}
QUAD(a, A_MODE == 1u)
QUAD(b, B_MODE == 1u)

// The sum of a thread's terms of one column.
float run(vec4 a[8], uint at, uint stride, uint k) {
    vec4 sum = vec4(0.0);
    if (T_b >= 16u && B_MODE == 1u) {
        block_reads = k < K;
        Run run = block_run(at + min(k, K - RUN));
        [[unroll]] for (uint q = 0u; q < 8u; q++) sum = fma(a[q], rounded_b(run_quad(run, q)), sum);
    } else [[unroll]] for (uint q = 0u; q < 8u; q++) sum = fma(a[q], quad_b(at, stride, k + 4u * q), sum);
    return k < K ? (sum.x + sum.y) + (sum.z + sum.w) : 0.0;
}

vec4 over_threads(vec4 v) {
    [[unroll]] for (uint bit = 1u; bit < 8u; bit *= 2u) v += subgroupShuffle(v, gl_SubgroupInvocationID ^ bit);
    return v;
}

#include "store_quad.glsl"

void main() {
    keep_holes();
    uint M = arg_m(), N = arg_n(), thread = gl_SubgroupInvocationID;
    K = arg_k();
    uint tiles_n = (N + RUN - 1u) / RUN, group = linear_group();
    uint tile_n = group % tiles_n, row = group / tiles_n % M, batch = group / tiles_n / M;
    if (batch >= arg_batches()) return;
    uint outer = batch / arg_inner(), inner = batch % arg_inner();
    uint a_at = arg_a_at() + outer * arg_a_b0() + inner * arg_a_b1() + row * arg_a_row(), a_col = arg_a_col();
    uint b_at = arg_b_at() + outer * arg_b_b0() + inner * arg_b_b1(), b_row = arg_b_row(), b_col = arg_b_col();
    uint first = tile_n * RUN, quads = min((N - first + 3u) / 4u, 8u);
    // Of quad `thread` of the columns.
    vec4 steps = vec4(0.0), total = vec4(0.0);
    for (uint k2 = 0u; k2 < K; k2 += STEPS * STEP) {
        for (uint k1 = k2; k1 < min(k2 + STEPS * STEP, K); k1 += STEP) {
            uint k = k1 + RUN * thread;
            vec4 a[8];
            [[unroll]] for (uint q = 0u; q < 8u; q++) a[q] = quad_a(a_at, a_col, k + 4u * q);
            [[dont_unroll]] for (uint quad = 0u; quad < quads; quad++) {
                vec4 v;
                [[unroll]] for (uint e = 0u; e < 4u; e++)
                    v[e] = run(a, b_at + min(first + 4u * quad + e, N - 1u) * b_col, b_row, k);
                v = over_threads(v);
                if (thread == quad) steps += v;
            }
        }
        total += steps;
        steps = vec4(0.0);
    }
    slot_columns = N;
    place_slots(outer, inner);
    uint col = first + 4u * thread;
    if (col >= N) return;
    uint at = arg_y_at() + outer * arg_y_b0() + inner * arg_y_b1() + row * arg_y_row() + col;
    store_quad(at, N - col, hole_epilogue(total, batch, row, col));
}
