// The loaders of a tile over a phase (phases.glsl): what a thread fetches of the weights and of the operand, and which of it
// counts.
//
// k is tap · `padded` + channel, where `padded` is the number of channels up to a multiple of BK: a step is under one tap.
// K_TAIL says of the channels what it says of k elsewhere: 0 they are a multiple of BK, 1 they may be any number, 2 they are
// BK at least. A step that would reach past the last channel is read from BK before it (2), or reads the last one again (1);
// what it reads twice counts as zero.
Phase phase;
uint channels, padded, plane, along_channels;
uint from_channel, first_channel, weights_at, under; // of the step that was fetched last: read from, begins at; the tap
bool is_outside;                                     // whether its tap is outside the operand
ivec3 origin_of_column;

TYPED(w, A_MODE)
OPERAND(w, A, rows_at, M, channels, A_MODE)

bool is_term(uint channel) { return K_TAIL == 0u || (channel >= first_channel && channel < channels); }

void aim_step(uint k0) {
    uvec3 j;
    uint line = divide(divide(k0, padded, first_channel), phase.taps.z, j.z);
    j.x = divide(line, phase.taps.y, j.y);
    from_channel = K_TAIL == 0u ? first_channel : min(first_channel, max(channels, BK) - BK);
    weights_at = number_of_tap(phase, j) * arg_w_tap() + from_channel * arg_w_c();
    ivec3 at = origin_of_column + ivec3(j) * ivec3(arg_hop(0), arg_hop(1), arg_hop(2));
    is_outside = any(greaterThanEqual(uvec3(at), ALONG(arg_extent)));
    under = is_outside ? 0u : uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h() + uint(at.z) * arg_x_w();
}

void aim_a() { aim_w(arg_w_at() + group * arg_w_g(), arg_w_o(), arg_w_c()); }

// Called first in each step.
FETCHED fetch_a(uint i, uint k0) {
    if (i == 0u) aim_step(k0);
    return fetch_at_w(i, weights_at, from_channel);
}

#define IS_TERM(k) is_term(from_channel + (k))
STAGE_A(w, IS_TERM)

bool is_term_b(uint i, uint c) { return !is_outside && is_term(from_channel + place_b(i, c)); }

void aim_b() {
    uint number, n = divide(min(cols_at + column_b(), N - 1u), positions, number);
    origin_of_column = phase.origin + ivec3(position_of(phase, number));
    along_channels = arg_x_c();
    plane = arg_x_at() + n * arg_x_n() + group * arg_x_g();
}

FETCHED fetch_b(uint i, uint k0) {
    vec4 v;
    [[unroll]] for (uint c = 0u; c < 4u; c++) {
        uint channel = from_channel + place_b(i, c);
        if (K_TAIL == 1u) channel = min(channel, channels - 1u);
        v[c] = load_x(plane + under + channel * along_channels);
    }
    return fetched(v);
}
