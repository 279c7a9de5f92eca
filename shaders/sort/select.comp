#version 460
// y = the first places of runs of more than 1024, in order: one group a run. Radix selection: digit by digit of (key,
// place), the highest first, elements that are still candidates are counted, until as many as are kept are below a
// bound; they meet in shared memory in whatever order, and are put in order there (a bitonic sort).
#include "interface.glsl"
#include "sorted.glsl"
#ifndef THREADS
#define THREADS 256
#endif
layout(local_size_x = THREADS) in;

// Elements that a thread reads side by side.
const uint AHEAD = 4u;
shared uint counts[256], sums[256];
shared uint digit, missing, below, alike;
// The last item that is kept, as words (key, place); what is not decided yet is ones. Of several that are alike, which an
// order may name, `missing` are kept where there are `more`.
uvec3 bound;
bool more;
uint row, begin, first, end;

Item item_of(uint i) {
    if (i >= end) return NONE;
    uint place = i;
    if (GIVEN == 1u) place = loadu_order(row_begin(row, arg_m()) + i * arg_inner());
    return item_at(begin, place);
}

uvec3 words_of(Item item) { return uvec3(item.key.y, item.key.x, item.place); }

// Keeps an item in any place of its own: those below the bound first, where some that are the bound are left out.
void keep(Item item) {
    if (item.place == NONE.place || less(Item(uvec2(bound.y, bound.x), bound.z), item)) return;
    bool is_bound = more && words_of(item) == bound;
    uint at = is_bound ? arg_keep() - missing + atomicAdd(alike, 1u) : atomicAdd(below, 1u);
    if (at < arg_keep()) hold(at, item);
}

// Counts digits at `shift` of word `w` among elements that agree with the bound before it.
void count(uint w, uint shift, uint t) {
    uvec3 mask = uvec3(w > 0u ? ~0u : 0u, w > 1u ? ~0u : 0u, 0u);
    mask[w] = shift == 24u ? 0u : ~0u << (shift + 8u);
    for (uint i = first + t; i < end; i += AHEAD * THREADS) {
        Item items[AHEAD];
        [[unroll]] for (uint u = 0u; u < AHEAD; u++) items[u] = item_of(i + THREADS * u);
        [[unroll]] for (uint u = 0u; u < AHEAD; u++) {
            uvec3 words = words_of(items[u]);
            if (items[u].place != NONE.place && all(equal((words ^ bound) & mask, uvec3(0u))))
                atomicAdd(counts[(words[w] >> shift) & 255u], 1u);
        }
    }
}

// The digit in which the last one kept is, and how many of those with it are kept; none is where all are.
void find(uint t) {
    if (t < 256u) sums[t] = counts[t];
    if (t == 0u) digit = 256u;
    barrier();
    for (uint s = 1u; s < 256u; s <<= 1u) {
        uint sum = t < 256u && t >= s ? sums[t - s] : 0u;
        barrier();
        if (t < 256u) sums[t] += sum;
        barrier();
    }
    uint wanted = missing, before = t < 256u ? sums[t] - counts[t] : 0u;
    barrier();
    if (t < 256u && before < wanted && wanted <= sums[t]) {
        digit = t;
        missing = wanted - before;
    }
    barrier();
}

void select(uint t) {
    bound = uvec3(~0u);
    more = true;
    for (uint level = KIND < 3u ? 4u : 0u; level < 12u && more; level++) {
        uint w = level / 4u, shift = 24u - 8u * (level & 3u);
        if (KIND < 3u) bound.x = 0u;
        if (t < 256u) counts[t] = 0u;
        barrier();
        count(w, shift, t);
        barrier();
        find(t);
        more = digit < 256u;
        if (more) {
            bound[w] ^= (255u ^ digit) << shift;
            more = counts[digit] > missing;
        }
        barrier();
    }
}

void exchange_all(uint t, uint level, bool mirrored) {
    uint span = 1u << level;
    for (uint p = t; 2u * p < 1u << LEVELS; p += THREADS) {
        uint in_block = p & (span - 1u), a = (p >> level) << (level + 1u);
        uint b = a + (mirrored ? 2u * span - 1u - in_block : in_block + span);
        Item low = held(a + in_block), high = held(b);
        if (less(high, low)) {
            hold(a + in_block, high);
            hold(b, low);
        }
    }
    barrier();
}

void main() {
    uint t = gl_LocalInvocationID.x, r;
    row = divide(linear_group(), arg_runs(), r);
    bool works = row < arg_rows();
    first = r * arg_run();
    end = works ? min(first + arg_run(), arg_m()) : first;
    begin = row_begin(row, arg_n());
    for (uint i = t; i < 1024u; i += THREADS) hold(i, NONE);
    if (t == 0u) {
        missing = arg_keep();
        below = 0u;
        alike = 0u;
    }
    select(t);
    for (uint i = first + t; i < end; i += AHEAD * THREADS) {
        Item items[AHEAD];
        [[unroll]] for (uint u = 0u; u < AHEAD; u++) items[u] = item_of(i + THREADS * u);
        [[unroll]] for (uint u = 0u; u < AHEAD; u++) keep(items[u]);
    }
    barrier();
    for (uint size = 0u; size < LEVELS; size++) {
        exchange_all(t, size, true);
        for (uint level = size; level > 0u; level--) exchange_all(t, level - 1u, false);
    }
    for (uint i = t; i < arg_keep() && works; i += THREADS) write_place(row, r, i, places[i]);
}
