// What a thread of split.comp does to its scores, and how the teams' results become one.

// From products to weights; older sums and results are scaled to the new maxima.
void soften(int key0, bool inside) {
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        float m = row_max[r];
        [[unroll]] for (uint c = 0u; c < KEYS; c++) s[r * KEYS + c] = score(s[r * KEYS + c]);
        if (MASK_KIND != 0u || !inside) {
            uint row = min(row0 + slot(r), SQ - 1u);
            int first = first_key(row), end = end_key(row);
            [[unroll]] for (uint c = 0u; c < KEYS; c++) {
                int key = key0 + int(c);
                bool seen = key >= first && key < end;
                float x = s[r * KEYS + c];
                if (MASK_KIND != 0u && seen) seen = allows(row, uint(key), x);
                s[r * KEYS + c] = seen ? x : minus_inf();
            }
        }
        [[unroll]] for (uint c = 0u; c < KEYS; c++) m = max(m, s[r * KEYS + c]);
        float shrink = weight(row_max[r], m);
        row_max[r] = m;
        row_sum[r] *= shrink;
        [[unroll]] for (uint i = 0u; i < OWN; i++) acc[r * OWN + i] *= shrink;
        [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            float p = weight(s[r * KEYS + c], m);
            s[r * KEYS + c] = p;
            row_sum[r] += p;
        }
    }
}

// What the teams have, each relative to its own maximum, added in order; a thread finishes quads that lie together.
void merge(uint b, uint h) {
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        [[unroll]] for (uint i = 0u; i < OWN; i++) pool[place(team * BQ + slot(r), own(i))] = acc[r * OWN + i];
        if (lane % LANES == 0u) runs[team * BQ + slot(r)] = vec2(row_max[r], row_sum[r]);
    }
    barrier();
    uint base = b * arg_y_b() + h * arg_y_h(), pitch = arg_y_row();
    [[unroll]] for (uint n = 0u; n < (BQ * WQ + NT - 1u) / NT; n++) {
        uint e = u + NT * n, at = e / WQ, row = row0 + at, col = e % WQ * 4u;
        if (e >= BQ * WQ || row >= SQ || col >= DV) continue;
        float m = runs[at].x, sum = 0.0;
        [[unroll]] for (uint t = 1u; t < TEAMS; t++) m = max(m, runs[t * BQ + at].x);
        vec4 v = vec4(0.0);
        [[unroll]] for (uint t = 0u; t < TEAMS; t++) {
            vec2 run = runs[t * BQ + at];
            float shrink = weight(run.x, m);
            sum = fma(run.y, shrink, sum);
            v = fma(pool[place(t * BQ + at, e % WQ)], vec4(shrink), v);
        }
        bool seen = sum == 0.0 && sees_any(row);
        [[unroll]] for (uint i = 0u; i < 4u; i++) v[i] = divided(v[i], sum, seen);
        v = hole_epilogue(v);
        uint to = base + row * pitch + col;
        if ((VEC & 8u) != 0u) store4_y(to >> 2u, v);
        else [[unroll]] for (uint i = 0u; i < 4u; i++) if (col + i < DV) store_y(to + i, v[i]);
    }
}
