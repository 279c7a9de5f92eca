#version 460
// y[p, c] = epilogue(data[p, c] and the updates of place p, by MODE: 1 sum, 2 product, 3 maximum, 4 minimum). A group
// makes ROWS places of COLUMNS columns. Window by window it lists the updates of its places in order (listed.glsl);
// LANES threads of an element take every LANES-th that is listed, 128 to a chain, then pairs (pairs.glsl). Places that
// have more than HEAVY of a window get all threads, one after the other.
#include "interface.glsl"
#include "index.glsl"
#include "divide.glsl"
#include "floats.glsl"
#include "pairs.glsl"
layout(local_size_x = 256) in;

float hole_epilogue(float v, uint e) { return v; }

#include "listed.glsl"

const uint HEAVY = 64u, LANES = 256u / (ROWS * COLUMNS), ALL = 256u / COLUMNS;
shared float shares[256];
uint first_column;

float sum[1];
PAIRS(float, 1, 20u, sum, combine, identity())

// v with column c of the updates of a place among four of the `all` that are listed, `step` apart from k on.
float four(float v, uint k, uint step, uint all, uint place, uint c) {
    float terms[4];
    bool own[4];
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint at = k + i * step, entry = listed[min(at, all - 1u)];
        own[i] = at < all && (entry & 255u) == place && c < arg_inner();
        terms[i] = 0.0;
        if (own[i]) terms[i] = load_updates((begin + (entry >> 8u)) * arg_inner() + c);
    }
    [[unroll]] for (uint i = 0u; i < 4u; i++) if (own[i]) v = combine(v, terms[i]);
    return v;
}

// The reduction of all updates listed of a place, by all threads: of column t % COLUMNS in shares[t % COLUMNS].
void share(uint all, uint place) {
    float part = identity(), chain = part;
    uint blocks = 0u;
    for (uint k = t / COLUMNS; k < all; k += 4u * ALL) {
        chain = four(chain, k, ALL, all, place, first_column + t % COLUMNS);
        if (++blocks % 32u > 0u) continue;
        part = combine(part, chain);
        chain = identity();
    }
    shares[t] = combine(part, chain);
    for (uint s = ALL / 2u; s > 0u; s >>= 1u) {
        barrier();
        if (t / COLUMNS < s) shares[t] = combine(shares[t], shares[t + s * COLUMNS]);
    }
    barrier();
}

void main() {
    keep_holes();
    t = gl_LocalInvocationID.x;
    uint inner = arg_inner(), places, unused, block;
    places = divide(arg_n(), inner, unused);
    first_place = ROWS * divide(linear_group(), (inner + COLUMNS - 1u) / COLUMNS, block);
    first_column = COLUMNS * block;
    if (first_place >= places) return;
    uint element = t % (ROWS * COLUMNS), lane = t / (ROWS * COLUMNS), place = element / COLUMNS;
    uint c = first_column + element % COLUMNS, blocks = 0u;
    bool hit = false;
    sum[0] = identity();
    for (begin = 0u; begin < arg_count(); begin += WINDOW) {
        uint all = list();
        bool light = ROWS == 1u || of_place[place] <= HEAVY;
        hit = hit || (ROWS == 1u ? all : of_place[place]) > 0u;
        for (uint k = light ? lane : all; k < all; k += 4u * LANES) {
            sum[0] = four(sum[0], k, LANES, all, place, c);
            if (++blocks % 32u == 0u) carry();
        }
        for (uint r = 0u; r < ROWS && ROWS > 1u && all > HEAVY; r++) {
            if (of_place[r] <= HEAVY) continue;
            share(all, r);
            if (place == r && lane == 0u) sum[0] = combine(sum[0], shares[element % COLUMNS]);
            if (++blocks % 32u == 0u) carry();
            barrier();
        }
        barrier();
    }
    join_pairs();
    shares[t] = sum[0];
    for (uint s = LANES / 2u; s > 0u; s >>= 1u) {
        barrier();
        if (lane < s) shares[t] = combine(shares[t], shares[t + s * ROWS * COLUMNS]);
    }
    if (lane > 0u || c >= inner || first_place + place >= places) return;
    uint e = (first_place + place) * inner + c;
    float v = load_data(e);
    // What no update is for keeps its bits.
    if (hit) v = combine(v, shares[t]);
    store_y(e, hole_epilogue(v, e));
}
