#version 460
// y = sums (PRODUCT: products) of what comes before, run by run (runs.glsl).
#include "interface.glsl"
#define T float
#define NONE (PRODUCT == 1u ? 1.0 : 0.0)
float load_element(uint i) { return load_x(i); }
float load_first(uint i) { return load_before(i); }
void store_element(uint i, float v) { store_y(i, v); }
float join(float a, float b) { return PRODUCT == 1u ? a * b : a + b; }
#include "runs.glsl"
