// Slots by storage kind: 0 word, 1 f16, 2 bf16, 3 u8, 4 i8, 5 u16, 6 i16, 7 two words, 8 status block.
// Floats are given and taken as f32 bits. Kinds are specialization constants: a driver keeps one path of each.

uint kind_of(uint slot) {
    return (slot < 8u ? KINDS0 >> (4u * slot) : KINDS1 >> (4u * (slot - 8u))) & 15u;
}

// A 16-bit pattern (low half) or byte (low byte) as the 32 bits a body sees.
uint widen(uint kind, uint w) {
    if (kind == 1u) return floatBitsToUint(f16_to_f32(w & 0xffffu));
    if (kind == 2u) return w << 16u;
    if (kind == 3u) return w & 0xffu;
    if (kind == 4u) return uint(bitfieldExtract(int(w), 0, 8));
    if (kind == 5u) return w & 0xffffu;
    return uint(bitfieldExtract(int(w), 0, 16));
}

bool is_byte(uint kind) { return kind == 3u || kind == 4u; }

// Element i.
uint kind_load(uint slot, uint i) {
    uint kind = kind_of(slot);
    if (kind == 0u) return slot_raw(slot, i);
    if (kind == 7u) return slot_raw(slot, 2u * i);
    if (is_byte(kind)) return widen(kind, slot_raw(slot, i >> 2u) >> (8u * (i & 3u)));
    return widen(kind, slot_raw(slot, i >> 1u) >> (16u * (i & 1u)));
}

// Elements 4g .. 4g + 3, of which `left` exist; only words with an existing element are read, unless TAIL is 0.
uvec4 kind_load4(uint slot, uint g, uint left) {
    uint kind = kind_of(slot);
    if (kind == 0u) {
        if (TAIL == 0u || left >= 4u) return slot_raw4(slot, g);
        return uvec4(slot_raw(slot, 4u * g), left > 1u ? slot_raw(slot, 4u * g + 1u) : 0u,
                     left > 2u ? slot_raw(slot, 4u * g + 2u) : 0u, 0u);
    }
    if (is_byte(kind)) {
        uint w = slot_raw(slot, g);
        return uvec4(widen(kind, w), widen(kind, w >> 8u), widen(kind, w >> 16u), widen(kind, w >> 24u));
    }
    uvec2 w = TAIL == 0u || left >= 4u ? slot_raw2(slot, g) : uvec2(slot_raw(slot, 2u * g), left > 2u ? slot_raw(slot, 2u * g + 1u) : 0u);
    return uvec4(widen(kind, w.x), widen(kind, w.x >> 16u), widen(kind, w.y), widen(kind, w.y >> 16u));
}

// What widen undoes, for stores.
uint narrow(uint kind, uint bits) {
    if (kind == 1u) return f32_to_f16(uintBitsToFloat(bits));
    if (kind == 2u) return f32_to_bf16(uintBitsToFloat(bits));
    return is_byte(kind) ? bits & 0xffu : bits & 0xffffu;
}

// Stores `left` of four elements of group g, all four where TAIL is 0; narrow kinds in whole words.
void kind_store4(uint slot, uint g, uint left, uvec4 bits) {
    uint kind = kind_of(slot);
    if (kind == 0u) {
        if (TAIL == 0u || left >= 4u) {
            slot_store_raw4(slot, g, bits);
            return;
        }
        slot_store_raw(slot, 4u * g, bits.x);
        if (left > 1u) slot_store_raw(slot, 4u * g + 1u, bits.y);
        if (left > 2u) slot_store_raw(slot, 4u * g + 2u, bits.z);
        return;
    }
    uvec4 h = uvec4(narrow(kind, bits.x), narrow(kind, bits.y), narrow(kind, bits.z), narrow(kind, bits.w));
    if (is_byte(kind)) {
        slot_store_raw(slot, g, h.x | h.y << 8u | h.z << 16u | h.w << 24u);
        return;
    }
    slot_store_raw(slot, 2u * g, h.x | h.y << 16u);
    if (TAIL == 0u || left > 2u) slot_store_raw(slot, 2u * g + 1u, h.z | h.w << 16u);
}

// A status slot: flags of element i.
void kind_raise(uint slot, uint flags, uint i) {
    if (flags != 0u) slot_raise(slot, flags, arg_status_op(), i);
}
