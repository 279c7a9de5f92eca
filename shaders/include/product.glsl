// The parts of a product that is made by tiles: of matrix units (UNITS) or of f32, with loaders by strides.
#ifdef UNITS
#include "units.glsl"
#include "units_operands.glsl"
#else
#include "tile.glsl"
#include "tile_operands.glsl"
// Units ask whether an operand is read as words or in the storage of a typed one.
#define WORDS(X, MODE)
#define TYPED(X, MODE)
#endif
