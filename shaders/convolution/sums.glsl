// The sums of a thread: MR outputs of four positions.
//
// Terms are summed channel by channel, of each its taps row by row (taps.glsl): chains of 128 terms, then pairs (pairs.glsl).
// A tap outside the operand multiplies 0, so that an infinite weight there gives NaN. UK terms are one turn of the loop; what
// of them lies past the end of a chain is left out.
vec4 acc[MR];
PAIRS(vec4, MR, 12u, acc, ADD, vec4(0.0))

// The number of the current tap among the weights.
uint tap_number();

// The operand under the current tap, of the channel that begins at `from`.
vec4 under_tap(uint from) {
    vec4 v = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        ivec3 at = origin[e] + reach;
        if (is_inside(at))
            v[e] = load_x(from + uint(at.x) * arg_x_d() + uint(at.y) * arg_x_h() + uint(at.z) * arg_x_w());
    }
    return rounded_x(v);
}

// The sums over so many channels of `rows` outputs, whose operand and weights begin there.
void sum_terms(uint channels, uint from, uint weights, uint rows) {
    [[unroll]] for (uint i = 0u; i < MR; i++) acc[i] = vec4(0.0);
    uint terms = channels * taps.x * taps.y * taps.z;
    for (uint k = 0u; k < terms;) {
        uint chain_end = min(k + 128u, terms);
        for (; k < chain_end; k += UK) [[unroll]] for (uint j = 0u; j < UK; j++) {
            if (UK > 1 && k + j >= chain_end) continue;
            vec4 v = under_tap(from);
            uint weight = weights + tap_number() * arg_w_tap();
            [[unroll]] for (uint i = 0u; i < MR; i++)
                acc[i] = fma(vec4(rounded_w(load_w(weight + min(i, rows - 1u) * arg_w_o()))), v, acc[i]);
            next_tap();
            if (is_first_tap()) {
                from += arg_x_c();
                weights += arg_w_c();
            }
        }
        if (k < terms) carry();
    }
    join_pairs();
}
