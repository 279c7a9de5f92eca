#version 460
// t[o, p, c] = sum of dy * (x - mean) * inverse, d[o, p, c] = sum of dy, over the p-th OF_RUN rows of [red, inner].
// A workgroup is COLUMNS x (256 / COLUMNS) threads: four columns a thread, rows 256 / COLUMNS apart, four in flight. A
// run has 512 rows at most, so a thread 128.
#include "interface.glsl"
#include "statistics.glsl"
layout(local_size_x = 256) in;

const uint LANES = 256u / COLUMNS;
shared vec4 part_t[256];
shared vec4 part_d[256];
uint inner;

QUADS(x)
QUADS(dy)

void save(uint at, uint left, vec4 t, vec4 d) {
    if (VEC == 1u) {
        store4_t(at >> 2u, t);
        store4_d(at >> 2u, d);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        if (e < left) {
            store_t(at + e, t[e]);
            store_d(at + e, d[e]);
        }
    }
}

void main() {
    inner = arg_inner();
    uint red = arg_red(), run = arg_of_run();
    uint blocks = (inner + 4u * COLUMNS - 1u) / (4u * COLUMNS), runs = (red + run - 1u) / run, group = linear_group();
    if (group >= arg_outer() * runs * blocks) return;
    uint result = group / blocks, block = group - result * blocks, outer = result / runs;
    uint begin = (result - outer * runs) * run, end = min(begin + run, red);
    uint t = gl_LocalInvocationID.x, lane = t / COLUMNS, c = 4u * (block * COLUMNS + t % COLUMNS);
    uint first = outer * red * inner + c, left = inner - c;

    vec4 turned = vec4(0.0), plain = vec4(0.0);
    if (c < inner) {
        Statistics s;
        if (ALONG == 0u) s = statistics(outer);
        if (ALONG == 2u) s = statistics4(c, left);
        for (uint r = begin + lane; r < end; r += 4u * LANES) {
            vec4 x[4], dy[4];
            [[unroll]] for (uint u = 0u; u < 4u; u++) {
                uint at = first + min(r + LANES * u, end - 1u) * inner;
                x[u] = quad_x(at, left);
                dy[u] = quad_dy(at, left);
            }
            [[unroll]] for (uint u = 0u; u < 4u; u++) {
                if (r + LANES * u < end) {
                    if (ALONG == 1u) s = statistics(r + LANES * u);
                    turned += dy[u] * ((x[u] - s.mean) * s.inverse);
                    plain += dy[u];
                }
            }
        }
    }
    part_t[t] = turned;
    part_d[t] = plain;
    barrier();
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        if (lane < s) {
            part_t[t] += part_t[t + s * COLUMNS];
            part_d[t] += part_d[t + s * COLUMNS];
        }
        barrier();
    }
    if (lane == 0u && c < inner) save(result * inner + c, left, part_t[t], part_d[t]);
}
