// Runs of SIZE elements cumulated in shared memory: 1024 elements a group, four neighbours of a run a thread; what
// threads have is cumulated in steps of which each joins what lies twice as far apart (Hillis and Steele, 1986). Around
// it: T, NONE, load_element, store_element, join, load_first.
#include "divide.glsl"
layout(local_size_x = 256) in;

const uint SIZE = 1u << LEVELS, ROWS = 1024u >> LEVELS;

shared T held[1024], wholes[256];

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

// Elements of a thread, neighbours of a run: as many as it has, at most four.
const uint OWN = SIZE < 4u ? SIZE : 4u, BETWEEN = ACROSS == 1u ? ROWS : 1u;

// Threads whose elements are those of one run, and how far apart they are.
const uint OF_RUN = SIZE / OWN;

// What thread t has of what is held: the first of them.
uint first_of(uint t) {
    return ACROSS == 1u ? t / ROWS * OWN * ROWS + (t & (ROWS - 1u)) : OWN * t;
}

uint place_in_run(uint t) { return ACROSS == 1u ? t / ROWS : t & (OF_RUN - 1u); }

// What the threads of a run before thread t have.
T before_thread(uint t, T own) {
    uint i = place_in_run(t);
    wholes[t] = own;
    barrier();
    for (uint reach = 1u; reach < OF_RUN; reach <<= 1u) {
        if (i >= reach) own = join(wholes[t - BETWEEN * reach], own);
        barrier();
        wholes[t] = own;
        barrier();
    }
    return i > 0u ? wholes[t - BETWEEN] : NONE;
}

void cumulate(uint t) {
    T v[4];
    uint first = first_of(t);
    [[unroll]] for (uint u = 0u; u < OWN; u++) {
        v[u] = held[first + BETWEEN * u];
        if (u > 0u) v[u] = join(v[u - 1u], v[u]);
    }
    T before = before_thread(t, v[OWN - 1u]);
    bool is_first = place_in_run(t) == 0u;
    [[unroll]] for (uint u = 0u; u < OWN; u++)
        held[first + BETWEEN * u] = is_first ? v[u] : join(before, v[u]);
    barrier();
}

// Runs of two: 512 pairs.
void cumulate_pairs(uint t) {
    [[unroll]] for (uint u = 0u; u < 2u; u++) {
        uint pair = t + 256u * u, a = ACROSS == 1u ? pair : 2u * pair;
        held[a + BETWEEN] = join(held[a], held[a + BETWEEN]);
    }
    barrier();
}

void main() {
    uint t = gl_LocalInvocationID.x, group = linear_group();
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        Place p = place_of(group, t + 256u * u);
        held[t + 256u * u] = p.row < arg_rows() && along(p) < arg_n() ? load_element(element_of(p)) : NONE;
    }
    barrier();
    if (SIZE == 2u) cumulate_pairs(t);
    else if (SIZE > 2u) cumulate(t);
    [[unroll]] for (uint u = 0u; u < 4u; u++) {
        uint e = t + 256u * u;
        Place p = place_of(group, e);
        write(p, held[e], p.i > 0u ? held[e - BETWEEN] : NONE);
    }
}
