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

// Codes r to r + 3 of 32: low nibbles of sixteen bytes first, then high ones; and their fifth bits.
uvec4 nibbles32(uint qs, uint r) { return spread(bytes4(qs + (r & 15u)) >> (r >> 4u) * 4u, 15u); }
uvec4 fifth_bits(uint qh, uint r) {
    uint bits = bytes4(qh) >> r;
    return (uvec4(bits, bits >> 1u, bits >> 2u, bits >> 3u) & 1u) << 4u;
}

// d · q + m, rounded after each operation.
vec4 scaled(float d, uvec4 q, float m) {
    precise vec4 product = d * vec4(q);
    precise vec4 sum = product + m;
    return sum;
}

// d · sc · q − dmin · mn of a K block: 6-bit scale and minimum of sub-block r / 32.
vec4 k_block(uint at, uint r, uvec4 q) {
    uint sub = r >> 5u, b = at + 4u, low = byte_at(b + (sub & 3u)), middle = byte_at(b + 4u + (sub & 3u));
    uint sc = low & 63u, mn = middle & 63u;
    if (sub >= 4u) {
        uint last = byte_at(b + 4u + sub);
        sc = last & 15u | low >> 6u << 4u;
        mn = last >> 4u | middle >> 6u << 4u;
    }
    precise float scale = half_at(at) * float(sc), minimum = half_at(at + 2u) * float(mn);
    precise vec4 product = scale * vec4(q);
    precise vec4 value = product - minimum;
    return value;
}

// d · sc · (q − 32) of a Q6_K block, one scale for 16 elements.
vec4 q6_block(uint at, uint r) {
    uint h = r >> 7u, l = r & 127u;
    uvec4 low = spread(bytes4(at + 64u * h + (l & 63u)) >> (l >> 6u) * 4u, 15u);
    uvec4 high = spread(bytes4(at + 128u + 32u * h + (l & 31u)) >> (l >> 5u) * 2u, 3u);
    int sc = bitfieldExtract(int(byte_at(at + 192u + (r >> 4u))), 0, 8);
    precise float scale = half_at(at + 208u) * float(sc);
    precise vec4 value = scale * (vec4(low | high << 4u) - 32.0);
    return value;
}

// The values that nibbles of IQ4_NL name: signed bytes, four a word.
int iq4_value(uint q) {
    uint word = q < 8u ? (q < 4u ? 0xbfad9881u : 0xf6eaddcfu) : (q < 12u ? 0x26190d01u : 0x71594535u);
    return bitfieldExtract(int(word), 8 * int(q & 3u), 8);
}
vec4 iq4_values(uvec4 q) { return vec4(iq4_value(q.x), iq4_value(q.y), iq4_value(q.z), iq4_value(q.w)); }

// Elements r to r + 3 of the block that begins at byte `at`; r is a multiple of four.
vec4 block_values(uint at, uint r) {
    if (SCHEME == SCHEME_Q4_0) return half_at(at) * (vec4(nibbles32(at + 2u, r)) - 8.0);
    if (SCHEME == SCHEME_Q4_1) return scaled(half_at(at), nibbles32(at + 4u, r), half_at(at + 2u));
    if (SCHEME == SCHEME_Q5_0) return half_at(at) * (vec4(nibbles32(at + 6u, r) | fifth_bits(at + 2u, r)) - 16.0);
    if (SCHEME == SCHEME_Q5_1) return scaled(half_at(at), nibbles32(at + 8u, r) | fifth_bits(at + 4u, r), half_at(at + 2u));
    if (SCHEME == SCHEME_Q8_0) {
        uint word = bytes4(at + 2u + r);
        return half_at(at) * vec4(bitfieldExtract(ivec4(int(word), int(word >> 8u), int(word >> 16u), int(word >> 24u)), 0, 8));
    }
    if (SCHEME == SCHEME_IQ4_NL) return half_at(at) * iq4_values(nibbles32(at + 2u, r));
    uint nibbles = bytes4(at + (SCHEME == SCHEME_Q5_K ? 48u : 16u) + 32u * (r >> 6u) + (r & 31u)) >> 4u * (r >> 5u & 1u);
    if (SCHEME == SCHEME_Q4_K) return k_block(at, r, spread(nibbles, 15u));
    if (SCHEME == SCHEME_Q5_K) return k_block(at, r, spread(nibbles, 15u) | spread(bytes4(at + 16u + (r & 31u)) >> (r >> 5u), 1u) << 4u);
    return q6_block(at, r);
}

// Elements i to i + 3; i is a multiple of four, so they lie in one block.
vec4 block_quad(uint i) { return block_values(i / BLOCK_ELEMENTS * BLOCK_BYTES, i % BLOCK_ELEMENTS); }
// Elements i to i + 15; i is a multiple of sixteen. Their scales are read once.
void block_run(uint i, out vec4 v[4]) {
    uint at = i / BLOCK_ELEMENTS * BLOCK_BYTES, r = i % BLOCK_ELEMENTS;
    [[unroll]] for (uint q = 0u; q < 4u; q++) v[q] = block_values(at, r + 4u * q);
}
float block_element(uint i) { return block_quad(i & ~3u)[i & 3u]; }
