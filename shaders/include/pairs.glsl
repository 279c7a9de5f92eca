// The law of sums: no chain has more than 128 additions; what chains gave is added in pairs, at any length. So a sum of K
// terms of one sign is off by 128 + log2 K units of 2^-24 at most, and by a third of it where all terms are equal.
//
// PAIRS(T, N, LEVELS, ACC, JOIN, NONE) makes a binary counter of partial sums for the N chains of the array ACC: `carry`
// adds what the chains have to it and begins them anew, `join_pairs` adds what the counter holds to the chains. Level l
// holds 2^l chains; the last one is a chain itself, of at most 128 for as many terms as LEVELS is chosen for. JOIN adds two
// values of type T, NONE is what it leaves alone. The levels are memory of the invocation, touched once in a chain; a sum
// that is one chain does not touch them. A call of `carry` turns twice on average, `join_pairs` LEVELS + 1 times at most.
#define PAIRS(T, N, LEVELS, ACC, JOIN, NONE) \
T paired[(N) * (LEVELS)]; \
uint chains = 0u; \
bool holds_pair(uint l) { return (l + 1u < (LEVELS) ? chains >> l & 1u : chains >> l) != 0u; } \
void carry() { \
    uint l = 0u; \
    [[dont_unroll]] for (; l < (LEVELS) && holds_pair(l); l++) \
        [[unroll]] for (uint i = 0u; i < (N); i++) ACC[i] = JOIN(paired[l * (N) + i], ACC[i]); \
    l = min(l, (LEVELS) - 1u); \
    [[unroll]] for (uint i = 0u; i < (N); i++) { \
        paired[l * (N) + i] = ACC[i]; \
        ACC[i] = NONE; \
    } \
    chains++; \
} \
void join_pairs() { \
    [[dont_unroll]] for (uint l = 0u; l < (LEVELS) && chains >> l != 0u; l++) \
        if (holds_pair(l)) \
            [[unroll]] for (uint i = 0u; i < (N); i++) ACC[i] = JOIN(paired[l * (N) + i], ACC[i]); \
}
#define ADD(a, b) ((a) + (b))
