// Four consecutive elements of a slot of 32-bit words. `left` elements from `at` on exist, one at least; those past
// them are copies of the last when loaded, and are not stored. With VEC = 1 all four exist and `at` is a multiple of
// four: no branch is left, which matters where both sides of one are executed.

// `step` 1, or 0 for one element for all.
uvec4 slot_quad(uint slot, uint at, uint step, uint left) {
    if (step == 0u) return uvec4(slot_raw(slot, at));
    if (VEC == 1u || (left >= 4u && (at & 3u) == 0u)) return slot_raw4(slot, at >> 2u);
    uint last = min(left, 4u) - 1u;
    return uvec4(slot_raw(slot, at), slot_raw(slot, at + min(1u, last)), slot_raw(slot, at + min(2u, last)),
                 slot_raw(slot, at + last));
}

#ifdef SLOT_STORES
void slot_store_quad(uint slot, uint at, uint left, uvec4 bits) {
    if (VEC == 1u || (left >= 4u && (at & 3u) == 0u)) {
        slot_store_raw4(slot, at >> 2u, bits);
        return;
    }
    slot_store_raw(slot, at, bits.x);
    if (left > 1u) slot_store_raw(slot, at + 1u, bits.y);
    if (left > 2u) slot_store_raw(slot, at + 2u, bits.z);
    if (left > 3u) slot_store_raw(slot, at + 3u, bits.w);
}
#endif

// Which of four elements exist.
bvec4 below(uint left) {
    return lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(left));
}
