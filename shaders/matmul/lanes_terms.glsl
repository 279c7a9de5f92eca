// Terms of the left operand for a thread of `lanes.comp`, which sets the rows' places: `read_terms(k, last)` reads TERMS of each row from k
// on, none beyond `last`, and `term_a(row, k, t)` is one of them.
uint a_col, row_at[MR];

#ifdef SHUFFLE
// Terms that are read at once: of each row two by each thread.
const uint TERMS = 16u;
#define EACH_TERM [[dont_unroll]]
vec2 own_a[MR];

// Terms k and k + 1 of a row, not beyond the last one. In A_MODE 1 k and the number of terms are even.
vec2 pair_a(uint row, uint k, uint last) {
    if (A_MODE != 1u) return vec2(load_a(row + min(k, last) * a_col), load_a(row + min(k + 1u, last) * a_col));
    uint i2 = row + min(k, last - 1u) >> 1u;
    if (T_a == 0u) return uintBitsToFloat(loadu2_a(i2));
    uint halves = loadu_a(i2);
    uvec2 h = uvec2(halves & 0xffffu, halves >> 16u);
    return T_a == 1u ? vec2(f16_to_f32(h.x), f16_to_f32(h.y)) : uintBitsToFloat(h << 16u);
}

void read_terms(uint k, uint last) {
    [[unroll]] for (uint i = 0u; i < MR; i++) {
        vec2 pair = pair_a(row_at[i], k + 2u * gl_SubgroupInvocationID, last);
        own_a[i] = vec2(rounded_a(pair.x), rounded_a(pair.y));
    }
}
float term_a(uint row, uint k, uint t) {
    vec2 both = vec2(subgroupShuffle(own_a[row].x, t >> 1u), subgroupShuffle(own_a[row].y, t >> 1u));
    return (t & 1u) == 0u ? both.x : both.y;
}
#else
const uint TERMS = 1u;
#define EACH_TERM [[unroll]]
void read_terms(uint k, uint last) {}
float term_a(uint row, uint k, uint t) { return rounded_a(load_a(row_at[row] + (k + t) * a_col)); }
#endif
