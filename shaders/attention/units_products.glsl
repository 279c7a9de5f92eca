// The two products of an attention on matrix units, of fragments of 16 x 16, and what they cannot hold.
//
// In: the constants and variables of units.comp; what units_operands.glsl staged.
FRAGMENT(ELEMENT, gl_MatrixUseA) queries[WF];
FRAGMENT(float, gl_MatrixUseAccumulator) acc[WF];

void load_queries() {
    [[unroll]] for (uint d = 0u; d < WF; d++)
        coopMatLoad(queries[d], stage, gl_SubgroupID * 16u * LS + d * 4u, LS, gl_CooperativeMatrixLayoutRowMajor);
}

// Scores of 64 keys, to this subgroup's place in shared memory.
void multiply_scores() {
    [[unroll]] for (uint j = 0u; j < KF; j++) {
        FRAGMENT(float, gl_MatrixUseAccumulator) s = FRAGMENT(float, gl_MatrixUseAccumulator)(0.0);
        [[unroll]] for (uint d = 0u; d < WF; d++) {
            FRAGMENT(ELEMENT, gl_MatrixUseB) keys;
            coopMatLoad(keys, stage, j * 16u * LS + d * 4u, LS, gl_CooperativeMatrixLayoutColumnMajor);
            s = coopMatMulAdd(queries[d], keys, s);
        }
        coopMatStore(s, scores, own_scores + j * 8u, LW, gl_CooperativeMatrixLayoutRowMajor);
    }
}

void multiply_values() {
    [[unroll]] for (uint k = 0u; k < KF; k++) {
        FRAGMENT(ELEMENT, gl_MatrixUseA) weights;
        coopMatLoad(weights, scores, own_scores + k * 4u, LW, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint j = 0u; j < WF; j++) {
            FRAGMENT(ELEMENT, gl_MatrixUseB) values;
            coopMatLoad(values, stage, k * 16u * LS + j * 4u, LS, gl_CooperativeMatrixLayoutRowMajor);
            acc[j] = coopMatMulAdd(weights, values, acc[j]);
        }
    }
}

// A fragment whose numbers are this subgroup's square.
void load_square(out FRAGMENT(float, gl_MatrixUseAccumulator) f) {
    subgroupBarrier();
    coopMatLoad(f, square, own_square, 4u, gl_CooperativeMatrixLayoutRowMajor);
    subgroupBarrier();
}

float half_value(uint h) { return ROUND == ROUND_BF16 ? uintBitsToFloat(h << 16u) : f16_to_f32(h); }

// What a query sees of values that are not finite, in eight columns of its own.
void add_odd(uint j, uint key0, uint keys) {
    vec4 sums[2] = vec4[2](vec4(0.0), vec4(0.0));
    uint query = min(row0 + gl_SubgroupID * 16u + row, SQ - 1u);
    [[dont_unroll]] for (uint k = 0u; k < keys; k++) {
        if (!sees(query, int(key0 + k))) continue;
        uint h = scores[own_scores + row * LW + k / 4u][k / 2u % 2u] >> (16u * (k & 1u)) & 0xffffu;
        [[unroll]] for (uint i = 0u; i < 2u; i++) {
            uint c = j * 16u + 8u * part + 4u * i;
            uvec2 quad = halves_v(v_base + (key0 + k) * arg_v_row() + c, c, DV);
            bvec4 finite = are_finite(quad);
            uvec4 each = split_halves(quad);
            [[unroll]] for (uint e = 0u; e < 4u; e++)
                if (!finite[e]) sums[i][e] = fma(half_value(h), half_value(each[e]), sums[i][e]);
        }
    }
    [[unroll]] for (uint i = 0u; i < 2u; i++) square[own_square + row * 4u + 2u * part + i] = floatBitsToUint(sums[i]);
    FRAGMENT(float, gl_MatrixUseAccumulator) added;
    load_square(added);
    [[unroll]] for (uint f = 0u; f < WF; f++) if (f == j) acc[f] = acc[f] + added;
}
