// The two products of a tile: operands staged in shared memory, sums in registers. `query` says which query a sum is
// of; the places of threads, tile and operands are those of tile.comp.

// Rows `rows` on (those below `end`) of q or k, elements d0 on, transposed. Two quads of a row and sixteen rows are
// neighbours among the threads: whole sectors are read, and no two threads write one bank.
#define STAGE(X, ROWS, AT, PITCH) \
void stage_##X(uint rows, uint end, uint base, uint pitch, uint d0) { \
    [[unroll]] for (uint e = u; e < ROWS * CH / 4; e += NT) { \
        uint r = (e >> 1u) % ROWS, dq = (e & 1u) + 2u * (e / (2u * ROWS)), d = d0 + 4u * dq; \
        vec4 v = vec4(0.0); \
        if (rows + r < end && d < D) v = quad_##X(base + (rows + r) * pitch + d, d, D); \
        [[unroll]] for (uint c = 0u; c < 4u; c++) stage[AT + (4u * dq + c) * PITCH + r / 4u][r % 4u] = v[c]; \
    } \
}
STAGE(q, BQ, 0u, QP)
STAGE(k, BK, CH * QP, KP)

void stage_v(uint key0, uint end) {
    uint pitch = arg_v_row();
    [[unroll]] for (uint e = u; e < CV * VQ; e += NT) {
        uint key = key0 + e / VQ, col = col0 + e % VQ * 4u;
        vec4 v = vec4(0.0);
        if (key < end && col < DV) v = quad_v(v_base + key * pitch + col, col, DV);
        uvec4 exponent = floatBitsToUint(v) & 0x7f800000u;
        if (any(equal(exponent, uvec4(0x7f800000u)))) odd = chunk_id;
        stage[e] = v;
    }
}

uint query(uint i) { return row0 + 4u * (ty + TY * (i / 4u)) + i % 4u; }

// Weights of one key are permuted by its quad, so that threads along keys write different banks.
uint weight_at(uint key, uint quad) { return key * QQ + (quad ^ (key / 4u & 7u & (QQ - 1u))); }

void multiply_scores(inout vec4 s[RQ * 4 * SN], uint elements) {
    [[dont_unroll]] for (uint d0 = 0u; d0 < elements; d0 += 4u) [[unroll]] for (uint d1 = 0u; d1 < 4u; d1++) {
        uint d = d0 + d1;
        vec4 fq[RQ], fk[SN];
        [[unroll]] for (uint i = 0u; i < RQ; i++) fq[i] = stage[d * QP + ty + TY * i];
        [[unroll]] for (uint j = 0u; j < SN; j++) fk[j] = stage[CH * QP + d * KP + tx + TX * j];
        [[unroll]] for (uint i = 0u; i < RQ * 4u; i++)
            [[unroll]] for (uint j = 0u; j < SN; j++) s[i * SN + j] = fma(vec4(fq[i / 4u][i % 4u]), fk[j], s[i * SN + j]);
    }
}

void multiply_values(uint chunk, uint keys) {
    [[dont_unroll]] for (uint k = 0u; k < keys; k++) {
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
