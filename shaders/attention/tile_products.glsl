// The two products of a tile: operands fetched ahead and staged in shared memory, sums in registers. `query` says which query a sum is
// of; the places of threads, tile and operands are those of tile.comp.

// Quads that are fetched, on their way to shared memory. Addresses lie inside, whatever is asked for, so that nothing decides
// whether a quad is read: a value that meets another one behind a branch is waited for there.
vec4 next_q[BQ * CQ / NT], next_k[BK * CQ / NT], next_v[CV * VQ / NT];

// Rows `rows` on of q or k, elements d0 on. Rows from `end` on are copies of the last: nothing of them is used.
#define OPERAND(X, ROWS, AT) \
void fetch_##X(uint rows, uint end, uint base, uint pitch, uint d0) { \
    [[unroll]] for (uint i = 0u; i < ROWS * CQ / NT; i++) { \
        uint e = u + NT * i, d = d0 + e % CQ * 4u; \
        next_##X[i] = quad_##X(base + min(rows + e / CQ, end - 1u) * pitch + d, d, D); \
    } \
} \
void put_##X() { \
    [[unroll]] for (uint i = 0u; i < ROWS * CQ / NT; i++) { \
        uint e = u + NT * i; \
        stage[AT + e / CQ * CP + e % CQ] = next_##X[i]; \
    } \
}
OPERAND(q, BQ, 0u)
OPERAND(k, BK, BQ * CP)

void fetch_scores(uint key0, uint end, uint d0) {
    fetch_q(row0, SQ, q_base, arg_q_row(), d0);
    fetch_k(key0, end, k_base, arg_k_row(), d0);
}

void fetch_values(uint key0, uint end) {
    uint pitch = arg_v_row();
    [[unroll]] for (uint i = 0u; i < CV * VQ / NT; i++) {
        uint e = u + NT * i, key = min(key0 + e / VQ, end - 1u), col = col0 + e % VQ * 4u;
        next_v[i] = quad_v(v_base + key * pitch + col, col, DV);
    }
}

void put_values() {
    [[unroll]] for (uint i = 0u; i < CV * VQ / NT; i++) {
        uvec4 exponent = floatBitsToUint(next_v[i]) & 0x7f800000u;
        if (any(equal(exponent, uvec4(0x7f800000u)))) odd = chunk_id;
        stage[u + NT * i] = next_v[i];
    }
}

uint query(uint i) { return row0 + ty + TY * i; }

uint key_of(uint j) { return tx + TX * j; }

// Weights of one key are permuted by its number, so that threads along keys write different banks.
uint weight_at(uint key, uint quad) { return key * QQ + (quad ^ (key & 7u & (QQ - 1u))); }

// The quads d of all rows. Written into the loop below, the same costs an H200 3 % (2026-11-23).
void multiply_quads(inout float s[RQ * 4 * SN * 4], uint d) {
    vec4 fk[SN * 4];
    [[unroll]] for (uint j = 0u; j < SN * 4u; j++) fk[j] = stage[BQ * CP + key_of(j) * CP + d];
    [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) {
        vec4 fq = stage[(ty + TY * i) * CP + d];
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            [[unroll]] for (uint j = 0u; j < SN * 4u; j++)
                s[i * SN * 4u + j] = fma(fq[c], fk[j][c], s[i * SN * 4u + j]);
    }
}

void multiply_scores(inout float s[RQ * 4 * SN * 4], uint elements) {
    [[dont_unroll]] for (uint d = 0u; 4u * d < elements; d++) multiply_quads(s, d);
}

// Sums of chains of the width. A variable indexes them, so that they are memory and no registers: widths of one chain do
// not touch them.
float chained[RQ * 4 * SN * 4];

// After a chain of 128 elements, which ends before element d: the next one begins at 0, the last one takes the others.
void end_chain(inout float s[RQ * 4 * SN * 4], uint d) {
    uint at = d >> 31u;
    [[unroll]] for (uint i = 0u; i < RQ * 4u * SN * 4u; i++) {
        float sum = d <= 128u ? s[i] : chained[at + i] + s[i];
        chained[at + i] = sum;
        s[i] = d < D ? 0.0 : sum;
    }
}

// Keys after the last have the weight 0 and a copy of the last one's values.
void multiply_values(uint chunk, uint keys) {
    [[dont_unroll]] for (uint k0 = 0u; k0 < keys; k0 += 4u) [[unroll]] for (uint k1 = 0u; k1 < 4u; k1++) {
        uint k = k0 + k1;
        vec4 fp[RQ], fv[ON];
        [[unroll]] for (uint i = 0u; i < RQ; i++) fp[i] = weights[weight_at(chunk + k, ty + TY * i)];
        [[unroll]] for (uint j = 0u; j < ON; j++) fv[j] = stage[k * VQ + tx + TX * j];
        [[unroll]] for (uint i = 0u; i < RQ * 4u; i++)
            [[unroll]] for (uint j = 0u; j < ON; j++)
                acc[i * ON + j] = fma(vec4(fp[i / 4u][i % 4u]), fv[j], acc[i * ON + j]);
    }
}

// The same where some value is not finite: what a query does not see has no effect.
void multiply_odd_values(uint chunk, uint keys, uint key0) {
    [[dont_unroll]] for (uint k = 0u; k < keys; k++) [[unroll]] for (uint i = 0u; i < RQ * 4u; i++) {
        if (!sees(min(query(i), SQ - 1u), int(key0 + k))) continue;
        float p = weights[weight_at(chunk + k, ty + TY * (i / 4u))][i % 4u];
        [[unroll]] for (uint j = 0u; j < ON; j++)
            acc[i * ON + j] = fma(vec4(p), stage[k * VQ + tx + TX * j], acc[i * ON + j]);
    }
}
