// What an attention with EXTENDED has besides a place of the first query: ALiBi, sinks, the logarithm of the sum.
//
// In: the constants and variables of rules.glsl and place.glsl.
// Whether something is added to scores.
#define ADDS (MASK_KIND != 0u || WITH_ALIBI == 1u)

// What a key's distance from a query adds.
float slope;

void take_slope(uint h) { slope = WITH_ALIBI == 1u ? load_alibi(h) : 0.0; }

// The distance is exact where the place is below 2^24.
float alibi_of(uint i, uint key) {
    return WITH_ALIBI == 1u ? slope * (float(int(key) - int(i)) - float(place)) : 0.0;
}

float weight(float s, float m);

// Takes the sink of a head into a row's maximum and sum of weights; the result is what its weighted values shrink by.
float take_sink(uint h, inout float m, inout float sum) {
    if (WITH_SINKS == 0u) return 1.0;
    float sink = load_sinks(h), top = max(m, sink), shrink = weight(m, top);
    sum = sum * shrink + weight(sink, top);
    m = top;
    return shrink;
}

// m + ln of the sum of weights: -Inf of nothing, NaN where all that was seen is -Inf.
float log_sum(float m, float sum, bool seen) {
    if (sum == 0.0) return seen ? uintBitsToFloat(0x7fc00000u) : minus_inf();
    return m + log_own(sum);
}
