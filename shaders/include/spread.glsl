// Windows that are over an element, and what counts under one: of kernels that have an argument for each axis' kernel, step,
// dilation, begin, end, extent and positions.
#include "divide.glsl"

const bool MEAN = MODE == 1u || MODE == 2u, PLACES = MODE == 3u;

uint over(uint n, uint d) {
    uint rest;
    return d == 1u ? n : divide(n, d, rest);
}

// Windows over place i of an axis, which begin before it and end after: from the first to before the last.
uvec2 windows_over(uint d, uint i) {
    uint at = i + uint(arg_begin(d)), reach = (arg_kernel(d) - 1u) * uint(arg_dilation(d)) + 1u, step = arg_step(d);
    uint first = at < reach ? 0u : over(at - reach, step) + 1u;
    return uvec2(first, min(over(at, step) + 1u, arg_out(d)));
}

// Whether a tap of window q, which is over place i, is there.
bool has_tap(uint d, uint i, uint q, uint dilation) {
    uint rest;
    if (dilation == 1u) return true;
    divide(i + uint(arg_begin(d)) - q * arg_step(d), dilation, rest);
    return rest == 0u;
}

// Taps of window q that lie before an element.
uint taps_before(uint d, uint q, int element) {
    int from_first = element + arg_begin(d) - int(q * arg_step(d));
    if (from_first <= 0) return 0u;
    return min(over(uint(from_first - 1), uint(arg_dilation(d))) + 1u, arg_kernel(d));
}

// What counts along an axis under window q.
uint counted(uint d, uint q) {
    if (!MEAN) return 1u;
    if (MODE == 2u) return taps_before(d, q, int(arg_end(d)));
    return taps_before(d, q, int(arg_extent(d))) - taps_before(d, q, 0);
}
