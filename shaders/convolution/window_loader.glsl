// The loader by window: what a thread of a tile fetches of an operand under a window.
//
// A thread fetches of one column, the same position in every step. TAP_MAJOR 0: k is channel · TAPS + tap. 1: k is
// tap · channels + channel, and channels are a multiple of BK, so that all of a step is under one tap.
// Outside the operand its first element is read and then counts as zero: `outside` has a bit for each element of the step
// that was fetched last.
const uint TAPS = KD * KH * KW;

uint plane, along_channels, channels, outside;
ivec3 origin;
uvec3 extents;

bool is_term_b(uint i, uint c) { return (outside >> (4u * i + c) & 1u) == 0u; }

void aim_b() {
    uint column = min(cols_at + column_b(), N - 1u), p, y, x;
    uint n = divide(column, positions, p);
    uint line = divide(p, arg_out(2), x), z = divide(line, arg_out(1), y);
    origin = ivec3(z * arg_step(0), y * arg_step(1), x * arg_step(2)) - ivec3(arg_begin(0), arg_begin(1), arg_begin(2));
    extents = uvec3(arg_extent(0), arg_extent(1), arg_extent(2));
    channels = arg_channels();
    along_channels = arg_b_c();
    plane = arg_b_at() + n * arg_b_n() + group * arg_b_g();
    outside = 0u;
}

// Where a tap lies from the first element of its channel; sets whether it is outside.
uint under_tap(uint tap, out bool is_outside) {
    ivec3 at = origin + ivec3(tap / (KH * KW), tap / KW % KH, tap % KW)
                        * ivec3(arg_dilation(0), arg_dilation(1), arg_dilation(2));
    is_outside = any(greaterThanEqual(uvec3(at), extents));
    return is_outside ? 0u : uint(at.x) * arg_b_d() + uint(at.y) * arg_b_h() + uint(at.z) * arg_b_w();
}

FETCHED fetch_b(uint i, uint k0) {
    vec4 v;
    bool is_outside;
    if (i == 0u) outside = 0u;
    if (TAP_MAJOR != 0u) {
        uint first, at = plane + under_tap(divide(k0, channels, first), is_outside);
        if (is_outside) outside = 0xffffffffu;
        [[unroll]] for (uint c = 0u; c < 4u; c++) v[c] = load_b(at + (first + place_b(i, c)) * along_channels);
        return fetched(v);
    }
    [[unroll]] for (uint c = 0u; c < 4u; c++) {
        uint k = min(k0 + place_b(i, c), K - 1u), channel = k / TAPS;
        uint at = under_tap(k - channel * TAPS, is_outside);
        if (is_outside) outside |= 1u << (4u * i + c);
        v[c] = load_b(plane + channel * along_channels + at);
    }
    return fetched(v);
}
