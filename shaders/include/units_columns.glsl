// How a tile of matrix units stages a right operand of which each thread fetches quads along k of one column.
//
// In: units.glsl. The loader has `uvec4 fetch_b(quad, k)` and `bool is_term_b(quad, c)`: whether element c of that quad of
// the step that was fetched last counts.
#define FETCHED uvec4
FETCHED fetched(vec4 v) { return floatBitsToUint(v); }

// The column and, within the step, k of element c of quad i.
uint column_b() { return u % BN; }
uint place_b(uint i, uint c) { return 4u * (u / BN + i * (NT / BN)) + c; }

bool is_term_b(uint i, uint c);

uvec2 stage_at_b(uint i) { return uvec2(column_b(), place_b(i, 0u)); }

uvec2 staged_b(uint i, uvec4 words) {
    bvec4 are = bvec4(is_term_b(i, 0u), is_term_b(i, 1u), is_term_b(i, 2u), is_term_b(i, 3u));
    return halves(uintBitsToFloat(words)) & mask(are);
}
