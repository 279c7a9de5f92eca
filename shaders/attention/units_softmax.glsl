// The softmax of an attention on matrix units, step by step: two neighbouring threads have a query.
//
// In: the constants and variables of units.comp, the fragments of units_products.glsl.

// Quad j of the 32 keys that this thread has of its query, which are every second quad.
uint quad_of(uint j) { return 2u * j + part; }

// From scores to weights; sets what older sums and results are to be scaled by.
float weigh(int key0, bool inside) {
    float s[32];
    uint at = own_scores + row * LW, query = min(row0 + gl_SubgroupID * 16u + row, SQ - 1u);
    int first = first_key(query), end = end_key(query);
    float m = row_max;
    [[unroll]] for (uint j = 0u; j < 8u; j++) {
        uvec4 words = uvec4(scores[at + 2u * quad_of(j)], scores[at + 2u * quad_of(j) + 1u]);
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            int key = key0 + int(4u * quad_of(j) + e);
            float x = score(uintBitsToFloat(words[e]));
            if (MASK_KIND != 0u || !inside) {
                bool seen = key >= first && key < end;
                if (MASK_KIND != 0u && seen) seen = allows(query, uint(key), x);
                x = seen ? x : minus_inf();
            }
            s[4u * j + e] = x;
            m = max(m, x);
        }
    }
    m = max(m, subgroupShuffleXor(m, 1u));
    float shrink = weight(row_max, m), sum = 0.0;
    row_max = m;
    // All scores have been read.
    subgroupBarrier();
    [[unroll]] for (uint j = 0u; j < 8u; j++) {
        vec4 p;
        [[unroll]] for (uint e = 0u; e < 4u; e++) p[e] = weight(s[4u * j + e], m);
        sum += (p.x + p.y) + (p.z + p.w);
        scores[at + quad_of(j)] = halves(p);
    }
    row_sum = row_sum * shrink + sum;
    return shrink;
}

void scale_results(float shrink) {
    uvec4 quad = floatBitsToUint(vec4(shrink));
    square[own_square + row * 4u + 2u * part] = quad;
    square[own_square + row * 4u + 2u * part + 1u] = quad;
    FRAGMENT(float, gl_MatrixUseAccumulator) scales;
    load_square(scales);
    [[unroll]] for (uint j = 0u; j < WF; j++) acc[j] = acc[j] * scales;
}
