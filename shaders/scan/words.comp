#version 460
// y = sums (PRODUCT: products) of integers that come before, run by run (runs.glsl), in 64 bits of which PAIR says that
// both words are stored.
#include "interface.glsl"
#include "wide.glsl"
#define T uvec2
#define NONE uvec2(PRODUCT, 0u)
uvec2 load_element(uint i) { return PAIR == 1u ? loadu2_x(i) : uvec2(loadu_x(i), 0u); }
uvec2 load_first(uint i) { return PAIR == 1u ? loadu2_before(i) : uvec2(loadu_before(i), 0u); }
void store_element(uint i, uvec2 v) {
    if (PAIR == 1u) storeu2_y(i, v);
    else storeu_y(i, v.x);
}
uvec2 join(uvec2 a, uvec2 b) { return PRODUCT == 1u ? wide_mul(a, b) : wide_add(a, b); }
#include "runs.glsl"
