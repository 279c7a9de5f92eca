// The law of sums (pairs.glsl) for attention: RUNS makes the binary counter of a thread's ROWS rows of QUADS quads, the
// sums of weighted values in `acc` and of weights in SUM. Each level is relative to MAX(r) as it was when the level was
// left; maxima only grow.
// EACH is how loops over quads are compiled.
#ifndef EACH
#define EACH [[unroll]]
#endif
#define RUNS(ROWS, QUADS, LEVELS, SUM, MAX) \
vec4 paired[(LEVELS) * (ROWS) * (QUADS)]; \
vec2 paired_runs[(LEVELS) * (ROWS)]; \
uint chains = 0u; \
bool holds_run(uint l) { return (l + 1u < (LEVELS) ? chains >> l & 1u : chains >> l) != 0u; } \
void join_level(uint l) { \
    [[unroll]] for (uint r = 0u; r < (ROWS); r++) { \
        vec2 run = paired_runs[l * (ROWS) + r]; \
        float m = MAX(r), shrink = weight(run.x, m); \
        SUM[r] += run.x < LOWEST ? (m < LOWEST ? run.y : 0.0) : run.y * shrink; \
        EACH for (uint i = 0u; i < (QUADS); i++) \
            acc[r * (QUADS) + i] = fma(paired[(l * (ROWS) + r) * (QUADS) + i], vec4(shrink), acc[r * (QUADS) + i]); \
    } \
} \
void carry() { \
    uint l = 0u; \
    [[dont_unroll]] for (; l < (LEVELS) && holds_run(l); l++) join_level(l); \
    l = min(l, (LEVELS) - 1u); \
    [[unroll]] for (uint r = 0u; r < (ROWS); r++) { \
        paired_runs[l * (ROWS) + r] = vec2(MAX(r), SUM[r]); \
        SUM[r] = 0.0; \
        EACH for (uint i = 0u; i < (QUADS); i++) { \
            paired[(l * (ROWS) + r) * (QUADS) + i] = acc[r * (QUADS) + i]; \
            acc[r * (QUADS) + i] = vec4(0.0); \
        } \
    } \
    chains++; \
} \
void join_runs() { \
    [[dont_unroll]] for (uint l = 0u; l < (LEVELS) && chains >> l != 0u; l++) \
        if (holds_run(l)) join_level(l); \
}
