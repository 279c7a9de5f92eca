#version 460
// Fills a row of found words by `count` instructions (op, dst, a, b), in order, on one thread; see advance.comp. Of op 8
// the operand a says which count, which is at least 0 and at most literal b.
#include "interface.glsl"
#include "instructions.glsl"
layout(local_size_x = 1) in;

const uint OF_ROW = 1u << 31u;

int get(uint at) {
    return int((at & OF_ROW) == 0u ? loadu_words(at) : loadu_row(at & ~OF_ROW));
}

int count_of(uint k) {
    if (k == 0u) return int(loadu_count_0(0u));
    if (k == 1u) return int(loadu_count_1(0u));
    return int(k == 2u ? loadu_count_2(0u) : loadu_count_3(0u));
}

void main() {
    uint at = arg_at(), count = arg_count();
    if (gl_WorkGroupID.x + gl_WorkGroupID.y + gl_WorkGroupID.z != 0u) return;
    for (uint i = 0u; i < count; i++, at += 4u) {
        uint op = loadu_words(at), dst = loadu_words(at + 1u), a = loadu_words(at + 2u), b = loadu_words(at + 3u);
        int v;
        if (op == 0u) v = int(a);
        else if (op == 1u) v = get(a);
        else if (op == 8u) v = clamp(count_of(a), 0, int(b));
        else v = arithmetic(op, get(a), get(b));
        storeu_row(dst, uint(v));
    }
}
