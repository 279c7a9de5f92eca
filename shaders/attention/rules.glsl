// Which keys a query may see, and what its scores are: the rules every attention kernel shares.
//
// With total = the length given, or all keys, and offset = length - queries, or 0: query i sees the keys of
// [first_key(i), end_key(i)) that the mask allows. A score that is not allowed is -Inf; its weight is NOTHING, the
// negative zero, so that a kernel can tell it from a weight that is merely 0.
#include "explog.glsl"

const float LOWEST = -3.40282347e38;
const uint NOTHING = 0x80000000u;
const uint MASK_BOOL = 1u, MASK_FLOAT = 2u;
const uint LENGTH_ARG = 1u, LENGTH_OPERAND = 2u;

int total, offset, left, right;
uint mask_base, mask_row, mask_col;
float scale, softcap;

float minus_inf() { return uintBitsToFloat(0xff800000u); }

// Sets what belongs to one batch entry and query head. Arguments are read here once: each read is one of memory.
void place_keys(uint b, uint h) {
    left = arg_left();
    right = arg_right();
    scale = arg_scale();
    softcap = arg_softcap();
    total = int(arg_sk());
    offset = 0;
    if (LENGTH != 0u) {
        int length = LENGTH == LENGTH_ARG ? arg_kv_len() : int(loadu_lens(b * arg_len_b()));
        offset = length - int(arg_sq());
        total = clamp(length, 0, total);
    }
    if (MASK_KIND != 0u) total = min(total, int(arg_mask_len()));
    mask_base = arg_mask_at() + b * arg_mask_b() + h * arg_mask_h();
    mask_row = arg_mask_row();
    mask_col = arg_mask_col();
}

int first_key(uint i) { return max(0, int(i) + offset - left); }

int end_key(uint i) { return min(total, int(i) + offset + right + 1); }

// tanh to a few units in the last place: an odd polynomial below 5/8, e^2x above. NaN stays.
float tanh_own(float x) {
    float a = abs(x), z = x * x;
    float small = x + x * z * (-0.333332665 + z * (0.133309642 + z * (-0.0536967010 + z * (0.0204919234 - z * 5.53543862e-3))));
    float large = 1.0 - 2.0 / (exp_own(2.0 * (a > 10.0 ? 10.0 : a)) + 1.0);
    return a < 0.625 ? small : x < 0.0 ? -large : large;
}

// The score of a product before the mask.
float score(float product) {
    float s = product * scale;
    return CAPPED == 1u ? softcap * tanh_own(s / softcap) : s;
}

// The score after the mask; key and query lie in their ranges.
float masked(float s, uint i, uint key) {
    if (MASK_KIND == 0u) return s;
    uint m = loadu_mask(mask_base + i * mask_row + key * mask_col);
    if (MASK_KIND == MASK_BOOL) return m != 0u ? s : minus_inf();
    return m == 0xff800000u ? minus_inf() : s + uintBitsToFloat(m);
}

// Whether query i sees any key: what tells a sum of nothing from a sum of zeros.
bool sees_any(uint i) {
    int first = first_key(i), end = end_key(i);
    if (MASK_KIND == 0u) return first < end;
    for (int key = first; key < end; key++) {
        uint m = loadu_mask(mask_base + i * mask_row + uint(key) * mask_col);
        if (MASK_KIND == MASK_BOOL ? m != 0u : m != 0xff800000u) return true;
    }
    return false;
}

// e^(s - m) for m the largest score so far, or -Inf.
float weight(float s, float m) {
    float d = s - max(m, LOWEST);
#ifdef NATIVE_EXP
    float p = exp2(d * 1.44269504);
#else
    float p = exp_own(d);
#endif
    return s < LOWEST ? uintBitsToFloat(NOTHING) : p;
}

// A row's sum of weights as a divisor: where it is 0 the row is zeros, or NaN if keys were seen (all at -Inf).
float divided(float v, float sum, bool seen) {
    if (sum == 0.0) return seen ? uintBitsToFloat(0x7fc00000u) : 0.0;
    return v / sum;
}
