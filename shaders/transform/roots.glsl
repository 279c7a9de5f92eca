// e^(-2 pi i m / n), m < n <= 2^23: the angle is the nearest quarter turn and at most an eighth more or less, of which
// sine and cosine are polynomials (Taylor's; the first term left out is below 2^-28 of the value). INVERSE 1: e^(+...).
// Who includes this says how `parted` divides.

vec2 times(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

vec2 root(uint m, uint n) {
    uint rest, quarter = parted(8u * m + n, 2u * n, rest);
    // Twice the part of a quarter that is left, of 2n: exact in f32.
    float above = float(int(rest) - int(n)), below = float(2u * n), inverse = 1.0 / below;
    float part = above * inverse;
    part += fma(-part, below, above) * inverse;
    float p = part * part;
    float s = part * (1.57079632679 + p * (-0.645964097506 + p * (0.0796926262462 + p * (-0.00468175413532 + p * 0.000160441184787))));
    float c = 1.0 + p * (-1.23370055014 + p * (0.253669507901 + p * (-0.0208634807634 + p * (0.000919260274839 - p * 2.52020423731e-05))));
    vec2 turned = (quarter & 1u) == 1u ? vec2(-s, c) : vec2(c, s);
    if ((quarter & 2u) == 2u) turned = -turned;
    return INVERSE == 1u ? turned : vec2(turned.x, -turned.y);
}
