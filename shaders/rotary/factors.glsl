// Turns of a pair over its factor, as 64-bit fixed point modulo one turn: integer division, so that nothing rounds but the
// 55th bit.

// v * 2^k modulo 2^64.
uvec2 shifted(uvec2 v, int k) {
    if (k >= 64 || k <= -64) return uvec2(0u);
    if (k >= 32) {
        v = uvec2(0u, v.x);
        k -= 32;
    } else if (k <= -32) {
        v = uvec2(v.y, 0u);
        k += 32;
    }
    if (k > 0) return uvec2(v.x << k, v.y << k | v.x >> (32 - k));
    if (k < 0) return uvec2(v.x >> -k | v.y << (32 + k), v.y >> -k);
    return v;
}

// m * 2^16 / by, by of 24 bits: a byte at a time.
uvec2 divided(uvec2 m, uint by) {
    uvec2 q = uvec2(0u);
    uint rest = 0u;
    [[unroll]] for (uint at = 0u; at < 10u; at++) {
        uint digit = at < 4u ? m.y >> (24u - 8u * at) : at < 8u ? m.x >> (56u - 8u * at) : 0u;
        rest = rest << 8u | digit & 255u;
        q = uvec2(q.x << 8u | rest / by, q.y << 8u | q.x >> 24u);
        rest %= by;
    }
    return q;
}

// Whether there is such a frequency: a factor is neither 0 nor NaN.
bool over_factor(uint i, out uvec2 turns) {
    uvec4 base = loadu4_cos(i);
    uint factor = loadu_sin(i), fraction = factor & 0x7fffffu;
    int exponent = int(factor >> 23u & 255u);
    turns = uvec2(0u);
    if (exponent == 255) return fraction == 0u;
    if (exponent == 0) {
        if (fraction == 0u) return false;
        int up = 23 - findMSB(fraction);
        fraction <<= up;
        exponent = 1 - up;
    }
    turns = shifted(divided(base.xy, fraction | 0x800000u), int(base.z) - exponent + 198);
    if ((factor >> 31u ^ base.w) != 0u) turns = uvec2(0u - turns.x, ~turns.y + (turns.x == 0u ? 1u : 0u));
    return true;
}
