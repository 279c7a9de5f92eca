// How a tile stages a right operand of which each thread fetches elements of one column (product.glsl).
#ifdef UNITS
#include "units_columns.glsl"
#else
#include "tile_columns.glsl"
#endif
