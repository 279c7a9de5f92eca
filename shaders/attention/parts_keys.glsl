// What a team of parts.comp does with its keys: products, weights, values. The variables are those of parts.comp.

uint own(uint i) { return lane + LANES * i; }

// Whether the mask lets row r see a key, and what it adds.
bool lets(uint r, uint key, inout float x) {
    if (MASK_KIND == 0u) return true;
    uint m = loadu_mask(mask_at[r] + key * mask_col);
    if (MASK_KIND == MASK_BOOL) return m != 0u;
    x += uintBitsToFloat(m);
    return m != 0xff800000u;
}

void products(uint key0, uint last, uint base, uint pitch) {
    [[unroll]] for (uint i = 0u; i < ROWS * KEYS; i++) s[i] = 0.0;
    vec4 k[KEYS * OWN];
    [[unroll]] for (uint c = 0u; c < KEYS; c++) {
        uint at = base + min(key0 + TEAMS * c, last) * pitch;
        EACH for (uint i = 0u; i < OWN; i++) k[c * OWN + i] = quad_k(at + 4u * own(i), 4u * own(i), D);
    }
    [[unroll]] for (uint c = 0u; c < KEYS; c++) EACH for (uint i = 0u; i < OWN; i++)
        [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint r = 0u; r < ROWS; r++)
            s[r * KEYS + c] = fma(q[r * OWN + i][e], k[c * OWN + i][e], s[r * KEYS + c]);
#if LANES > 1
    [[unroll]] for (uint i = 0u; i < ROWS * KEYS; i++)
        [[unroll]] for (uint x = 1u; x < LANES; x *= 2u) s[i] += subgroupShuffleXor(s[i], x);
#endif
}

// From products to weights; older sums and results are scaled to the new maxima.
void soften(uint key0, bool inside) {
    [[unroll]] for (uint r = 0u; r < ROWS; r++) {
        float m = row_max[r];
        [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            float x = score(s[r * KEYS + c]);
            bool seen = true;
            if (MASK_KIND != 0u || !inside) {
                int key = int(key0 + TEAMS * c);
                seen = key >= first[r] && key < end[r];
                if (seen) seen = lets(r, uint(key), x);
            }
            counts[r * KEYS + c] = seen;
            s[r * KEYS + c] = seen ? x : minus_inf();
            m = max(m, s[r * KEYS + c]);
        }
        float shrink = weight(row_max[r], m);
        row_sum[r] = row_max[r] < LOWEST ? (m < LOWEST ? row_sum[r] : 0.0) : row_sum[r] * shrink;
        row_max[r] = m;
        EACH for (uint i = 0u; i < OWN; i++) acc[r * OWN + i] *= shrink;
        [[unroll]] for (uint c = 0u; c < KEYS; c++) {
            uint at = r * KEYS + c;
            // Where only scores of -Inf were seen the sum is NaN, so that nothing seen is told from nothing to see.
            if (m < LOWEST && counts[at]) row_sum[r] = uintBitsToFloat(0x7fc00000u);
            s[at] = weight(s[at], m);
            if (!(m < LOWEST)) row_sum[r] += s[at];
        }
    }
}

// A value that a row must not see has no effect, whatever it is.
void add_values(uint key0, uint last, uint base, uint pitch, bool inside) {
    vec4 v[KEYS * OWN];
    [[unroll]] for (uint c = 0u; c < KEYS; c++) {
        uint at = base + min(key0 + TEAMS * c, last) * pitch;
        EACH for (uint i = 0u; i < OWN; i++) v[c * OWN + i] = quad_v(at + 4u * own(i), 4u * own(i), DV);
    }
    [[unroll]] for (uint r = 0u; r < ROWS; r++) [[unroll]] for (uint c = 0u; c < KEYS; c++)
        if (MASK_KIND == 0u && inside || counts[r * KEYS + c])
            EACH for (uint i = 0u; i < OWN; i++)
                acc[r * OWN + i] = fma(vec4(s[r * KEYS + c]), v[c * OWN + i], acc[r * OWN + i]);
}
