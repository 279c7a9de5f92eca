// quad_q, quad_k, quad_v: elements c to c + 3 of a row of `width`, rounded, the first of them at `at`; what lies outside is 0.
// Bits 0 to 2 of VEC: quads of q, k, v are aligned and whole. Bits 4, 5: d, dv are multiples of the tile's columns.
#define QUAD(X, BIT, FULL) \
vec4 stored_quad_##X(uint at, uint c, uint width) { \
    if ((VEC & (BIT | FULL)) == (BIT | FULL)) return load4_##X(at >> 2u); \
    if (c >= width) return vec4(0.0); \
    if ((VEC & BIT) != 0u) return load4_##X(at >> 2u); \
    uint left = width - c; \
    return vec4(load_##X(at), left > 1u ? load_##X(at + 1u) : 0.0, left > 2u ? load_##X(at + 2u) : 0.0, \
                left > 3u ? load_##X(at + 3u) : 0.0); \
} \
vec4 quad_##X(uint at, uint c, uint width) { return rounded_##X(stored_quad_##X(at, c, width)); }
QUAD(q, 1u, 16u)
QUAD(k, 2u, 16u)
QUAD(v, 4u, 32u)
#ifdef GRADIENT
QUAD(dy, 8u, 32u)
#endif
