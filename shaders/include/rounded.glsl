// Factors of products as a precision rounds them, by the constant ROUND (`product::round` of the compiler): to nearest even,
// subnormals kept, what is too large infinite, a NaN stays one. Not by packHalf2x16 and
// unpackHalf2x16: NVIDIA's compiler takes the pair away, and nothing is rounded (driver 580.159.04, 2026-11-24).
const uint ROUND_F16 = 1u, ROUND_BF16 = 2u;

// A power of two is added and subtracted again whose last bit is the unit of f16, which is 2^-24 below 2^-14: sums of f32 are
// rounded to nearest even (OPS 1.3.6). No branch and few instructions, since loads are unrolled: with a conversion to the
// bits of f16 and back, a CPU driver compiled some kernels for twenty seconds.
#define ROUNDED_TO_F16(UINT, FLOAT) \
FLOAT rounded_to_f16(FLOAT v) { \
    UINT bits = floatBitsToUint(v); \
    FLOAT size = abs(v), unit = uintBitsToFloat(max(bits & 0x7f800000u, UINT(0x38800000u)) + 0x06800000u); \
    precise FLOAT sum = size + unit; \
    precise FLOAT near = sum - unit; \
    near = mix(near, uintBitsToFloat(UINT(0x7f800000u)), NOT_BELOW(size, FLOAT(65520.0))); \
    return uintBitsToFloat(bits & 0x80000000u | floatBitsToUint(near)); \
}
#define NOT_BELOW(a, b) ((a) >= (b))
ROUNDED_TO_F16(uint, float)
#undef NOT_BELOW
#define NOT_BELOW(a, b) greaterThanEqual(a, b)
ROUNDED_TO_F16(uvec4, vec4)
#undef NOT_BELOW

float rounded(float v) {
    if (ROUND == ROUND_F16) return rounded_to_f16(v);
    return ROUND == ROUND_BF16 ? uintBitsToFloat(f32_to_bf16(v) << 16u) : v;
}

vec4 rounded(vec4 v) {
    if (ROUND == ROUND_F16) return rounded_to_f16(v);
    return ROUND == ROUND_BF16 ? uintBitsToFloat(f32_to_bf16(v) << 16u) : v;
}
