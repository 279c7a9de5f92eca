// The interface of a product, whose right operand lies by strides or in blocks, or as CODES beside scales: then load_b and load4_b are
// those of codes.glsl, and what asks for a storage of words or blocks is told that of words.
#ifndef CODES
#include "interface.glsl"
#else
#define load_b word_b
#define load4_b words4_b
#include "interface.glsl"
#undef load_b
#undef load4_b
#define code_word(i) loadu_b(i)
#include "codes.glsl"
const uint T_b = 0u;
float load_b(uint i) { return code_element(i); }
vec4 load4_b(uint i4) { return code_quad(4u * i4); }
void block_run(uint i, out vec4 v[8]) {
    [[unroll]] for (uint q = 0u; q < 8u; q++) v[q] = code_quad(i + 4u * q);
}
#endif
