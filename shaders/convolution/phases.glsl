// The phases of a transposed convolution: positions o whose o + begin leaves the same remainder when the stride `up` divides
// it. Tap t of a position takes part where up divides o + begin - t · dilation; so of a phase every `gap`-th tap does, from a
// first one on, at every position, and position number q of the phase has tap number j of those at origin + q + j · hop.
//
// With s what up and dilation have in common, gap = up / s, hop = -dilation / s, and inverse · dilation / s is 1 modulo gap.
// There are min(up, out) phases along an axis: phase f begins at position f.
struct Phase {
    uvec3 first, size, taps; // its first position, how many there are, how many taps
    uvec3 tap;               // the first of these
    ivec3 origin;            // where that lies for the first position
};

#define ALONG(WHAT) uvec3(WHAT(0), WHAT(1), WHAT(2))

uvec3 phases_along() { return min(ALONG(arg_up), ALONG(arg_out)); }

// Positions of the largest phases.
uvec3 most_along() { return (ALONG(arg_out) + ALONG(arg_up) - 1u) / ALONG(arg_up); }

Phase phase_of(uint number) {
    uvec3 up = ALONG(arg_up), gap = ALONG(arg_gap), kernel = ALONG(arg_kernel), phases = phases_along(), share = up / gap;
    ivec3 hop = ivec3(arg_hop(0), arg_hop(1), arg_hop(2));
    Phase p;
    uint line = number / phases.z;
    p.first = uvec3(line / phases.y, line % phases.y, number % phases.z);
    p.size = (ALONG(arg_out) - p.first + up - 1u) / up;
    uvec3 from = p.first + ALONG(arg_begin), rest = from % up;
    p.tap = rest / share * ALONG(arg_inverse) % gap;
    [[unroll]] for (uint d = 0u; d < 3u; d++)
        p.taps[d] = rest[d] % share[d] == 0u && p.tap[d] < kernel[d] ? (kernel[d] - p.tap[d] - 1u) / gap[d] + 1u : 0u;
    // What the stride divides, so that signed quotients are exact.
    ivec3 over = ivec3(rest) + ivec3(p.tap) * hop * ivec3(share);
    p.origin = ivec3(from / up) + over / ivec3(up);
    return p;
}

// Along each axis, the position of the phase with that number.
uvec3 position_of(Phase p, uint number) {
    uvec3 q;
    uint line = divide(number, p.size.z, q.z);
    q.x = divide(line, p.size.y, q.y);
    return q;
}

// Its place in the result.
uint place_in_result(Phase p, uvec3 q) {
    uvec3 o = p.first + q * ALONG(arg_up);
    return (o.x * arg_out(1) + o.y) * arg_out(2) + o.z;
}

// The number among all taps of one of the phase.
uint number_of_tap(Phase p, uvec3 j) {
    uvec3 t = p.tap + j * ALONG(arg_gap);
    return (t.x * arg_kernel(1) + t.y) * arg_kernel(2) + t.z;
}
