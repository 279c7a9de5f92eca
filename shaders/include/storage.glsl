// Conversions between f32 and the 16-bit float storages, by integer operations, so that no subnormal is flushed and
// every rounding is to nearest even whatever the device does.

// Half bits (low 16) to the f32 of the same value. Of a subnormal, m · 2^-24, the bits say 2^-15 (1 + m / 1024): with the next
// exponent, less 2^-14, that is the value, and no step of it is subnormal in f32. With NATIVE_HALF it is the device's
// instruction: for variants of GPUs, whose conversions keep subnormals.
#ifdef NATIVE_HALF
float f16_to_f32(uint h) { return unpackHalf2x16(h).x; }

vec4 f16_to_f32(uvec4 h) { return vec4(unpackHalf2x16(h.x | h.y << 16u), unpackHalf2x16(h.z | h.w << 16u)); }
#else
float f16_to_f32(uint h) {
    uint sign = (h & 0x8000u) << 16u, e = h & 0x7c00u;
    uint bits = ((h & 0x7fffu) << 13u) + (e == 0x7c00u ? 0x70000000u : 0x38000000u);
    float small = uintBitsToFloat(bits + 0x00800000u) - 6.103515625e-5;
    return uintBitsToFloat(sign | (e == 0u ? floatBitsToUint(small) : bits));
}

vec4 f16_to_f32(uvec4 h) {
    return vec4(f16_to_f32(h.x), f16_to_f32(h.y), f16_to_f32(h.z), f16_to_f32(h.w));
}
#endif

// f32 bits to half bits. Overflow gives infinity; a NaN stays one.
uint f32_to_f16(float value) {
    uint u = floatBitsToUint(value);
    uint sign = (u >> 16u) & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return sign | 0x7e00u | ((a >> 13u) & 0x3ffu);
    if (a >= 0x47800000u) return sign | 0x7c00u;
    if (a >= 0x38800000u) return sign | ((a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u);
    uint e = a >> 23u;
    if (e < 102u) return sign;
    uint m = (a & 0x7fffffu) | 0x800000u, shift = 126u - e, r = m >> shift;
    uint rest = m & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
    return sign | (r + ((rest > tie || (rest == tie && (r & 1u) != 0u)) ? 1u : 0u));
}

uvec4 f32_to_f16(vec4 v) {
    return uvec4(f32_to_f16(v.x), f32_to_f16(v.y), f32_to_f16(v.z), f32_to_f16(v.w));
}

// f32 bits to bfloat16 bits; a NaN stays one.
uint f32_to_bf16(float value) {
    uint u = floatBitsToUint(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (u >> 16u) | 0x40u;
    return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}

uvec4 f32_to_bf16(vec4 v) {
    return uvec4(f32_to_bf16(v.x), f32_to_bf16(v.y), f32_to_bf16(v.z), f32_to_bf16(v.w));
}

// Four 16-bit elements of two words, the low half of a word first.
uvec4 split_halves(uvec2 w) {
    return uvec4(w.x & 0xffffu, w.x >> 16u, w.y & 0xffffu, w.y >> 16u);
}

uvec2 join_halves(uvec4 h) {
    return uvec2(h.x | h.y << 16u, h.z | h.w << 16u);
}

bool is_nan(float v) {
    return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u;
}

// Maximum and minimum that propagate NaN (OPS 1.3.2).
float max_nan(float a, float b) {
    return is_nan(a) ? a : is_nan(b) ? b : (a > b ? a : b);
}

float min_nan(float a, float b) {
    return is_nan(a) ? a : is_nan(b) ? b : (a < b ? a : b);
}

// The workgroup's number in a grid that was folded over x, y, z.
#define linear_group() (gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z))
