#version 460
// y[j] = e^(-pi i d^2 / period), d = j, or WRAPPED the distance from the nearer end, and then 0 where that is period or
// more. One thread a number.
#include "interface.glsl"
#include "divide.glsl"
#define parted divide
#include "roots.glsl"
layout(local_size_x = 256) in;

// d^2 modulo n, d < n <= 2^23, seven bits of one factor at a time: what is divided has 31 bits.
uint square(uint d, uint n) {
    uint rest = 0u;
    [[unroll]] for (int at = 21; at >= 0; at -= 7) divide(128u * rest + d * (d >> at & 127u), n, rest);
    return rest;
}

void main() {
    uint j = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_n();
    if (j >= n) return;
    uint d = WRAPPED == 1u ? min(j, n - j) : j, turn = 2u * arg_period(), of_turn;
    divide(d, turn, of_turn);
    vec2 y = WRAPPED == 1u && d >= arg_period() ? vec2(0.0) : root(square(of_turn, turn), turn);
    store_y(2u * j, y.x);
    store_y(2u * j + 1u, y.y);
}
