#version 460
// y[n, c, p] = hole(reduce over the taps of x[n, c, window(p, t)]); what lies outside takes no part.
// A thread has four neighbouring positions. Sums are chains of 128 terms, then pairs (pairs.glsl).
#include "interface.glsl"
#include "divide.glsl"
#include "window.glsl"
#include "pairs.glsl"
layout(local_size_x = 64) in;

const bool SUMS = OP < 2u;
uint slot_columns, slot_base[4], slot_step[4];
vec4 acc[1];

vec4 identity() { return vec4(SUMS ? 0.0 : OP == 4u ? 1.0 : OP == 2u ? uintBitsToFloat(0xff800000u) : uintBitsToFloat(0x7f800000u)); }
float join(float a, float b) { return SUMS ? a + b : OP == 4u ? a * b : OP == 2u ? max_nan(a, b) : min_nan(a, b); }
vec4 join(vec4 a, vec4 b) { return vec4(join(a.x, b.x), join(a.y, b.y), join(a.z, b.z), join(a.w, b.w)); }
PAIRS(vec4, 1, 12u, acc, join, identity())

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

uvec4 slotload_epilogue(uint slot, uint batch, uint row, uint col) {
    uint step = slot_step[slot], at = slot_base[slot] + col * step, last = slot_columns - 1u - col;
    if (step == 0u) return uvec4(slot_raw(slot, at));
    return uvec4(slot_raw(slot, at), slot_raw(slot, at + step * min(1u, last)),
                 slot_raw(slot, at + step * min(2u, last)), slot_raw(slot, at + step * min(3u, last)));
}

void slotstore_epilogue(uint slot, uint batch, uint row, uint col, uvec4 bits) {
    uint step = slot_step[slot], at = slot_base[slot] + col * step, last = slot_columns - 1u - col;
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (e <= last) slot_store_raw(slot, at + step * e, bits[e]);
}

void main() {
    keep_holes();
    uint positions = arg_out(0) * arg_out(1) * arg_out(2), channels = arg_channels(), quads = (positions + 3u) / 4u;
    uint t = linear_group() * 64u + gl_LocalInvocationID.x;
    if (t >= arg_batches() * channels * quads) return;
    uint quad, c, n = divide(divide(t, quads, quad), channels, c);
    place_window(4u * quad, positions);
    uvec3 end = uvec3(arg_end(0), arg_end(1), arg_end(2));
    uint from = arg_x_at() + n * arg_x_n() + c * arg_x_c(), terms = taps.x * taps.y * taps.z;
    uvec4 counted = uvec4(0u);
    acc[0] = identity();
    for (uint k = 0u; k < terms;) {
        uint chain_end = min(k + 128u, terms);
        for (; k < chain_end; k++) {
            [[unroll]] for (uint e = 0u; e < 4u; e++) {
                ivec3 at = origin[e] + reach;
                bool inside = is_inside(at);
                if (PADDED != 0u ? all(lessThan(at, ivec3(end))) : inside) counted[e]++;
                if (inside)
                    acc[0][e] = join(acc[0][e], load_x(from + uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h() + uint(at.z) * arg_x_w()));
            }
            next_tap();
        }
        if (k < terms) carry();
    }
    join_pairs();
    slot_columns = positions;
    [[unroll]] for (uint s = 0u; s < 4u; s++) {
        slot_base[s] = arg_slot_at(s) + n * arg_slot_b0(s) + c * arg_slot_row(s);
        slot_step[s] = arg_slot_col(s);
    }
    vec4 v = OP == 1u ? acc[0] / vec4(counted) : acc[0];
    v = hole_epilogue(v, n, c, 4u * quad);
    uint at = arg_y_at() + n * arg_y_n() + c * arg_y_c() + 4u * quad, left = positions - 4u * quad;
    if (VEC_Y != 0u) store4_y(at >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (e < left) store_y(at + e, v[e]);
}
