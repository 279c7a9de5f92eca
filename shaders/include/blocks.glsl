// The values of blocks (OPS 3.4.2), every bit as the public gguf package has it: f32 arithmetic in the order written, nothing
// contracted. `block_word(i)` is the operand's 32-bit word i, SCHEME what it is compiled for. A block begins at an even byte.

// Four bytes from byte `at` on. The word after the first is read only where some of them lie in it: there may be none.
// Fields of four bytes begin at a multiple of four where blocks are as long as one.
uint bytes4(uint at) {
    if (BLOCK_BYTES % 4u == 0u) return block_word(at >> 2u);
    uint shift = 8u * (at & 3u), low = block_word(at >> 2u), high = block_word((at >> 2u) + min(shift, 1u));
    return low >> shift | high << 1u << (31u - shift);
}

// One byte, and the half at an even byte.
uint byte_at(uint at) { return block_word(at >> 2u) >> (8u * (at & 3u)) & 0xffu; }
float half_at(uint at) { return f16_to_f32(block_word(at >> 2u) >> (8u * (at & 2u)) & 0xffffu); }

// Four bytes of a word, each cut to the bits of `mask`.
uvec4 spread(uint word, uint mask) { return uvec4(word, word >> 8u, word >> 16u, word >> 24u) & mask; }

// Schemes of 32 elements: low nibbles of sixteen bytes first, then high ones. Where those bytes begin.
const bool NIBBLES = SCHEME == SCHEME_Q4_0 || SCHEME == SCHEME_Q4_1 || SCHEME == SCHEME_Q5_0 || SCHEME == SCHEME_Q5_1 || SCHEME == SCHEME_IQ4_NL;
const uint FIRST_NIBBLES = SCHEME == SCHEME_Q4_1 ? 4u : SCHEME == SCHEME_Q5_0 ? 6u : SCHEME == SCHEME_Q5_1 ? 8u : 2u;
// Schemes that have a minimum beside their scale; those whose scale is a product.
const bool K_MINIMA = SCHEME == SCHEME_Q4_K || SCHEME == SCHEME_Q5_K;
const bool MINIMA = K_MINIMA || SCHEME == SCHEME_Q4_1 || SCHEME == SCHEME_Q5_1;

// The values that nibbles of IQ4_NL and IQ4_XS name: signed bytes, four a word.
int iq4_value(uint q) {
    uint word = q < 8u ? (q < 4u ? 0xbfad9881u : 0xf6eaddcfu) : (q < 12u ? 0x26190d01u : 0x71594535u);
    return bitfieldExtract(int(word), 8 * int(q & 3u), 8);
}
vec4 iq4_values(uvec4 q) { return vec4(iq4_value(q.x), iq4_value(q.y), iq4_value(q.z), iq4_value(q.w)); }

// The word that has the fifth bits of 32 codes.
uint fifth_bits(uint at) {
    if (SCHEME == SCHEME_Q5_0) return bytes4(at + 2u);
    return SCHEME == SCHEME_Q5_1 ? bytes4(at + 4u) : 0u;
}

// Codes r to r + 3 of a scheme of nibbles; `word` has their bytes.
vec4 nibble_codes(uint word, uint fifth, uint r) {
    uvec4 q = spread(word >> (r >> 4u) * 4u, 15u);
    if (SCHEME == SCHEME_IQ4_NL) return iq4_values(q);
    if (SCHEME == SCHEME_Q4_0) return vec4(q) - 8.0;
    if (SCHEME == SCHEME_Q4_1) return vec4(q);
    uint bits = fifth >> r;
    vec4 codes = vec4(q | (uvec4(bits, bits >> 1u, bits >> 2u, bits >> 3u) & 1u) << 4u);
    return SCHEME == SCHEME_Q5_0 ? codes - 16.0 : codes;
}

// Four signed bytes.
vec4 byte_codes(uint word) {
    return vec4(bitfieldExtract(ivec4(int(word), int(word >> 8u), int(word >> 16u), int(word >> 24u)), 0, 8));
}

// Codes r to r + 3 of a block of 256 elements.
vec4 k_codes(uint at, uint r) {
    if (SCHEME == SCHEME_IQ4_XS)
        return iq4_values(spread(bytes4(at + 8u + 16u * (r >> 5u) + (r & 15u)) >> 4u * (r >> 4u & 1u), 15u));
    if (SCHEME == SCHEME_Q6_K) {
        uint h = r >> 7u, l = r & 127u;
        uvec4 low = spread(bytes4(at + 64u * h + (l & 63u)) >> (l >> 6u) * 4u, 15u);
        uvec4 high = spread(bytes4(at + 128u + 32u * h + (l & 31u)) >> (l >> 5u) * 2u, 3u);
        return vec4(low | high << 4u) - 32.0;
    }
    uvec4 q = spread(bytes4(at + (SCHEME == SCHEME_Q5_K ? 48u : 16u) + 32u * (r >> 6u) + (r & 31u)) >> 4u * (r >> 5u & 1u), 15u);
    if (SCHEME == SCHEME_Q5_K) q |= spread(bytes4(at + 16u + (r & 31u)) >> (r >> 5u), 1u) << 4u;
    return vec4(q);
}

// Scale and minimum of the elements around r: of a block, or of a sub-block of 32 or, Q6_K, of 16.
vec2 block_scales(uint at, uint r) {
    if (SCHEME == SCHEME_Q6_K) {
        int sc = bitfieldExtract(int(byte_at(at + 192u + (r >> 4u))), 0, 8);
        precise float scale = half_at(at + 208u) * float(sc);
        return vec2(scale, 0.0);
    }
    if (SCHEME == SCHEME_IQ4_XS) {
        uint first = block_word(at >> 2u), sub = r >> 5u;
        uint low = byte_at(at + 4u + (sub >> 1u)) >> 4u * (sub & 1u) & 15u, high = first >> 16u + 2u * sub & 3u;
        precise float scale = f16_to_f32(first & 0xffffu) * (float(low | high << 4u) - 32.0);
        return vec2(scale, 0.0);
    }
    if (!MINIMA) return vec2(half_at(at), 0.0);
    uint both = block_word(at >> 2u);
    vec2 d = vec2(f16_to_f32(both & 0xffffu), f16_to_f32(both >> 16u));
    if (!K_MINIMA) return d;
    // 6 bits each.
    uint sub = r >> 5u, b = at + 4u, low = byte_at(b + (sub & 3u)), middle = byte_at(b + 4u + (sub & 3u));
    uint sc = low & 63u, mn = middle & 63u;
    if (sub >= 4u) {
        uint last = byte_at(b + 4u + sub);
        sc = last & 15u | low >> 6u << 4u;
        mn = last >> 4u | middle >> 6u << 4u;
    }
    precise vec2 scales = d * vec2(sc, mn);
    return scales;
}

// d · q, d · q + m, or d · sc · q − dmin · mn, rounded after each operation.
vec4 scaled(vec2 scales, vec4 q) {
    precise vec4 product = scales.x * q;
    precise vec4 value = K_MINIMA ? product - scales.y : product + scales.y;
    return MINIMA ? value : product;
}

// Elements r to r + 3 of the block that begins at byte `at`; r is a multiple of four.
vec4 block_values(uint at, uint r) {
    vec4 q;
    if (NIBBLES) q = nibble_codes(bytes4(at + FIRST_NIBBLES + (r & 15u)), fifth_bits(at), r);
    else q = SCHEME == SCHEME_Q8_0 ? byte_codes(bytes4(at + 2u + r)) : k_codes(at, r);
    return scaled(block_scales(at, r), q);
}

// Elements i to i + 3; i is a multiple of four, so they lie in one block.
vec4 block_quad(uint i) { return block_values(i / BLOCK_ELEMENTS * BLOCK_BYTES, i % BLOCK_ELEMENTS); }

// So many words (up to 8) from an even byte on, each read once. The one after the last is read where they do not begin with a word.
void read_words(uint at, uint count, out uint words[8]) {
    uint shift = 8u * (at & 3u), low = block_word(at >> 2u);
    [[unroll]] for (uint j = 0u; j < 8u; j++) if (j < count) {
        if (BLOCK_BYTES % 4u == 0u) words[j] = j == 0u ? low : block_word((at >> 2u) + j);
        else {
            uint high = block_word((at >> 2u) + (j + 1u < count ? j + 1u : j + min(shift, 1u)));
            words[j] = low >> shift | high << 1u << (31u - shift);
            low = high;
        }
    }
}

// Elements i to i + 31; i is a multiple of 32. What they share is read once: on lavapipe a read is a hundred instructions.
void block_run(uint i, out vec4 v[8]) {
    uint at = i / BLOCK_ELEMENTS * BLOCK_BYTES, r = i % BLOCK_ELEMENTS;
    vec2 scales = block_scales(at, r);
    if (NIBBLES) {
        uint words[8], fifth = fifth_bits(at);
        read_words(at + FIRST_NIBBLES, 4u, words);
        [[unroll]] for (uint q = 0u; q < 8u; q++) v[q] = scaled(scales, nibble_codes(words[q & 3u], fifth, 4u * q));
        return;
    }
    if (SCHEME == SCHEME_Q8_0) {
        uint words[8];
        read_words(at + 2u, 8u, words);
        [[unroll]] for (uint q = 0u; q < 8u; q++) v[q] = scaled(scales, byte_codes(words[q]));
        return;
    }
    vec2 others = SCHEME == SCHEME_Q6_K ? block_scales(at, r + 16u) : scales;
    [[unroll]] for (uint q = 0u; q < 8u; q++) v[q] = scaled(q < 4u ? scales : others, k_codes(at, r + 4u * q));
}

float block_element(uint i) { return block_quad(i & ~3u)[i & 3u]; }
