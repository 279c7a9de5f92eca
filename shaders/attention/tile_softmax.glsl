// What lies between the two products of a tile: scores, the maximum of each query over the threads that share it, weights.

// From products to scores; keys that a query must not see become -Inf.
void finish_scores(inout float s[RQ * 4 * SN * 4], int key0, bool inside) {
    [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) {
        uint row = min(query(i), SQ - 1u);
        int first = first_key(row), end = end_key(row);
        [[unroll]] for (uint j = 0u; j < SN * 4u; j++) {
            int key = key0 + int(key_of(j));
            float x = score(s[i * SN * 4u + j]);
            if (ADDS || !inside) {
                bool seen = key >= first && key < end;
                if (ADDS && seen) seen = allows(row, uint(key), x);
                x = seen ? x : minus_inf();
            }
            s[i * SN * 4u + j] = x;
        }
    }
}

// The maxima of the queries so far, and by what older sums and results must be scaled.
void update_maxima(float s[RQ * 4 * SN * 4]) {
    [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) {
        float m = minus_inf();
        [[unroll]] for (uint j = 0u; j < SN * 4u; j++) m = max(m, s[i * SN * 4u + j]);
        part[tx * BQ + query(i) - row0] = m;
    }
    barrier();
    if (u < BQ) {
        float old = row_max[u], m = old;
        [[unroll]] for (uint t = 0u; t < TX; t++) m = max(m, part[t * BQ + u]);
        row_max[u] = m;
        row_scale[u] = weight(old, m);
    }
    barrier();
}

void stage_weights(float s[RQ * 4 * SN * 4]) {
    [[unroll]] for (uint i = 0u; i < RQ; i++) {
        float m[4];
        [[unroll]] for (uint c = 0u; c < 4u; c++) {
            uint r = 4u * i + c, at = query(r) - row0;
            float shrink = row_scale[at];
            m[c] = row_max[at];
            sums[r] *= shrink;
            [[unroll]] for (uint j = 0u; j < ON; j++) acc[r * ON + j] *= shrink;
        }
        [[unroll]] for (uint j = 0u; j < SN * 4u; j++) {
            vec4 p;
            [[unroll]] for (uint c = 0u; c < 4u; c++) {
                p[c] = weight(s[(4u * i + c) * SN * 4u + j], m[c]);
                sums[4u * i + c] += p[c];
            }
            weights[weight_at(key_of(j), ty + TY * i)] = p;
        }
    }
}
