// Loaders by strides for matrix units: how a thread fetches its quads of an operand in memory.
//
// In: the constants and variables of units.glsl, the generated loads. OPERAND makes aim_X, fetch_X and at_X. Of the modes of
// tile_operands.glsl 0 and 1 take quads along k, 2 and 3 along rows; 0 and 2 read their elements one by one.
#define OPERAND(X, R, ROWS, EXTENT, TILE, MODE) \
uint from_##X[R], row_step_##X, k_step_##X; \
uvec2 at_##X(uint i) { \
    uint e = u + i * NT; \
    return MODE < 2u ? uvec2(e / (BK / 4), e % (BK / 4) * 4u) : uvec2(e % (TILE / 4) * 4u, e / (TILE / 4)); \
} \
void aim_##X(uint at, uint along_rows, uint along_k) { \
    [[unroll]] for (uint i = 0u; i < R; i++) { \
        uvec2 p = at_##X(i); \
        uint row = ROWS + p.x; \
        if (EDGE != 0u) row = min(row, EXTENT - (MODE == 3u ? 4u : 1u)); \
        if (K_TAIL == 1u) p.y = min(p.y, K - min(K, MODE == 1u ? 4u : 1u)); \
        from_##X[i] = at + row * along_rows + p.y * along_k; \
    } \
    row_step_##X = along_rows; \
    k_step_##X = along_k; \
} \
vec4 fetch_##X(uint i, uint k0) { \
    uint at = from_##X[i] + k0 * k_step_##X; \
    if ((MODE & 1u) != 0u) return load4_##X(at >> 2u); \
    uvec2 p = at_##X(i); \
    vec4 v; \
    [[unroll]] for (uint c = 0u; c < 4u; c++) { \
        uint step = MODE == 0u ? min(c, K - 1u - min(k0 + p.y, K - 1u)) * k_step_##X \
                               : min(c, EXTENT - 1u - min(ROWS + p.x, EXTENT - 1u)) * row_step_##X; \
        v[c] = load_##X(at + step); \
    } \
    return v; \
}
