// The updates of an element, whose places are in order: positions low to high of them, found by bisection. A group first
// finds those of all its elements, which mostly are few. TAKE_ROW, TAKE_FIRST, TAKE_SECOND and END_CHAIN stand before it.
shared uint bounds[2];

// The first of positions low to high whose place is not before this one, or (`past`) is after it; else high.
uint bisect(int place, uint low, uint high, bool past) {
    for (uint step = 0u; step < 32u && low < high; step++) {
        uint middle = low + (high - low) / 2u;
        int other = int(loadu_places(middle));
        if (other < place || past && other == place) low = middle + 1u;
        else high = middle;
    }
    return low;
}

// Positions of the updates of element e, in column c of its row; all invocations of a group come here.
uvec2 positions(uint e, out uint c) {
    uint t = gl_LocalInvocationID.x, begin = e - t, most = arg_n() - 1u, unused;
    uint place = divide(min(e, most), arg_inner(), c);
    if (t < 2u) {
        uint end = divide(min(begin + 255u * t, most), arg_inner(), unused);
        bounds[t] = bisect(int(end), 0u, arg_count(), t == 1u);
    }
    barrier();
    uint low = bisect(int(place), bounds[0], max(bounds[0], bounds[1]), false);
    return uvec2(low, bisect(int(place), low, max(low, bounds[1]), true));
}

void take_row(uint i, uint c) {
    uint row = loadu_order(i);
    if (row < arg_count()) TAKE_ROW(row * arg_inner() + c);
}

// TAKE of each i from `low` to `high`, in chains of 128.
#define TAKE_ALL(low, high, TAKE) \
    for (uint i = low; i < (high);) { \
        for (uint end = min(i + 128u, high); i < end; i++) TAKE; \
        END_CHAIN \
    }

void take_rows(uint low, uint high, uint c) { TAKE_ALL(low, high, take_row(i, c)) }
void take_first(uint low, uint high, uint c) { TAKE_ALL(low, high, TAKE_FIRST(i * arg_inner() + c)) }
void take_second(uint low, uint high, uint c) { TAKE_ALL(low, high, TAKE_SECOND(i * arg_inner() + c)) }

// Rows up to a whole chunk of 128, chunks up to a whole one of 128 chunks, those, and what is left of both.
void take(uint low, uint high, uint c) {
    uint chunk = (low + 127u) / 128u, chunks = PARTIALS > 0u ? high / 128u : 0u;
    uint large = (chunk + 127u) / 128u, larges = PARTIALS > 1u ? chunks / 128u : 0u;
    if (chunk >= chunks) {
        take_rows(low, high, c);
        return;
    }
    take_rows(low, chunk * 128u, c);
    take_first(chunk, large < larges ? large * 128u : chunks, c);
    if (large < larges) {
        take_second(large, larges, c);
        take_first(larges * 128u, chunks, c);
    }
    take_rows(chunks * 128u, high, c);
}
