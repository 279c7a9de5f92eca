// How an attention on matrix units stages queries, keys and values: as halves, rows of W. Values that are not
// finite are left out, and `odd` says that there are some.
//
// In: the constants and variables of units.comp.

// A quad as halves; where it is stored as what it is rounded to, as it lies there.
#define HALVES(X, BIT, FULL, AS_STORED) \
uvec2 halves_##X(uint at, uint c, uint width) { \
    if (AS_STORED && (VEC & (BIT | FULL)) == (BIT | FULL)) return loadu2_##X(at >> 2u); \
    return halves(stored_quad_##X(at, c, width)); \
}
HALVES(q, 1u, 16u, false)
HALVES(k, 2u, 16u, T_k != 0u && T_k == ROUND)
HALVES(v, 4u, 32u, T_v != 0u && T_v == ROUND)

// Rows `from` on, those from `end` on being copies of the last, which nothing uses.
#define STAGE(X, PITCH, WIDTH) \
void stage_##X(uint from, uint end) { \
    uint pitch = PITCH; \
    [[unroll]] for (uint i = 0u; i < BK * W / 4u / NT; i++) { \
        uint e = gl_SubgroupID * 32u + gl_SubgroupInvocationID + i * NT, r = e / (W / 4u), c = e % (W / 4u) * 4u; \
        stage[r * LS + c / 4u] = kept_##X(halves_##X(X##_base + min(from + r, end - 1u) * pitch + c, c, WIDTH)); \
    } \
}
uvec2 kept_q(uvec2 quad) { return quad; }
uvec2 kept_k(uvec2 quad) { return quad; }

const uint LARGEST = ROUND == ROUND_BF16 ? 0x7f80u : 0x7c00u; // the exponent of what is not finite

bvec4 are_finite(uvec2 quad) { return notEqual(split_halves(quad) & LARGEST, uvec4(LARGEST)); }

uvec2 kept_v(uvec2 quad) {
    bvec4 finite = are_finite(quad);
    if (!all(finite)) odd = 1u;
    return quad & mask(finite);
}
STAGE(q, arg_q_row(), D)
STAGE(k, arg_k_row(), D)
STAGE(v, arg_v_row(), DV)
