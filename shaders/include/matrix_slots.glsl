// Slots of a matrix kernel's epilogue, addressed by batch, row and column; four consecutive columns at a time.
// The kernel sets `slot_columns` to the number of columns and calls `place_slots` before the hole runs.
uint slot_columns, slot_base[4], slot_row[4], slot_col[4];

void place_slots(uint outer, uint inner) {
    [[unroll]] for (uint s = 0u; s < 4u; s++) {
        slot_base[s] = arg_slot_at(s) + outer * arg_slot_b0(s) + inner * arg_slot_b1(s);
        slot_row[s] = arg_slot_row(s);
        slot_col[s] = arg_slot_col(s);
    }
}

uvec4 slotload_epilogue(uint slot, uint batch, uint row, uint col) {
    uint step = slot_col[slot], at = slot_base[slot] + row * slot_row[slot] + col * step, last = slot_columns - 1u - col;
    if (step == 0u) return uvec4(slot_raw(slot, at));
    if (step == 1u && (at & 3u) == 0u && last >= 3u) return slot_raw4(slot, at >> 2u);
    return uvec4(slot_raw(slot, at), slot_raw(slot, at + step * min(1u, last)),
                 slot_raw(slot, at + step * min(2u, last)), slot_raw(slot, at + step * min(3u, last)));
}

void slotstore_epilogue(uint slot, uint batch, uint row, uint col, uvec4 bits) {
    uint step = slot_col[slot], at = slot_base[slot] + row * slot_row[slot] + col * step, last = slot_columns - 1u - col;
    if (step == 1u && (at & 3u) == 0u && last >= 3u) slot_store_raw4(slot, at >> 2u, bits);
    else [[unroll]] for (uint e = 0u; e < 4u; e++) if (e <= last) slot_store_raw(slot, at + step * e, bits[e]);
}
