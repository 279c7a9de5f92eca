#version 460
// y[n, g, o, p] = hole(sum over channels and taps of w[g, o, c, t] · x[n, g, c, window(p, t)]), for groups of few channels.
//
// A thread has four neighbouring positions of a line, of MR outputs. Of each line of the operand under the window it keeps
// what these positions need, so that every element is read once: from SHIFT elements before the first tap of the first
// position on, SQ quads at most. VEC_X 1: that is a multiple of four elements from the line's first one, and quads lie either
// inside or outside. What lies outside counts as zero, so that an infinite weight there gives NaN.
// Terms are summed line by line: chains of at most 128, then pairs (pairs.glsl).
#include "interface.glsl"
#include "matrix_slots.glsl"
#include "divide.glsl"
#include "pairs.glsl"
layout(local_size_x = 64) in;

const uint NEEDED = SHIFT + 3u * STEP_W + TAPS_W, TW = 4u * SQ - 6u; // no line has more taps
vec4 acc[MR], line[SQ];
PAIRS(vec4, MR, 12u, acc, ADD, vec4(0.0))

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

void read_line(uint from, int first, bool is_there) {
    uint extent = arg_extent(2), step = arg_x_w();
    [[unroll]] for (uint q = 0u; q < SQ; q++) {
        if (4u * q >= NEEDED) continue;
        vec4 v = vec4(0.0);
        int at = first + int(4u * q);
        if (VEC_X != 0u) {
            if (is_there && uint(at) < extent) v = load4_x((from + uint(at)) >> 2u);
        } else [[unroll]] for (uint e = 0u; e < 4u; e++) {
            uint place = uint(at + int(e));
            if (4u * q + e < NEEDED && is_there && place < extent) v[e] = load_x(from + place * step);
        }
        line[q] = rounded_x(v);
    }
}

float kept(uint i) { return line[i / 4u][i % 4u]; }

void add_line(uint weight, uint rows) {
    [[unroll]] for (uint t = 0u; t < TW; t++) {
        if (t >= TAPS_W) continue;
        uint i = SHIFT + t;
        vec4 v = vec4(kept(i), kept(i + STEP_W), kept(i + 2u * STEP_W), kept(i + 3u * STEP_W));
        [[unroll]] for (uint r = 0u; r < MR; r++) {
            float w = rounded_w(load_w(weight + min(r, rows - 1u) * arg_w_o() + t * arg_w_tap()));
            acc[r] = fma(vec4(w), v, acc[r]);
        }
    }
}

void main() {
    keep_holes();
    uvec3 size = uvec3(arg_out(0), arg_out(1), arg_out(2));
    uint quads = (size.z + 3u) / 4u, outputs = arg_outputs(), groups = arg_groups(), blocks = (outputs + MR - 1u) / MR;
    uint number = linear_group() * 64u + gl_LocalInvocationID.x;
    if (number >= arg_batches() * groups * blocks * size.x * size.y * quads) return;
    uint quad, block, g, y, z, rest = divide(number, quads, quad);
    rest = divide(rest, size.y, y);
    rest = divide(rest, size.x, z);
    rest = divide(rest, blocks, block);
    uint n = divide(rest, groups, g), row = MR * block, rows = min(MR, outputs - row);
    int first = int(4u * STEP_W * quad) - arg_begin(2) - int(SHIFT);
    ivec2 origin = ivec2(z * arg_step(0), y * arg_step(1)) - ivec2(arg_begin(0), arg_begin(1));
    uint from = arg_x_at() + n * arg_x_n() + g * arg_x_g(), weight = arg_w_at() + g * arg_w_g() + row * arg_w_o();
    uvec2 tap = uvec2(0u), taps = uvec2(arg_kernel(0), arg_kernel(1)), extent = uvec2(arg_extent(0), arg_extent(1));
    uint channel = 0u, lines = arg_channels() * taps.x * taps.y, in_chain = 0u;
    [[unroll]] for (uint r = 0u; r < MR; r++) acc[r] = vec4(0.0);
    for (uint k = 0u; k < lines; k++) {
        if (in_chain + TAPS_W > 128u) {
            carry();
            in_chain = 0u;
        }
        in_chain += TAPS_W;
        ivec2 at = origin + ivec2(tap) * ivec2(arg_dilation(0), arg_dilation(1));
        bool is_there = all(lessThan(uvec2(at), extent));
        read_line(from + channel * arg_x_c() + uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h(), first, is_there);
        add_line(weight + channel * arg_w_c() + (tap.x * taps.y + tap.y) * TAPS_W * arg_w_tap(), rows);
        tap.y++;
        if (tap.y < taps.y) continue;
        tap.y = 0u;
        tap.x++;
        if (tap.x < taps.x) continue;
        tap.x = 0u;
        channel++;
    }
    join_pairs();
    uint begin = (z * size.y + y) * size.z, left = size.z - 4u * quad, col = begin + 4u * quad;
    slot_columns = begin + size.z;
    place_slots(n, g);
    uint y_at = arg_y_at() + n * arg_y_n() + g * arg_y_g() + row * arg_y_o() + col;
    vec4 sums[MR];
    [[unroll]] for (uint r = 0u; r < MR; r++) sums[r] = acc[r];
    [[dont_unroll]] for (uint r = 0u; r < rows; r++) {
        vec4 v = hole_epilogue(sums[r], n * groups + g, row + r, col);
        uint to = y_at + r * arg_y_o();
        if (VEC_Y != 0u) store4_y(to >> 2u, v);
        else [[unroll]] for (uint e = 0u; e < 4u; e++) if (e < left) store_y(to + e, v[e]);
    }
}
