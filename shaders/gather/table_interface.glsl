// The interface of a gather, whose table lies dense or in blocks, or as CODES beside scales: then load_table and load4_table are those
// of codes.glsl.
#ifndef CODES
#include "interface.glsl"
#else
#define load_table word_table
#define load4_table words4_table
#include "interface.glsl"
#undef load_table
#undef load4_table
#define code_word(i) loadu_table(i)
#include "code_places.glsl"
#include "codes.glsl"
float load_table(uint i) { return code_element(i); }
vec4 load4_table(uint i4) { return code_quad(4u * i4); }
#endif
