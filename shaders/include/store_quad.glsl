// Four consecutive elements of the result from `at` on, of which `left` exist, one at least. VEC_Y 1: all four exist, and `at`
// is a multiple of four.
void store_quad(uint at, uint left, vec4 v) {
    if (VEC_Y != 0u) {
        store4_y(at >> 2u, v);
        return;
    }
    store_y(at, v.x);
    if (left > 1u) store_y(at + 1u, v.y);
    if (left > 2u) store_y(at + 2u, v.z);
    if (left > 3u) store_y(at + 3u, v.w);
}
