// 64-bit integers as two words, low first, without the 64-bit integer feature. Arithmetic wraps.

uvec2 wide_add(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 wide_neg(uvec2 a) { return wide_add(~a, uvec2(1u, 0u)); }

uvec2 wide_mul(uvec2 a, uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}

bool wide_less(uvec2 a, uvec2 b, bool is_signed) {
    uint flip = is_signed ? 0x80000000u : 0u;
    return a.y == b.y ? a.x < b.x : (a.y ^ flip) < (b.y ^ flip);
}

// A signed 32-bit number.
uvec2 wide_of(int v) { return uvec2(uint(v), uint(v >> 31)); }

// Quotient of unsigned a by d > 0, bit by bit.
uvec2 wide_div(uvec2 a, uint d) {
    uint rest = 0u;
    uvec2 q = uvec2(0u);
    for (int i = 63; i >= 0; i--) {
        uint carry = rest >> 31u;
        rest = rest << 1u | (a[i >> 5] >> (i & 31) & 1u);
        if (carry != 0u || rest >= d) {
            rest -= d;
            q[i >> 5] |= 1u << (i & 31);
        }
    }
    return q;
}
