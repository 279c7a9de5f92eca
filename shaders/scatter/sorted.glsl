// The updates of an element, whose places are in order: positions low to high of them, found by bisection. A group first
// finds those of all its elements, which mostly are few. TAKE_ROW, TAKE_FIRST, TAKE_SECOND and END_CHAIN stand before it.
shared uint bounds[2];

// The first position from low on, below high, whose place is not before (`behind`: is behind) this one; else high.
uint bisect(int place, uint low, uint high, bool behind) {
    for (uint step = 0u; step < 32u && low < high; step++) {
        uint middle = low + (high - low) / 2u;
        int other = int(loadu_places(middle));
        if (other < place || behind && other == place) low = middle + 1u;
        else high = middle;
    }
    return low;
}

// Positions of the element in row `place`, of a group whose elements are in rows first to last.
uvec2 positions(uint place, uint first, uint last) {
    uint t = gl_LocalInvocationID.x;
    if (t < 2u) bounds[t] = bisect(int(t == 0u ? first : last), 0u, arg_count(), t == 1u);
    barrier();
    uint low = bisect(int(place), bounds[0], max(bounds[0], bounds[1]), false);
    return uvec2(low, bisect(int(place), low, max(low, bounds[1]), true));
}

void take_rows(uint low, uint high, uint c) {
    for (uint i = low; i < high;) {
        for (uint end = min(i + 128u, high); i < end; i++) {
            uint row = loadu_order(i);
            if (row < arg_count()) TAKE_ROW(row * arg_inner() + c);
        }
        END_CHAIN
    }
}

void take_first(uint low, uint high, uint c) {
    for (uint i = low; i < high;) {
        for (uint end = min(i + 128u, high); i < end; i++) TAKE_FIRST(i * arg_inner() + c);
        END_CHAIN
    }
}

void take_second(uint low, uint high, uint c) {
    for (uint i = low; i < high;) {
        for (uint end = min(i + 128u, high); i < end; i++) TAKE_SECOND(i * arg_inner() + c);
        END_CHAIN
    }
}

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
