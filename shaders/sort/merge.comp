#version 460
// y = two runs of SORTED places merged. A group writes 1024 places of a run: a and b of them from either half, found by
// bisection; each comes after those of the other half that are before it. Whatever `order` holds, what is read stays
// inside, and every place is written.
#include "interface.glsl"
#include "sorted.glsl"
layout(local_size_x = 256) in;

// Rounds of 129 that 2^31 places take.
const uint ROUNDS = 5u;
shared uint cuts[2], passed_by[ROUNDS][2];
uint row, begin, first, middle, end;

Item item_of(uint i) {
    uint place = loadu_order(row_begin(row, arg_m()) + min(i, end - 1u) * arg_inner());
    return item_at(begin, place);
}

// How many of the first d places are of the first half, a cut for each half of the group: a round tries 128 places side
// by side and leaves a 129th of the answers, of which there is one more than places: all of them may be.
uint cut(uint d, uint t) {
    uint side = t / 128u, a = middle - first, b = end - middle, low = d > b ? d - b : 0u;
    uint high = row < arg_rows() ? min(d, a) : 0u;
    for (uint round = 0u, most = arg_sorted(); round < ROUNDS && most > 0u; round++) {
        uint step = (high - min(low, high) + 129u) / 129u, at = low + (t % 128u + 1u) * step - 1u;
        if (low < high && at < high && !less(item_of(middle + d - 1u - at), item_of(first + at)))
            atomicAdd(passed_by[round][side], 1u);
        barrier();
        uint passed = passed_by[round][side];
        high = min(high, low + (passed + 1u) * step - 1u);
        low += passed * step;
        most /= 129u;
    }
    return low;
}

// How many of the items held from `from` to `to` are before the item; equal ones of the first half are.
uint before(Item item, uint from, uint to, bool is_of_first) {
    uint low = from, high = to;
    for (uint step = 0u; step < 11u && low < high; step++) {
        uint half_way = (low + high) / 2u;
        Item other = held(half_way);
        if (is_of_first ? less(other, item) : !less(item, other)) low = half_way + 1u;
        else high = half_way;
    }
    return low - from;
}

void main() {
    uint t = gl_LocalInvocationID.x, blocks = (arg_keep() + 1023u) / 1024u, block, r;
    uint run = divide(linear_group(), blocks, block), d = 1024u * block, size = 2u * arg_sorted();
    row = divide(run, arg_runs(), r);
    first = min(r * size, arg_m());
    middle = min(first + arg_sorted(), arg_m());
    end = min(first + size, arg_m());
    begin = row_begin(row, arg_n());
    uint all = end - first, count = row < arg_rows() && d < all ? min(1024u, all - d) : 0u;
    if (t < 2u * ROUNDS) passed_by[t / 2u][t % 2u] = 0u;
    barrier();
    uint found = cut(d + t / 128u * count, t);
    if (t % 128u == 0u) cuts[t / 128u] = found;
    barrier();
    // Halves that are not in order may be cut the wrong way round.
    uint a = count > 0u ? min(max(cuts[1], cuts[0]) - cuts[0], count) : 0u, b = count - a;
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint i = t + 256u * u;
        if (i < count) hold(i, item_of(i < a ? first + cuts[0] + i : middle + d - cuts[0] + i - a));
    }
    barrier();
    uint at[4], place[4];
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint i = t + 256u * u;
        bool is_of_first = i < a;
        place[u] = places[i];
        if (i < count) at[u] = before(held(i), is_of_first ? a : 0u, is_of_first ? count : a, is_of_first);
        at[u] += is_of_first ? i : i - a;
    }
    barrier();
    [[unroll]] for (uint u = 0u; u < 4u; u++) places[t + 256u * u] = 0xffffffffu;
    barrier();
    // Of halves that are not in order two may meet at one place, and another has none: the smaller stays.
    [[unroll]] for (uint u = 0u; u < 4u; u++)
        if (t + 256u * u < count) atomicMin(places[at[u]], place[u]);
    barrier();
    [[unroll]] for (uint u = 0u; u < 4u; u++)
        if (row < arg_rows()) write_place(row, r, d + t + 256u * u, places[t + 256u * u]);
}
