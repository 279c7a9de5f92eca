#version 460
// Fills a row of found words by `count` instructions (op, dst, a, b); see advance.comp. Of op 8 the operand a says which
// count, which is at least 0 and at most literal b. Above the opcode stands the instruction's wave: waves ascend, and
// those of one wave do not know each other's words, so each thread does one, from words that all have read at once.
// A row of more words than a group holds is filled in order by one thread.
#include "interface.glsl"
#include "instructions.glsl"
const uint THREADS = 64u;
layout(local_size_x = 64) in;

const uint OF_ROW = 1u << 31u, HELD = 1024u;
shared int row[HELD];

int count_of(uint k) {
    if (k == 0u) return int(loadu_count_0(0u));
    if (k == 1u) return int(loadu_count_1(0u));
    return int(k == 2u ? loadu_count_2(0u) : loadu_count_3(0u));
}

bool reads_words(uint kind) {
    return kind != 0u && kind != 8u;
}

// An operand that is no word of the row.
int outer(uint kind, uint a) {
    return reads_words(kind) && (a & OF_ROW) == 0u ? int(loadu_words(a)) : 0;
}

int get(uint at) {
    return int((at & OF_ROW) == 0u ? loadu_words(at) : loadu_row(at & ~OF_ROW));
}

void in_order(uint at, uint count) {
    for (uint i = 0u; i < count; i++, at += 4u) {
        uint kind = loadu_words(at) & 255u, dst = loadu_words(at + 1u), a = loadu_words(at + 2u), b = loadu_words(at + 3u);
        int v;
        if (kind == 0u) v = int(a);
        else if (kind == 8u) v = clamp(count_of(a), 0, int(b));
        else v = kind == 1u ? get(a) : arithmetic(kind, get(a), get(b));
        storeu_row(dst, uint(v));
    }
}

void main() {
    uint at = arg_at(), count = arg_count(), me = gl_LocalInvocationIndex;
    if (gl_WorkGroupID.x + gl_WorkGroupID.y + gl_WorkGroupID.z != 0u) return;
    if (arg_len() > HELD) {
        if (me == 0u) in_order(at, count);
        return;
    }
    for (uint first = 0u; first < count; first += THREADS) {
        uint here = at + 4u * min(first + me, count - 1u), last = at + 4u * (min(first + THREADS, count) - 1u);
        uint op = loadu_words(here), dst = loadu_words(here + 1u), a = loadu_words(here + 2u), b = loadu_words(here + 3u);
        uint wave = loadu_words(at + 4u * first) >> 8u, end = loadu_words(last) >> 8u;
        uint kind = op & 255u;
        // Before the first wave, so that no wave waits for memory.
        int x = outer(kind, a), y = kind == 1u ? 0 : outer(kind, b);
        if (kind == 0u) x = int(a);
        if (kind == 8u) x = clamp(count_of(a), 0, int(b));
        for (; wave <= end; wave++) {
            if (first + me < count && op >> 8u == wave) {
                if (reads_words(kind)) {
                    if ((a & OF_ROW) != 0u) x = row[a & ~OF_ROW];
                    if (kind != 1u && (b & OF_ROW) != 0u) y = row[b & ~OF_ROW];
                    if (kind != 1u) x = arithmetic(kind, x, y);
                }
                row[dst] = x;
                storeu_row(dst, uint(x));
            }
            barrier();
        }
    }
}
