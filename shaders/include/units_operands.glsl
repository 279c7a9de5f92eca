// Loaders by strides for matrix units: how a thread fetches its quads of an operand in memory.
//
// In: the constants and variables of units.glsl, the generated loads. OPERAND makes aim_X, fetch_X and fetch_at_X of the
// operand X, which is staged as A or B and has TERMS terms along k; STAGE_A and STAGE_B hand it to units.glsl. Of the modes
// of tile_operands.glsl 0 and 1 take quads along k, 2 and 3 along rows; 0 and 2 read their elements one by one.
//
// A quad is fetched as four words, or, where it is stored in what it is rounded to, as the two words that it lies in.
#define WORDS(X, MODE) \
uvec4 quad_##X(uint i4) { return loadu4_##X(i4); } \
uvec2 halves_##X(uvec4 words) { return halves(uintBitsToFloat(words)); }
#define TYPED(X, MODE) \
const bool AS_STORED_##X = (MODE & 1u) != 0u && T_##X != 0u && T_##X == ROUND; \
uvec4 quad_##X(uint i4) { return AS_STORED_##X ? uvec4(loadu2_##X(i4), 0u, 0u) : floatBitsToUint(load4_##X(i4)); } \
uvec2 halves_##X(uvec4 words) { return AS_STORED_##X ? words.xy : halves(uintBitsToFloat(words)); }

#define OPERAND(X, AB, ROWS, EXTENT, TERMS, MODE) \
uint from_##X[R##AB], row_step_##X, k_step_##X; \
uvec2 at_##X(uint i) { \
    uint e = u + i * NT; \
    return MODE < 2u ? uvec2(e / (BK / 4), e % (BK / 4) * 4u) : uvec2(e % (TILE_##AB / 4) * 4u, e / (TILE_##AB / 4)); \
} \
void aim_##X(uint at, uint along_rows, uint along_k) { \
    [[unroll]] for (uint i = 0u; i < R##AB; i++) { \
        uvec2 p = at_##X(i); \
        uint row = ROWS + p.x; \
        if (EDGE != 0u) row = min(row, EXTENT - (MODE == 3u ? 4u : 1u)); \
        if (K_TAIL == 1u) p.y = min(p.y, TERMS - min(TERMS, MODE == 1u ? 4u : 1u)); \
        from_##X[i] = at + row * along_rows + p.y * along_k; \
    } \
    row_step_##X = along_rows; \
    k_step_##X = along_k; \
} \
uvec4 fetch_at_##X(uint i, uint offset, uint k0) { \
    uint at = from_##X[i] + offset; \
    if ((MODE & 1u) != 0u) return quad_##X(at >> 2u); \
    uvec2 p = at_##X(i); \
    uvec4 words; \
    [[unroll]] for (uint c = 0u; c < 4u; c++) { \
        uint step = MODE == 0u ? (K_TAIL != 1u ? c : min(c, TERMS - 1u - min(k0 + p.y, TERMS - 1u))) * k_step_##X \
                               : (EDGE == 0u ? c : min(c, EXTENT - 1u - min(ROWS + p.x, EXTENT - 1u))) * row_step_##X; \
        words[c] = floatBitsToUint(load_##X(at + step)); \
    } \
    return words; \
} \
uvec4 fetch_##X(uint i, uint k0) { return fetch_at_##X(i, k0 * k_step_##X, k0); }

// TERM(k) says whether a k of the step counts.
#define EVERY(k) true
#define STAGE_A(X, TERM) \
uvec2 stage_at_a(uint i) { return at_##X(i); } \
uvec2 staged_a(uint i, uvec4 words) { \
    uint k = at_##X(i).y; \
    bvec4 are = ALONG_K_A ? bvec4(TERM(k), TERM(k + 1u), TERM(k + 2u), TERM(k + 3u)) : bvec4(TERM(k)); \
    return halves_##X(words) & mask(are); \
}
#define STAGE_B(IN_QUADS) \
uvec2 stage_at_b(uint i) { return at_b(i); } \
uvec2 staged_b(uint i, uvec4 words) { return halves_b(words); }
