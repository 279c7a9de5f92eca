// Products of all pairs of a tile of gradients of attention: operands staged chunk by chunk of the width, sums in registers.
//
// In: the constants and variables of grad.glsl.
void multiply_quads(inout float s[RN * CN], uint d) {
    vec4 fc[CN];
    [[unroll]] for (uint j = 0u; j < CN; j++) fc[j] = stage[BR * CP + column_of(j) * CP + d];
    [[unroll]] for (uint i = 0u; i < RN; i++) {
        vec4 fr = stage[(ty + TY * i) * CP + d];
        [[unroll]] for (uint c = 0u; c < 4u; c++)
            [[unroll]] for (uint j = 0u; j < CN; j++) s[i * CN + j] = fma(fr[c], fc[j][c], s[i * CN + j]);
    }
}

// Sums of chains of the width. A variable indexes them, so that they are memory and no registers: widths of one chain do
// not touch them.
float chained[RN * CN];

// After a chain of 128 elements, which ends before element d: the next one begins at 0, the last one takes the others.
void end_chain(inout float s[RN * CN], uint d, uint width) {
    uint at = d >> 31u;
    [[unroll]] for (uint i = 0u; i < RN * CN; i++) {
        float sum = d <= 128u ? s[i] : chained[at + i] + s[i];
        chained[at + i] = sum;
        s[i] = d < width ? 0.0 : sum;
    }
}

// Products of the rows of one operand and the columns' rows of another, columns column0 on; what lies behind the end is
// a copy of the last, which nothing uses.
#define PRODUCT(NAME, ROW, COLUMN, WIDTH) \
void NAME(out float s[RN * CN], uint column0, uint columns_end) { \
    uint row_pitch = arg_##ROW##_row(), column_pitch = arg_##COLUMN##_row(); \
    [[unroll]] for (uint i = 0u; i < RN * CN; i++) s[i] = 0.0; \
    for (uint d0 = 0u; d0 < WIDTH;) { \
        for (uint chain_end = min(d0 + 128u, WIDTH); d0 < chain_end; d0 += CH) { \
            barrier(); \
            STAGED for (uint i = 0u; i < BR * CQ / NT; i++) { \
                uint e = u + NT * i, r = e / CQ, d = d0 + e % CQ * 4u; \
                stage[r * CP + e % CQ] = quad_##ROW(ROW##_base + min(row0 + r, rows_end - 1u) * row_pitch + d, d, WIDTH); \
            } \
            STAGED for (uint i = 0u; i < BC * CQ / NT; i++) { \
                uint e = u + NT * i, r = e / CQ, d = d0 + e % CQ * 4u; \
                stage[BR * CP + r * CP + e % CQ] = \
                    quad_##COLUMN(COLUMN##_base + min(column0 + r, columns_end - 1u) * column_pitch + d, d, WIDTH); \
            } \
            barrier(); \
            [[dont_unroll]] for (uint d = 0u; 4u * d < min(CH, WIDTH - d0); d++) multiply_quads(s, d); \
        } \
        if (WIDTH > 128u) end_chain(s, d0, WIDTH); \
    } \
}
