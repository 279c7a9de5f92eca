// Runs of SIZE elements cumulated in shared memory: 1024 elements a group, four a thread, in LEVELS steps of which each
// joins what lies twice as far apart (Hillis and Steele, 1986). Around it: T, NONE, load_element, store_element, join,
// load_first.
#include "divide.glsl"
layout(local_size_x = 256) in;

const uint SIZE = 1u << LEVELS, ROWS = 1024u >> LEVELS;

shared T held[1024];

struct Place {
    uint row, run, i;
};

// What element e of the group is: of the next run, or of the row beside.
Place place_of(uint group, uint e) {
    Place p;
    uint runs = arg_runs();
    if (ACROSS == 1u) {
        p.row = divide(group, runs, p.run) * ROWS + (e & (ROWS - 1u));
        p.i = e / ROWS;
    } else {
        p.row = divide(group * ROWS + (e >> LEVELS), runs, p.run);
        p.i = e & (SIZE - 1u);
    }
    return p;
}

uint index_of(Place p, uint i, uint extent) {
    uint inner = arg_inner(), c, o = divide(p.row, inner, c);
    return (o * extent + i) * inner + c;
}

// Element of the axis, which lies past the end for what fills a run up.
uint along(Place p) { return p.run * SIZE + p.i; }

uint element_of(Place p) {
    uint n = arg_n(), i = along(p);
    return index_of(p, REVERSE == 1u ? n - 1u - i : i, n);
}

void write(Place p, T whole, T exclusive) {
    if (p.row >= arg_rows() || p.run >= arg_runs()) return;
    if (TOTALS == 1u) {
        if (p.i == SIZE - 1u) store_element(index_of(p, p.run, arg_runs()), whole);
        return;
    }
    if (along(p) >= arg_n()) return;
    T y = EXCLUSIVE == 1u ? exclusive : whole;
    if (GIVEN == 1u) y = join(load_first(index_of(p, p.run, arg_runs())), y);
    store_element(element_of(p), y);
}

void main() {
    uint t = gl_LocalInvocationID.x, group = linear_group(), between = ACROSS == 1u ? ROWS : 1u;
    T v[4];
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        Place p = place_of(group, t + 256u * u);
        v[u] = p.row < arg_rows() && along(p) < arg_n() ? load_element(element_of(p)) : NONE;
        held[t + 256u * u] = v[u];
    }
    barrier();
    for (uint level = 0u; level < LEVELS; level++) {
        [[unroll]] for (uint u = 0u; u < 4u; u++) {
            uint e = t + 256u * u, i = place_of(group, e).i;
            if (i >> level != 0u) v[u] = join(held[e - (between << level)], v[u]);
        }
        barrier();
        [[unroll]] for (uint u = 0u; u < 4u; u++) held[t + 256u * u] = v[u];
        barrier();
    }
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint e = t + 256u * u;
        Place p = place_of(group, e);
        write(p, v[u], p.i > 0u ? held[e - between] : NONE);
    }
}
