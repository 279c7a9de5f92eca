// Index j of operand `idx` (WIDE: 64-bit) on an axis of `axis` elements; negative ones count from the end.
// False where it lies outside.
bool index_at(uint j, uint axis, out uint at) {
    int v;
    if (WIDE == 1u) {
        uvec2 w = loadu2_idx(j);
        v = int(w.x);
        if (w.y != uint(v >> 31)) return false;
    } else {
        v = int(loadu_idx(j));
    }
    at = uint(v < 0 ? v + int(axis) : v);
    return at < axis;
}
