// Sums over the columns of a tile of gradients of attention, of a staged weight of each pair times a row of an operand, and
// how they are stored.
//
// In: the constants and variables of grad.glsl.
void stage_weights(float w[RN * CN]) {
    [[unroll]] for (uint i = 0u; i < RN / 4u; i++) [[unroll]] for (uint j = 0u; j < CN; j++) {
        vec4 quad;
        [[unroll]] for (uint c = 0u; c < 4u; c++) quad[c] = w[(4u * i + c) * CN + j];
        weights[weight_at(column_of(j), ty + TY * i)] = quad;
    }
}

// Columns after the last have the weight 0 and a copy of the last one's row.
void multiply_rows(uint part, uint chunk, uint columns) {
    [[dont_unroll]] for (uint k0 = 0u; k0 < columns; k0 += TURNS) [[unroll]] for (uint k1 = 0u; k1 < TURNS; k1++) {
        uint k = k0 + k1;
        vec4 fw[RN / 4], fx[ON];
        [[unroll]] for (uint i = 0u; i < RN / 4u; i++) fw[i] = weights[weight_at(chunk + k, ty + TY * i)];
        [[unroll]] for (uint j = 0u; j < ON; j++) fx[j] = stage[k * XQ + tx + TX * j];
        [[unroll]] for (uint i = 0u; i < RN; i++) [[unroll]] for (uint j = 0u; j < ON; j++)
            acc[(part * RN + i) * ON + j] = fma(vec4(fw[i / 4u][i % 4u]), fx[j], acc[(part * RN + i) * ON + j]);
    }
}

// The same where something is not finite: pairs that do not see each other have no effect.
void multiply_odd_rows(uint part, uint chunk, uint columns, uint column0) {
    [[dont_unroll]] for (uint k = 0u; k < columns; k++) [[unroll]] for (uint i = 0u; i < RN; i++) {
        if (!pair_sees(row_of(i), column0 + k)) continue;
        float w = weights[weight_at(chunk + k, ty + TY * (i / 4u))][i % 4u];
        [[unroll]] for (uint j = 0u; j < ON; j++)
            acc[(part * RN + i) * ON + j] = fma(vec4(w), stage[k * XQ + tx + TX * j], acc[(part * RN + i) * ON + j]);
    }
}

// Adds the staged weights of columns column0 on times the columns' rows of X to result PART.
#define SUM(X, PART, WIDTH) \
void sum_##X(uint column0, uint columns_end) { \
    if (col0 >= WIDTH) return; \
    uint pitch = arg_##X##_row(); \
    for (uint c = 0u; c < BC && column0 + c < columns_end; c += CV) { \
        chunk_id++; \
        barrier(); \
        STAGED for (uint i = 0u; i < SUMMED / NT; i++) { \
            uint e = u + NT * i, column = min(column0 + c + e / XQ, columns_end - 1u), at = col0 + e % XQ * 4u; \
            vec4 x = quad_##X(X##_base + column * pitch + at, at, WIDTH); \
            uvec4 exponent = floatBitsToUint(x) & 0x7f800000u; \
            if (any(equal(exponent, uvec4(0x7f800000u)))) odd = chunk_id; \
            stage[e] = x; \
        } \
        barrier(); \
        uint columns = min(CV, columns_end - column0 - c); \
        if (odd != chunk_id) multiply_rows(PART, c, columns); \
        else multiply_odd_rows(PART, c, columns, column0 + c); \
    } \
}

// Rows of result PART, times a factor: at + row · pitch, elements from col0 on.
#define STORE(X, PART, BIT, WIDTH) \
void store_rows_##X(uint at, uint rows, float factor) { \
    uint pitch = arg_##X##_row(); \
    [[unroll]] for (uint i = 0u; i < RN; i++) { \
        if (row_of(i) >= rows) continue; \
        [[unroll]] for (uint j = 0u; j < ON; j++) { \
            uint col = col0 + 4u * (tx + TX * j), place = at + row_of(i) * pitch + col; \
            if (col >= WIDTH) continue; \
            vec4 y = acc[(PART * RN + i) * ON + j] * factor; \
            if ((VEC & BIT) != 0u) store4_##X(place >> 2u, y); \
            else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < WIDTH) store_##X(place + e, y[e]); \
        } \
    } \
}
