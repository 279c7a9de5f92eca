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
// Whether sixteen neighbours from a multiple of sixteen on have one scale, and are two words or four.
bool has_code_runs() {
    bool along = CODE_INNER == 1u && CODE_BLOCK % 16u == 0u && CODE_EXTENT % 16u == 0u;
    uint log = kind_log(CODE_KIND);
    return (along || CODE_ALONG == 0u && CODE_INNER % 16u == 0u) && (log == 2u || log == 3u);
}
void code_run(uint i, out vec4 v[4]) {
    bool nibbles = kind_log(CODE_KIND) == 3u;
    uvec4 words = nibbles ? loadu2_b(i >> 4u).xxyy : loadu4_b(i >> 4u);
    uint j = scale_place(i);
    float scale = scale_at(j);
    int zero = zero_at(j);
    [[unroll]] for (uint e = 0u; e < 16u; e++) v[e >> 2u][e & 3u] = scaled(code_in(CODE_KIND, words[e >> 2u], e), scale, zero);
}
#endif
