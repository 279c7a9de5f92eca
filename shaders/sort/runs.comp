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

void exchange(uint a, uint b) {
    Item low = held(a), high = held(b);
    if (less(low, high)) return;
    hold(a, high);
    hold(b, low);
}

// 512 pairs, `span` apart within blocks of twice that, or mirrored in the block.
void exchange_all(uint t, uint level, bool mirrored) {
    uint span = 1u << level;
    [[unroll]] for (uint u = 0u; u < 2u; u++) {
        uint p = t + 256u * u, in_block = p & (span - 1u), block = (p >> level) << (level + 1u);
        exchange(block + in_block, block + (mirrored ? 2u * span - 1u - in_block : in_block + span));
    }
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
        exchange_all(t, size, true);
        for (uint level = size; level > 0u; level--) exchange_all(t, level - 1u, false);
    }
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint i = t + 256u * u, r, row = divide((first + i) >> LEVELS, arg_runs(), r);
        if (row < arg_rows()) write_place(row, r, i & (SIZE - 1u), places[i]);
    }
}
