// OP: 0 sum, 1 mean, 2 maximum, 3 minimum, 4 product.

float identity() {
    return OP == 2u ? uintBitsToFloat(0xff800000u) : OP == 3u ? uintBitsToFloat(0x7f800000u) : OP == 4u ? 1.0 : 0.0;
}

float combine(float a, float b) {
    if (OP == 2u) return max_nan(a, b);
    if (OP == 3u) return min_nan(a, b);
    return OP == 4u ? a * b : a + b;
}

vec4 combine(vec4 a, vec4 b) {
    if (OP == 2u) return vec4(max_nan(a.x, b.x), max_nan(a.y, b.y), max_nan(a.z, b.z), max_nan(a.w, b.w));
    if (OP == 3u) return vec4(min_nan(a.x, b.x), min_nan(a.y, b.y), min_nan(a.z, b.z), min_nan(a.w, b.w));
    return OP == 4u ? a * b : a + b;
}

// The mean of no elements is 0 / 0.
float finish(float v) { return OP == 1u ? v / float(arg_count()) : v; }
