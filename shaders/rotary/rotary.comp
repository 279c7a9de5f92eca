#version 460
// y1 = c x1 - s x2, y2 = s x1 + c x2 for the pairs of the first N_ROT elements of each head; the rest is copied.
// One thread a pair or a copied element; pairs of a head side by side, then its rest, then heads, rows, batches.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

#include "factors.glsl"

float hole_epilogue(float v, uint batch, uint row, uint head, uint col) { return v; }

// cos and sin of 2 pi turns / 2^32, by quadrant and Taylor polynomials on [-pi/4, pi/4].
vec2 circle(uint turns) {
    uint quadrant = (turns + 0x20000000u) >> 30u;
    float a = float(int(turns - (quadrant << 30u))) * 1.46291807926715968e-9;
    float w = a * a;
    float s = a * (1.0 + w * (-0.166666667 + w * (8.33333333e-3 + w * (-1.98412698e-4 + w * 2.75573192e-6))));
    float c = 1.0 + w * (-0.5 + w * (0.0416666667 + w * (-1.38888889e-3 + w * (2.48015873e-5 - w * 2.75573192e-7))));
    quadrant &= 3u;
    vec2 cs = (quadrant & 1u) == 0u ? vec2(c, s) : vec2(-s, c);
    return quadrant >= 2u ? -cs : cs;
}

// Whether the position of row s is negative; its size, which may pass 2^31.
bool position_of(uint b, uint s, out uint size) {
    // One position for all rows is that of the first.
    int first = POSITION == 0u ? arg_base() : int(loadu_positions(b * arg_pos_batch() + s * PER_ROW));
    size = POSITION == 1u && PER_ROW == 1u ? uint(first) : uint(first) + s;
    bool negative = first < 0 && int(size) < 0;
    if (negative) size = 0u - size;
    return negative;
}

// Fraction of position * turns as 32 bits: turns are 64-bit fixed point, so the product is exact modulo one turn.
uint turn(uint b, uint s, uvec2 f) {
    uint p, high, low;
    bool negative = position_of(b, s, p);
    umulExtended(f.x, p, high, low);
    high += f.y * p;
    // To nearest; a negative position turns the other way.
    uint t = high + (low >> 31u);
    return negative ? 0u - t : t;
}

// (cos, sin) of pair i.
vec2 angle(uint b, uint s, uint h, uint i) {
    uint half_rot = N_ROT / 2u, line;
    if (SOURCE == 2u) return arg_attn() * circle(turn(b, s, loadu2_cos(i)));
    if (SOURCE == 3u) {
        uvec2 f;
        if (!over_factor(i, f)) return vec2(uintBitsToFloat(0x7fc00000u));
        return arg_attn() * circle(turn(b, s, f));
    }
    if (SOURCE == 1u) {
        line = b * arg_table() + s;
    } else {
        if (position_of(b, s, line) || line >= arg_table()) {
            if (h == 0u && i == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), b * arg_seq() + s);
            return vec2(0.0);
        }
    }
    return arg_attn() * vec2(load_cos(line * half_rot + i), load_sin(line * half_rot + i));
}

void main() {
    keep_holes();
    uint half_rot = N_ROT / 2u, units = DIM - half_rot, heads = arg_heads(), seq = arg_seq();
    uint t = linear_group() * 256u + gl_LocalInvocationID.x;
    uint i, h, s, line = divide(t, units, i), above = divide(line, heads, h), b = divide(above, seq, s);
    if (b >= arg_batch()) return;
    uint x = arg_x_offset() + b * arg_x_batch() + s * arg_x_seq() + h * arg_x_head();
    uint y = b * arg_y_batch() + s * arg_y_seq() + h * arg_y_head();
    if (i >= half_rot) {
        uint d = i + half_rot;
        store_y(y + d, hole_epilogue(load_x(x + d), b, s, h, d));
        return;
    }
    uint d1 = INTERLEAVED == 1u ? 2u * i : i, d2 = INTERLEAVED == 1u ? d1 + 1u : i + half_rot;
    vec2 cs = angle(b, s, h, i);
    float x1 = load_x(x + d1), x2 = load_x(x + d2);
    store_y(y + d1, hole_epilogue(cs.x * x1 - cs.y * x2, b, s, h, d1));
    store_y(y + d2, hole_epilogue(cs.y * x1 + cs.x * x2, b, s, h, d2));
}
