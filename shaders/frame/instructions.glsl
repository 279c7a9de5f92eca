// What instructions make of two words: 2 a + b, 3 a * b, 4 floor(a / b), 5 ceil(a / b), 6 minimum, 7 maximum; signed 32 bits,
// wrapping. A quotient by what is not positive is 0.

int floor_div(int a, int b) {
    if (b <= 0) return 0;
    int q = a / b;
    return q * b > a ? q - 1 : q;
}

int arithmetic(uint op, int a, int b) {
    if (op == 2u) return a + b;
    if (op == 3u) return a * b;
    if (op == 4u) return floor_div(a, b);
    if (op == 5u) return b <= 0 ? 0 : floor_div(a, b) + (floor_div(a, b) * b != a ? 1 : 0);
    return op == 6u ? min(a, b) : max(a, b);
}
