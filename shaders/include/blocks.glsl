// Elements of an operand in blocks, by their index: a quad, one element, and a run of 32. How a scheme's bytes are read says its own
// file (blocks/shared.glsl); `block_shared`, `block_place`, `block_values` and BLOCK_SHARING are those of SCHEME.

// Elements i to i + 3; i is a multiple of four, so they lie in one block.
vec4 block_quad(uint i) {
    uint at = block_begin(i / BLOCK_ELEMENTS * BLOCK_BYTES), r = i % BLOCK_ELEMENTS;
    return block_values(at, r, bytes4(at + block_place(r)), block_shared(at, r));
}

float block_element(uint i) { return block_quad(i & ~3u)[i & 3u]; }

// So many words (up to 8) from an even byte on, each read once. The one after the last is read where they do not begin with a word.
void read_words(uint at, uint count, out uint words[8]) {
#ifdef WORDS64
    if (BLOCK_ELEMENTS != 32u) {
        uint read[10];
        read_pairs(at, 4u * count, read);
        [[unroll]] for (uint j = 0u; j < 8u; j++) words[j] = read[j];
        return;
    }
#endif
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

// Elements i to i + 31, of which i is a multiple of 32: what they share, and their low bits, read once (on lavapipe a read is a
// hundred instructions).
struct Run { uint at, r; Shared first, second; uint words[8]; };

// In which of the run's words the low bits of quad q lie: the same for every run of a scheme.
uint run_word(uint q) { return block_place(4u * q) - block_place(0u) >> 2u; }

Run block_run(uint i) {
    Run run;
    run.at = block_begin(i / BLOCK_ELEMENTS * BLOCK_BYTES);
    run.r = BLOCK_ELEMENTS == 32u ? 0u : i % BLOCK_ELEMENTS;
    run.first = block_shared(run.at, run.r);
    run.second = run.first;
    if (BLOCK_SHARING == 16u) run.second = block_shared(run.at, run.r + 16u);
    read_words(run.at + block_place(run.r), run_word(7u) + 1u, run.words);
    return run;
}

// Quad q of the eight.
vec4 run_quad(Run run, uint q) {
    uint word = run.words[run_word(q)];
    if (q >= 4u) return block_values(run.at, run.r + 4u * q, word, run.second);
    return block_values(run.at, run.r + 4u * q, word, run.first);
}
