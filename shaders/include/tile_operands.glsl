// Loaders by strides: how a thread of a tile fetches its quads of an operand in memory and stages them.
//
// In: the tile's constants and variables (tile.glsl), the generated loads. OPERAND makes aim_X, fetch_X and fetch_at_X of the
// operand X, which is staged as A or B and has TERMS terms along k; STAGE_A and STAGE_B make put_a and put_b.

// `place`: row (or column) and k, within the step, of element c of quad i of thread t. `aim`: where it lies in memory
// before the step's offset, in quads where they are read as such. `fetch` reads a quad, `put` stages it.
#define OPERAND(X, AB, ROWS, EXTENT, TERMS, MODE) \
uint from_##X[4 * R##AB], along_##X, put_at_##X; \
uvec2 place_##X(uint t, uint i, uint c) { \
    uint e = t + i * NT, f = t + (4u * i + c) * NT; \
    if (MODE == 1u) return uvec2(e / (BK / 4), e % (BK / 4) * 4u + c); \
    if (MODE == 3u) return uvec2(e % ((L##AB - 4u) / 4u) * 4u + c, e / ((L##AB - 4u) / 4u)); \
    return MODE == 0u ? uvec2(f / BK, f % BK) : uvec2(f % (L##AB - 4u), f / (L##AB - 4u)); \
} \
void aim_##X(uint at, uint along_rows, uint along_k) { \
    [[unroll]] for (uint q = 0u; q < 4u * R##AB; q++) { \
        uvec2 p = place_##X(u, q / 4u, q % 4u); \
        uint row = ROWS + p.x; \
        if (EDGE != 0u) row = min(row, EXTENT - (MODE == 3u ? 4u - q % 4u : 1u)); \
        if (K_TAIL == 1u) p.y = min(p.y, TERMS - min(TERMS, MODE == 1u ? 4u - q % 4u : 1u)); \
        from_##X[q] = at + row * along_rows + p.y * along_k; \
        if ((MODE & 1u) != 0u) from_##X[q] >>= 2u; \
    } \
    along_##X = along_k; \
    uvec2 p = place_##X(u, 0u, 0u); \
    put_at_##X = p.y * L##AB + p.x; \
} \
vec4 fetch_at_##X(uint i, uint at, uint k0) { \
    if ((MODE & 1u) != 0u) return load4_##X(from_##X[4u * i] + uint(int(at) >> 2)); \
    return vec4(load_##X(from_##X[4u * i] + at), load_##X(from_##X[4u * i + 1u] + at), \
                load_##X(from_##X[4u * i + 2u] + at), load_##X(from_##X[4u * i + 3u] + at)); \
} \
vec4 fetch_##X(uint i, uint k0) { return fetch_at_##X(i, k0 * along_##X, k0); }

// TERM(k) says whether a k of the step counts.
#define EVERY(k) true
#define STAGE_A(X, TERM) \
void put_a(uint stage, uint i, uint k0, uint first, vec4 v) { \
    [[unroll]] for (uint c = 0u; c < 4u; c++) { \
        uvec2 d = place_##X(0u, i, c); \
        uint k = place_##X(u, i, c).y; \
        stage_a[put_at_##X + stage * BK * LA + d.y * LA + d.x] = TERM(k) ? kept(v[c], k0 + k, first) : 0.0; \
    } \
}
// Elements of a thread are multiples of four columns apart, or neighbours of one quad.
#define STAGE_B(IN_QUADS) \
void put_b(uint stage, uint i, uint k0, uint first, vec4 v) { \
    uint quad = put_at_b / 4u + stage * BK * LB / 4u, part = put_at_b % 4u; \
    [[unroll]] for (uint c = 0u; c < 4u; c++) v[c] = kept(v[c], k0 + place_b(u, i, c).y, first); \
    if (IN_QUADS) { \
        uvec2 d = place_b(0u, i, 0u); \
        stage_b[quad + (d.y * LB + d.x) / 4u] = v; \
    } else [[unroll]] for (uint c = 0u; c < 4u; c++) { \
        uvec2 d = place_b(0u, i, c); \
        stage_b[quad + (d.y * LB + d.x) / 4u][part] = v[c]; \
    } \
}
