#version 460
// Runs `count` instructions (op, dst, a, b) over the words of the frame, in order, on one thread.
// 0 literal a, 1 copy, 2 a + b, 3 a * b, 4 floor(a / b), 5 ceil(a / b), 6 minimum, 7 maximum; signed 32 bits, wrapping.
// With counts also: 8 word a of the counts, at most literal b, 9 copy unless word b, 10 clear literal b words if word a.
#include "interface.glsl"
#include "instructions.glsl"
layout(local_size_x = 1) in;

void main() {
    uint at = arg_at(), count = arg_count();
    if (gl_WorkGroupID.x + gl_WorkGroupID.y + gl_WorkGroupID.z != 0u) return;
    for (uint i = 0u; i < count; i++, at += 4u) {
        uint op = loadu_words(at), dst = loadu_words(at + 1u), first = loadu_words(at + 2u);
        if (op == 0u) {
            storeu_words(dst, first);
            continue;
        }
#ifdef COUNTS
        uint second = loadu_words(at + 3u);
        if (op == 8u) {
            storeu_words(dst, min(loadu_counts(first), second));
            continue;
        }
        if (op == 9u) {
            if (loadu_words(second) == 0u) storeu_words(dst, loadu_words(first));
            continue;
        }
        if (op == 10u) {
            if (loadu_words(first) != 0u) {
                for (uint k = 0u; k < second; k++) storeu_words(dst + k, 0u);
            }
            continue;
        }
#endif
        int a = int(loadu_words(first)), b = int(loadu_words(loadu_words(at + 3u)));
        int v = op == 1u ? a : arithmetic(op, a, b);
        storeu_words(dst, uint(v));
    }
}
