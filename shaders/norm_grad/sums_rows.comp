#version 460
// t[r, p] = sum of dy * (x - mean) * inverse, d[r, p] = sum of dy, over the p-th OF_RUN elements of row r. LANES threads
// share a run, 256 / LANES runs a workgroup; a lane takes quads 4 * LANES apart, four in flight. A run has 512 elements
// at most.
#include "interface.glsl"
#include "statistics.glsl"
layout(local_size_x = 256) in;

shared vec2 part[256];

QUADS(x)
QUADS(dy)

float sum4(vec4 v) { return (v.x + v.y) + (v.z + v.w); }

void main() {
    uint n = arg_n(), run = arg_of_run(), runs = (n + run - 1u) / run;
    uint t = gl_LocalInvocationID.x, lane = t % LANES, result = linear_group() * (256u / LANES) + t / LANES;
    bool live = result < arg_rows() * runs;
    uint row = live ? result / runs : 0u;
    uint begin = live ? (result - row * runs) * run : 0u, end = live ? min(begin + run, n) : 0u, first = row * n;

    vec4 turned = vec4(0.0), plain = vec4(0.0);
    Statistics s;
    if (ALONG == 0u && begin + 4u * lane < end) s = statistics(row);
    for (uint c = begin + 4u * lane; c < end; c += 16u * LANES) {
        vec4 x[4], dy[4];
        [[unroll]] for (uint u = 0u; u < 4u; u++) {
            uint col = c + 4u * LANES * u;
            if (col >= end) col = c;
            x[u] = quad_x(first + col, end - col);
            dy[u] = quad_dy(first + col, end - col);
        }
        [[unroll]] for (uint u = 0u; u < 4u; u++) {
            uint col = c + 4u * LANES * u;
            if (col < end) {
                if (ALONG == 1u) s = statistics4(col, end - col);
                vec4 h = (x[u] - s.mean) * s.inverse;
                bvec4 there = lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(end - col));
                turned += mix(vec4(0.0), dy[u] * h, there);
                plain += dy[u];
            }
        }
    }
    part[t] = vec2(sum4(turned), sum4(plain));
    barrier();
    for (uint step = LANES / 2u; step > 0u; step >>= 1u) {
        if (lane < step) part[t] += part[t + step];
        barrier();
    }
    if (lane == 0u && live) {
        store_t(result, part[t].x);
        store_d(result, part[t].y);
    }
}
