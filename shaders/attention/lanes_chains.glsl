// The law of sums (pairs.glsl) for lanes.comp: up to 64 chains of 64 keys are one sum, and these are added to the whole.
// Sums of chains and sums of those, relative to their own maxima.
vec4 chains[ROWS * WQ], whole[ROWS * WQ];
float chains_max[ROWS], chains_sum[ROWS], whole_max[ROWS], whole_sum[ROWS];
const int CHAIN = 64, CHAINS = 64 * CHAIN;

// What is in FROM becomes part of TO; maxima only grow, and FROM keeps its own.
#define JOIN(TO, TO_SUM, TO_MAX, FROM, FROM_SUM, FROM_MAX) \
    [[unroll]] for (uint r = 0u; r < ROWS; r++) { \
        float shrink = weight(TO_MAX[r], FROM_MAX[r]); \
        TO_SUM[r] = fma(TO_SUM[r], shrink, FROM_SUM[r]); \
        TO_MAX[r] = FROM_MAX[r]; \
        FROM_SUM[r] = 0.0; \
        [[unroll]] for (uint j = 0u; j < WQ; j++) { \
            TO[r * WQ + j] = fma(TO[r * WQ + j], vec4(shrink), FROM[r * WQ + j]); \
            FROM[r * WQ + j] = vec4(0.0); \
        } \
    }
