// Slots of an epilogue whose four columns lie where `batch_of` and `place_of` (batch and position) say; those from N on are
// the last one. QUADS 1: the four are neighbours of one batch.
uint group;
uvec4 batch_of, place_of;

vec4 hole_epilogue(vec4 v, uint batch, uint row, uint col) { return v; }

uvec4 slot_places(uint slot, uint row) {
    uint at = arg_slot_at(slot) + group * arg_slot_b1(slot) + row * arg_slot_row(slot);
    return at + batch_of * arg_slot_b0(slot) + place_of * arg_slot_col(slot);
}

uvec4 slotload_epilogue(uint slot, uint batch, uint row, uint col) {
    uvec4 at = slot_places(slot, row);
    if (QUADS != 0u && arg_slot_col(slot) == 0u) return uvec4(slot_raw(slot, at.x));
    if (QUADS != 0u && arg_slot_col(slot) == 1u && (at.x & 3u) == 0u) return slot_raw4(slot, at.x >> 2u);
    return uvec4(slot_raw(slot, at.x), slot_raw(slot, at.y), slot_raw(slot, at.z), slot_raw(slot, at.w));
}

void slotstore_epilogue(uint slot, uint batch, uint row, uint col, uvec4 bits) {
    uvec4 at = slot_places(slot, row);
    if (QUADS != 0u && arg_slot_col(slot) == 1u && (at.x & 3u) == 0u) slot_store_raw4(slot, at.x >> 2u, bits);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) slot_store_raw(slot, at[e], bits[e]);
}

// Four columns of a row, from `col` on, through the hole to y.
void put_places(uint row, uint col, vec4 v) {
    v = hole_epilogue(v, group, row, col);
    uvec4 at = arg_y_at() + group * arg_y_g() + row * arg_y_o() + batch_of * arg_y_n() + place_of;
    if (QUADS != 0u && VEC_Y != 0u) store4_y(at.x >> 2u, v);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (col + e < N) store_y(at[e], v[e]);
}
