// exp and log to about one unit in the last place, whatever the device's own functions do.

// e^x for x up to 88; 0 below -87.3 (a subnormal result); NaN stays. n = round(x / ln 2) appears in the low bits of
// x / ln 2 + 1.5 * 2^23. n ln 2 is subtracted in two parts, the first product exact, so that nothing depends on fused
// multiply-add. e^r = 1 + r + r^2 q(r), q fitted to 3e-9 on |r| <= ln 2 / 2; 1.0 units at most over [-87, 0].
float exp_own(float x) {
    precise float t = x * 1.44269502 + 12582912.0;
    precise float n = t - 12582912.0;
    float r = (x - n * 0.693359375) + n * 2.12194440e-4;
    float q = 0.49999994 + r * (0.16666521 + r * (0.041668389 + r * (8.36871099e-3 + r * 1.38146104e-3)));
    float p = 1.0 + (r + r * r * q);
    return x < -87.3 ? 0.0 : p * uintBitsToFloat((floatBitsToUint(t) + 127u) << 23u);
}

// e^x for any x.
float exp_any(float x) { return x > 88.0 ? exp(x) : exp_own(x); }

vec4 exp_own(vec4 v) {
    return vec4(exp_own(v.x), exp_own(v.y), exp_own(v.z), exp_own(v.w));
}

// ln x for normal positive x: e ln 2 + 2 artanh((m - 1) / (m + 1)), sqrt(1/2) <= m < sqrt(2). NaN and +Inf stay.
float log_own(float x) {
    uint u = floatBitsToUint(x) - 0x3f3504f3u;
    float e = float(int(u) >> 23);
    float m = uintBitsToFloat((u & 0x7fffffu) + 0x3f3504f3u);
    float z = (m - 1.0) / (m + 1.0), w = z * z;
    float p = z * (2.0 + w * (0.666666667 + w * (0.4 + w * (0.285714286 + w * 0.222222222))));
    return floatBitsToUint(x) >= 0x7f800000u ? x : e * 0.693359375 + (p - e * 2.12194440e-4);
}
