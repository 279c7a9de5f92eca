// How many neighbours of each column a thread reads at once, a power of two; 0 where it reads quads: 32 of Q4_K, sixteen codes of one
// scale. Of several rows none: the registers are short.
#if MM == 1 && defined(CODES)
uint at_once() { return has_code_runs() ? 16u : 0u; }
void add_run(uint k) {
    vec4 fa[4], fb[4];
    [[unroll]] for (uint q = 0u; q < 4u; q++) fa[q] = rounded_a(load4_a((at_a[0] + k) / 4u + q));
    [[unroll]] for (uint j = 0u; j < OUT; j++) {
        code_run(at_b[j] + k, fb);
        [[unroll]] for (uint q = 0u; q < 4u; q++) acc[j] = fma(fa[q], rounded_b(fb[q]), acc[j]);
    }
}
#elif MM == 1 && defined(BLOCKS)
#include "blocks/q4_k_part.glsl"
uint at_once() { return T_b == SCHEME_Q4_K ? 32u : 0u; }
void add_run(uint k) {
    uint part = k >> 5u, first = at_a[0] + q4_k_first(part);
    vec4 fa[8], low[4], high[4];
    [[unroll]] for (uint q = 0u; q < 8u; q++) fa[q] = rounded_a(load4_a((first + 4u * q + (q & 4u) * 4u) >> 2u));
    [[unroll]] for (uint j = 0u; j < OUT; j++) {
        q4_k_part((at_b[j] >> 8u) + (part >> 3u), part & 7u, low, high);
        [[unroll]] for (uint q = 0u; q < 4u; q++) {
            acc[j] = fma(fa[q], rounded_b(low[q]), acc[j]);
            acc[j] = fma(fa[q + 4u], rounded_b(high[q]), acc[j]);
        }
    }
}
#else
uint at_once() { return 0u; }
void add_run(uint k) {}
#endif
