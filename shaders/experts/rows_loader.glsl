// The loader by index: which row of an operand that is read along k each row of a tile is. In place of aim_a of the loaders
// by strides, which then fetch as they do.
uint row_begins(uint i) { return row_at(min(rows_at + i, M - 1u)) / arg_picks() * K; }

void aim_rows() {
    [[unroll]] for (uint q = 0u; q < 4u * RA; q++) {
        uvec2 p = place_a(u, q / 4u, q % 4u);
        if (K_TAIL == 1u) p.y = min(p.y, K - min(K, A_MODE == 1u ? 4u - q % 4u : 1u));
        from_a[q] = row_begins(p.x) + p.y;
        if (A_MODE == 1u) from_a[q] >>= 2u;
    }
    along_a = 1u;
    uvec2 p = place_a(u, 0u, 0u);
    put_at_a = p.y * LA + p.x;
}
