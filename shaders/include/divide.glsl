// n / d for n, d below 2^31 - 2^10 by a float reciprocal: two estimates leave the quotient at most one off. Drivers that run
// on a CPU divide integers one lane after the other; this stays in vectors.
uint divide(uint n, uint d, out uint rest) {
    float inverse = 1.0 / float(d);
    uint q = uint(float(n) * inverse);
    int r = int(n - q * d);
    int more = int(float(r) * inverse);
    q += uint(more);
    r -= more * int(d);
    if (r < 0) {
        q--;
        r += int(d);
    }
    if (r >= int(d)) {
        q++;
        r -= int(d);
    }
    rest = uint(r);
    return q;
}
