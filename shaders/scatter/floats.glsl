// How floats meet by MODE: 1 sum, 2 product, 3 maximum, 4 minimum.

// What changes nothing; -0 is what 0 is to a sum of zeros.
float identity() {
    return MODE == 1u ? uintBitsToFloat(0x80000000u) : MODE == 2u ? 1.0
         : MODE == 3u ? uintBitsToFloat(0xff800000u) : uintBitsToFloat(0x7f800000u);
}

float combine(float a, float b) {
    if (MODE == 3u) return max_nan(a, b);
    if (MODE == 4u) return min_nan(a, b);
    return MODE == 2u ? a * b : a + b;
}
