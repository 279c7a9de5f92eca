// What the gradients of attention share: for a tile of BR rows and BC columns (of queries and keys, or of keys and
// queries) the products of all pairs, and sums over the columns of a weight of each pair times a row of an operand.
//
// TX x TY threads. Of the pairs thread (tx, ty) owns rows ty + TY·i and columns tx + TX·j, of results the same rows
// and the quads tx + TX·j of DP elements from col0 on. Products come from chunks of CH of the width, staged as rows of
// quads, one more each for the banks; weights are staged as [column][four rows of a thread], times chunks of CV rows.
// Products are chains of 128 elements of the width and a chain of those, sums chains of 128 columns, then pairs
// (pairs.glsl). Rows that are not finite are multiplied only for pairs that see each other.
//
// With ROLLED, loops over quads that are staged stay loops.
// In: TILES, how many results there are; `pair_sees(row, column)`.
#include "pairs.glsl"
#ifdef ROLLED
#define STAGED [[dont_unroll]]
const uint TURNS = 1;
#else
#define STAGED [[unroll]]
const uint TURNS = 4;
#endif
const uint NT = TX * TY, RN = BR / TY, CN = BC / TX, ON = DP / (4 * TX);
const uint RQ = BR / 4, CQ = CH / 4, CP = CQ + 1, XQ = DP / 4;
const uint PRODUCTS = (BR + BC) * CP, SUMMED = CV * XQ;
layout(local_size_x = NT) in;

shared vec4 stage[PRODUCTS > SUMMED ? PRODUCTS : SUMMED];
shared vec4 weights[BC * RQ];
shared uint odd;

uint SQ, SK, D, DV, u, tx, ty, row0, rows_end, col0, chunk_id, steps;
uint q_base, k_base, v_base, dy_base;
vec4 acc[TILES * RN * ON];
PAIRS(vec4, TILES * RN * ON, 8u, acc, ADD, vec4(0.0))

#include "quads.glsl"

bool pair_sees(uint row, uint column);

uint row_of(uint i) { return row0 + ty + TY * i; }

uint column_of(uint j) { return tx + TX * j; }

// Weights of one column are permuted by its number, so that threads along columns write different banks.
uint weight_at(uint column, uint quad) { return column * RQ + (quad ^ (column & 7u & (RQ - 1u))); }

void place_threads() {
    u = gl_LocalInvocationID.x;
    tx = u % 8u + 8u * (u / 32u % (TX / 8u));
    ty = u / 8u % 4u + 4u * (u / (4u * TX));
    chunk_id = 0u;
    steps = 0u;
    [[unroll]] for (uint i = 0u; i < TILES * RN * ON; i++) acc[i] = vec4(0.0);
    if (u == 0u) odd = 0u;
}

// The columns of one more step: what 128 of them gave is put away first.
void begin_step() {
    if (steps == 128u / BC) {
        carry();
        steps = 0u;
    }
    steps++;
}

// p and ds / scale of a pair that sees each other, from its products; `i` is the query, `key` the key.
void weigh_pair(inout float s, inout float dp, uint i, uint key, float lse, float delta) {
    float x = score(s), t = x / softcap;
    float slope = CAPPED == 1u ? 1.0 - t * t : 1.0;
    bool seen = !ADDS || allows(i, key, x);
    float d = x - (lse < LOWEST ? LOWEST : lse);
#ifdef NATIVE_EXP
    float p = exp2(d * 1.44269504);
#else
    float p = exp_own(d);
#endif
    s = !seen || x < LOWEST ? 0.0 : p;
    dp = seen ? s * (dp - delta) * slope : 0.0;
}

#include "grad_products.glsl"
#include "grad_sums.glsl"
