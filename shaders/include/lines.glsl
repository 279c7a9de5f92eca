// A thread makes column (j, c) of four lines (o, i, q) of y, so that neighbours store side by side: `begin_column(j, c)`,
// then `store_line(at, o, i, q)` for each; both stand before it.
void main() {
    uint mid = arg_mid(), inner = arg_inner(), rows = arg_made(0), columns = arg_made(1) * inner;
    uint lines = arg_outer() * rows * mid, column, c, q, i;
    uint line = 4u * divide(linear_group() * 256u + gl_LocalInvocationID.x, columns, column);
    if (line >= lines) return;
    uint j = divide(column, inner, c), o = divide(divide(line, mid, q), rows, i);
    begin_column(j, c);
    [[unroll]] for (uint k = 0u; k < 4u; k++) {
        if (line + k >= lines) return;
        store_line((line + k) * columns + column, o, i, q);
        if (++q < mid) continue;
        q = 0u;
        if (++i < rows) continue;
        i = 0u;
        o++;
    }
}
