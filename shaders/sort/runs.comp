#version 460
// y = places of x in order, in runs of SIZE; a group has 1024 places, those of whole runs. Bitonic: runs in order are
// put against their mirrors, then halves are exchanged (Batcher, 1968); what is missing comes last.
#include "interface.glsl"
#include "sorted.glsl"
layout(local_size_x = 256) in;

const uint SIZE = 1u << LEVELS;

Item first_item(uint run, uint i) {
    uint runs = arg_runs(), m = arg_m(), r, row = divide(run, runs, r), at = r * SIZE + i;
    if (row >= arg_rows() || at >= m) return NONE;
    uint place = at;
    if (GIVEN == 1u) place = loadu_order(row_begin(row, m) + at * arg_inner());
    return item_at(row_begin(row, arg_n()), place);
}

void order(inout Item a, inout Item b) {
    if (!less(b, a)) return;
    Item c = a;
    a = b;
    b = c;
}

// 512 pairs of neighbours.
void exchange_neighbours(uint t) {
    [[unroll]] for (uint u = 0u; u < 2u; u++) {
        uint a = 2u * (t + 256u * u);
        Item low = held(a), high = held(a + 1u);
        order(low, high);
        hold(a, low);
        hold(a + 1u, high);
    }
    barrier();
}

// Pairs 2^level apart within blocks of twice that, or mirrored in the block, and then those half as far apart: 256
// times four places that meet each other alone.
void exchange_two(uint t, uint level, bool mirrored) {
    uint span = 1u << (level - 1u), a = t & (span - 1u), begin = (t >> (level - 1u)) << (level + 1u);
    uint far = mirrored ? 3u * span - 1u - a : 2u * span + a;
    Item p = held(begin + a), q = held(begin + a + span), r = held(begin + far), s = held(begin + far + span);
    if (mirrored) {
        order(p, s);
        order(q, r);
    } else {
        order(p, r);
        order(q, s);
    }
    order(p, q);
    order(r, s);
    hold(begin + a, p);
    hold(begin + a + span, q);
    hold(begin + far, r);
    hold(begin + far + span, s);
    barrier();
}

void main() {
    uint t = gl_LocalInvocationID.x, first = linear_group() * 1024u;
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint i = t + 256u * u;
        hold(i, first_item((first + i) >> LEVELS, i & (SIZE - 1u)));
    }
    barrier();
    for (uint size = 0u; size < LEVELS; size++) {
        if (size > 0u) exchange_two(t, size, true);
        uint left = size > 0u ? size - 1u : 1u;
        for (; left > 1u; left -= 2u) exchange_two(t, left - 1u, false);
        if (left == 1u) exchange_neighbours(t);
    }
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint i = t + 256u * u, r, row = divide((first + i) >> LEVELS, arg_runs(), r);
        if (row < arg_rows()) write_place(row, r, i & (SIZE - 1u), places[i]);
    }
}
