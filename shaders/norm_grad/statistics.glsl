// Mean and inverse deviation of places: that of index i is i / after % places. QUADS makes a function that reads four
// neighbouring elements of an operand, of which `left` exist, and 0 for the others.

struct Statistics {
    vec4 mean;
    vec4 inverse;
};

uint statistics_place(uint i) { return i / arg_after() % arg_places(); }

// Of four elements alike.
Statistics statistics(uint i) {
    uint s = statistics_place(i);
    return Statistics(vec4(CENTRED == 1u ? load_mean(s) : 0.0), vec4(load_inverse(s)));
}

// Of four neighbours from i on, of which `left` exist.
Statistics statistics4(uint i, uint left) {
    Statistics found;
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uint s = statistics_place(i + min(e, left - 1u));
        found.mean[e] = CENTRED == 1u ? load_mean(s) : 0.0;
        found.inverse[e] = load_inverse(s);
    }
    return found;
}

#define QUADS(NAME) \
vec4 quad_##NAME(uint at, uint left) { \
    if (VEC == 1u || (left >= 4u && (at & 3u) == 0u)) return load4_##NAME(at >> 2u); \
    return vec4(load_##NAME(at), left > 1u ? load_##NAME(at + 1u) : 0.0, left > 2u ? load_##NAME(at + 2u) : 0.0, \
                left > 3u ? load_##NAME(at + 3u) : 0.0); \
}
