// A group lists the updates of its ROWS places from `first_place` on, in order, of WINDOW updates from `begin` on. Thread
// t looks at EACH of them, 256 apart, and lists those of EACH neighbours.
const uint EACH = 16u, WINDOW = 256u * EACH, NONE = 0xffffffffu;
// Updates of a window by number, one word more for each thread; then those listed: number << 8 | place.
shared uint listed[WINDOW + 256u];
shared uint counts[256], starts[16], of_place[256];

uint t, begin, first_place;

// The place of update j among those of the group; false where it has none. Group 0 reports what is outside.
bool place_of(uint j, out uint place) {
    uint at = 0u, parts = arg_parts();
    bool inside = true;
    for (uint i = 0u; i < parts; i++) {
        uint part, extent = arg_dims(i);
        bool fits = index_at(j * parts + i, extent, part);
        if (!fits && linear_group() == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), j * parts + i);
        inside = inside && fits;
        at = at * extent + part;
    }
    place = at - first_place;
    return inside && place < ROWS;
}

// Marks the updates of the window whose one index names a place of the group: all indices are on their way together.
void look() {
    uint at[EACH], last = arg_count() - 1u;
    bool fits[EACH];
    [[unroll]] for (uint i = 0u; i < EACH; i++)
        fits[i] = index_at(min(begin + 256u * i + t, last), arg_dims(0), at[i]);
    [[unroll]] for (uint i = 0u; i < EACH; i++) {
        uint j = 256u * i + t;
        bool there = begin + j <= last;
        if (there && !fits[i] && linear_group() == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), begin + j);
        listed[j + j / EACH] = there && fits[i] && at[i] - first_place < ROWS ? j << 8u | at[i] - first_place : NONE;
    }
}

// Lists the updates of the window; how many.
uint list() {
    uint own[EACH], mine = 0u, at = 0u, all = 0u;
    of_place[t] = 0u;
    if (arg_parts() == 1u) look();
    else {
        for (uint i = 0u; i < EACH; i++) {
            uint j = 256u * i + t, place;
            bool hit = begin + j < arg_count() && place_of(begin + j, place);
            listed[j + j / EACH] = hit ? j << 8u | place : NONE;
        }
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < EACH; i++) {
        own[i] = listed[t * (EACH + 1u) + i];
        if (own[i] != NONE) mine++;
    }
    counts[t] = mine;
    barrier();
    if (t < 16u) {
        uint run = 0u;
        [[unroll]] for (uint i = 0u; i < 16u; i++) run += counts[16u * t + i];
        starts[t] = run;
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < 16u; i++) {
        all += starts[i];
        if (i < t / 16u) at += starts[i];
        if (i < t % 16u) at += counts[t / 16u * 16u + i];
    }
    if (mine > 0u) {
        [[unroll]] for (uint i = 0u; i < EACH; i++) {
            if (own[i] == NONE) continue;
            listed[at++] = own[i];
            if (ROWS > 1u) atomicAdd(of_place[own[i] & 255u], 1u);
        }
    }
    barrier();
    return all;
}
