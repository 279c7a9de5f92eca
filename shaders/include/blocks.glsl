// Elements of an operand in blocks, by their index: a quad, one element, and a run of 32. How a scheme's bytes are read says its own
// file (blocks/shared.glsl); `block_shared`, `block_place`, `block_values` and BLOCK_SHARING are those of SCHEME.

// Elements i to i + 3; i is a multiple of four, so they lie in one block.
vec4 block_quad(uint i) {
    uint at = i / BLOCK_ELEMENTS * BLOCK_BYTES, r = i % BLOCK_ELEMENTS;
    return block_values(at, r, bytes4(at + block_place(r)), block_shared(at, r));
}

float block_element(uint i) { return block_quad(i & ~3u)[i & 3u]; }

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
    Shared first = block_shared(at, r), second = first;
    if (BLOCK_SHARING == 16u) second = block_shared(at, r + 16u);
    if (BLOCK_ELEMENTS == 32u) {
        // Codes of eight bits lie in eight words; of nibbles, the first sixteen in the low half of each of four.
        const uint count = BLOCK_BYTES < 32u ? 4u : 8u;
        uint words[8];
        read_words(at + block_place(0u), count, words);
        [[unroll]] for (uint q = 0u; q < 8u; q++) v[q] = block_values(at, 4u * q, words[q & count - 1u], first);
    } else {
        [[unroll]] for (uint q = 0u; q < 8u; q++)
            v[q] = block_values(at, r + 4u * q, bytes4(at + block_place(r + 4u * q)), q < 4u ? first : second);
    }
}
