// Which keys a query may see, and what its scores are: the rules every attention kernel shares.
//
// With total = the length given, or all keys, and offset = length - queries, or 0: query i sees the keys of
// [first_key(i), end_key(i)) that the mask allows. A key that is not seen scores -Inf and weighs 0, as one that is seen
// may: where a value times 0 is not 0, a kernel asks `sees`. EXTENDED: extended.glsl, which has PLACED: place.glsl.
#include "explog.glsl"

#ifdef EXTENDED
#define PLACED
#endif

const float LOWEST = -3.40282347e38;
const uint MASK_BOOL = 1u, MASK_FLOAT = 2u;
const uint LENGTH_ARG = 1u, LENGTH_OPERAND = 2u;

// All keys, and where the window of query 0 begins and ends.
int total, first0, end0;
uint mask_base, mask_row, mask_col;
float scale, softcap;

#ifndef EXTENDED
#define ADDS (MASK_KIND != 0u)
#endif

float minus_inf() { return uintBitsToFloat(0xff800000u); }

#ifdef PLACED
#include "place.glsl"
#endif
#ifdef EXTENDED
#include "extended.glsl"
#endif

// Sets what belongs to one batch entry and query head. Arguments are read here once: each read is one of memory.
// Lengths and windows may be any i32: no sum is formed before its terms are held to where they make a difference, which
// is -queries .. keys for first0 and end0. A negative window is none.
void place_keys(uint b, uint h) {
    scale = arg_scale();
    softcap = arg_softcap();
    total = int(arg_sk());
    int length = int(arg_sq()), offset = 0, right = arg_right();
    if (LENGTH != 0u) {
        length = max(LENGTH == LENGTH_ARG ? arg_kv_len() : int(loadu_lens(b * arg_len_b())), 0);
        offset = length - int(arg_sq());
        total = min(length, total);
    }
    if (MASK_KIND != 0u) total = min(total, int(arg_mask_len()));
#ifdef EXTENDED
    take_slope(h);
#endif
#ifdef PLACED
    place_window(b, offset, right);
#else
    first0 = min(offset - int(min(uint(arg_left()), uint(length))), total);
    end0 = right < 0 || right >= total - offset ? total : offset + right + 1;
#endif
    mask_base = arg_mask_at() + b * arg_mask_b() + h * arg_mask_h();
    mask_row = arg_mask_row();
    mask_col = arg_mask_col();
}

int first_key(uint i) { return max(0, int(i) + first0); }

int end_key(uint i) { return min(total, int(i) + end0); }

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

// Whether the mask allows a key; query and key lie in their ranges. What is added goes onto the score.
bool allows(uint i, uint key, inout float s) {
#ifdef EXTENDED
    s += alibi_of(i, key);
#endif
    if (MASK_KIND == 0u) return true;
    uint m = loadu_mask(mask_base + i * mask_row + key * mask_col);
    if (MASK_KIND == MASK_BOOL) return m != 0u;
    s += uintBitsToFloat(m);
    return m != 0xff800000u;
}

// Whether query i sees a key.
bool sees(uint i, int key) {
    float s = 0.0;
    return key >= first_key(i) && key < end_key(i) && allows(i, uint(key), s);
}

// Whether query i sees any key: what tells a sum of nothing from a sum of zeros.
bool sees_any(uint i) {
    int first = first_key(i), end = end_key(i);
    if (MASK_KIND == 0u) return first < end;
    float s = 0.0;
    for (int key = first; key < end; key++)
        if (allows(i, uint(key), s)) return true;
    return false;
}

// e^(s - m) for m the largest score so far, or -Inf; 0 for s = -Inf.
float weight(float s, float m) {
    float d = s - max(m, LOWEST);
#ifdef NATIVE_EXP
    float p = exp2(d * 1.44269504);
#else
    float p = exp_own(d);
#endif
    return s < LOWEST ? 0.0 : p;
}

// A row's sum of weights as a divisor: where it is 0 the row is zeros, or NaN if keys were seen (all at -Inf).
float divided(float v, float sum, bool seen) {
    if (sum == 0.0) return seen ? uintBitsToFloat(0x7fc00000u) : 0.0;
    return v / sum;
}
