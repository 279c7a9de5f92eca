// Words of an operand in blocks for variants that read 64 bits at a time: a driver that reads for one lane after the other takes as
// long for a word as for two. A block of 32 elements is read whole and stands in the window then, where it begins at byte 0; of a
// longer block what is asked for.

// Whether a thread reads. One that need not is passed over, which saves its part of the time.
bool block_reads = true;

// `bytes` bytes from byte `at` on, 40 at most, as words. A block, and what is read of a longer one, begins at a multiple of STEP bytes.
void read_pairs(uint at, uint bytes, out uint words[10]) {
    const uint STEP = min(BLOCK_BYTES & 0u - BLOCK_BYTES, 8u);
    uint first = at >> 3u, last = at + bytes - 1u >> 3u, shift = 8u * (at & 3u), pairs = (bytes + 15u - STEP) / 8u;
    bool odd = (at & 4u) != 0u;
    uint raw[11];
    raw[10] = 0u;
    [[unroll]] for (uint j = 0u; j < 5u; j++) {
        uvec2 pair = uvec2(0u);
        if (j < pairs && block_reads) pair = block_words2(min(first + j, last));
        raw[2u * j] = pair.x;
        raw[2u * j + 1u] = pair.y;
    }
    if (STEP < 8u) [[unroll]] for (uint j = 0u; j < 10u; j++) raw[j] = odd ? raw[j + 1u] : raw[j];
    [[unroll]] for (uint j = 0u; j < 10u; j++)
        words[j] = STEP < 4u ? raw[j] >> shift | raw[j + 1u] << 1u << (31u - shift) : raw[j];
}

// Vectors, since lavapipe stores into an array for one lane after the other where only some of them are active.
uvec4 window0, window1;
uvec2 window2;
uint block_word(uint i) {
    if (BLOCK_ELEMENTS != 32u) return block_word1(i);
    return i < 4u ? window0[i] : i < 8u ? window1[i - 4u] : window2[i - 8u];
}

// Where the block at byte `at` begins for those who read it by `block_word`.
uint block_begin(uint at) {
    if (BLOCK_ELEMENTS != 32u) return at;
    uint words[10];
    read_pairs(at, BLOCK_BYTES, words);
    window0 = uvec4(words[0], words[1], words[2], words[3]);
    window1 = uvec4(words[4], words[5], words[6], words[7]);
    window2 = uvec2(words[8], words[9]);
    return 0u;
}
