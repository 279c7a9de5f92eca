#version 460
// y[n, g, o, p] = hole(sum over channels and the taps t of p's phase of w[g, o, c, t] · x[n, g, c, i]): a transposed
// convolution (phases.glsl). A thread has four neighbouring positions of a phase, of MR outputs.
#include "interface.glsl"
#include "divide.glsl"
#include "taps.glsl"
#include "pairs.glsl"
#include "phases.glsl"
#include "sums.glsl"
layout(local_size_x = 64) in;

const uint QUADS = 0u, VEC_Y = 0u;
uint N;
#include "places.glsl"

Phase phase;

uint tap_number() { return number_of_tap(phase, tap); }

void place(uint quad) {
    extent = ALONG(arg_extent);
    taps = phase.taps;
    tap_step = ivec3(arg_hop(0), arg_hop(1), arg_hop(2));
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uvec3 q = position_of(phase, min(4u * quad + e, N - 1u));
        origin[e] = phase.origin + ivec3(q);
        place_of[e] = place_in_result(phase, q);
    }
    first_tap();
}

void main() {
    keep_holes();
    uvec3 most = most_along(), phases = phases_along();
    uint quads = (most.x * most.y * most.z + 3u) / 4u, outputs = arg_outputs(), groups = arg_groups();
    uint blocks = (outputs + MR - 1u) / MR, all = phases.x * phases.y * phases.z;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * groups * blocks * all * quads) return;
    uint quad, number, block, line = divide(t, quads, quad);
    line = divide(line, all, number);
    line = divide(line, blocks, block);
    uint n = divide(line, groups, group), row = MR * block, rows = min(MR, outputs - row);
    phase = phase_of(number);
    N = phase.size.x * phase.size.y * phase.size.z;
    if (4u * quad >= N) return;
    batch_of = uvec4(n);
    place(quad);
    sum_terms(arg_channels(), arg_x_at() + n * arg_x_n() + group * arg_x_g(),
              arg_w_at() + group * arg_w_g() + row * arg_w_o(), rows);
    vec4 sums[MR];
    [[unroll]] for (uint i = 0u; i < MR; i++) sums[i] = acc[i];
    [[dont_unroll]] for (uint i = 0u; i < rows; i++) put_places(row + i, 4u * quad, sums[i]);
}
