// How a tile stages a right operand of which each thread fetches elements of one column.
//
// In: tile.glsl. The loader has `vec4 fetch_b(quad, k)` and `bool is_term_b(quad, c)`: whether element c of that quad of the
// step that was fetched last counts.
#define FETCHED vec4
FETCHED fetched(vec4 v) { return v; }

// The column and, within the step, k of element c of quad i.
uint column_b() { return u % BN; }
uint place_b(uint i, uint c) { return u / BN + (4u * i + c) * (NT / BN); }

bool is_term_b(uint i, uint c);

void put_b(uint stage, uint i, uint k0, uint first, vec4 v) {
    uint at = (u / BN) * LB + u % BN, quad = at / 4u + stage * BK * LB / 4u, part = at % 4u;
    [[unroll]] for (uint c = 0u; c < 4u; c++) {
        float value = is_term_b(i, c) ? kept(v[c], k0 + place_b(i, c), first) : 0.0;
        stage_b[quad + (4u * i + c) * (NT / BN) * LB / 4u][part] = value;
    }
}
