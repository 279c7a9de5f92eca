// What the decoders of blocks share (OPS 3.4.2): every bit is as the public gguf package has it, f32 arithmetic in the order written,
// nothing contracted. `block_word(i)` is the operand's 32-bit word i, SCHEME what it is compiled for. A block begins at an even byte
// where its length is even, else at any.
//
// A scheme `x` is one file, `x.glsl`, with a constant and three functions; r is a place in the block, a multiple of four:
//   x_SHARING              so many elements share a scale (32 at most are walked at once)
//   x_shared(at, r)        what the elements around r share, of the block that begins at byte `at`
//   x_place(r)             where the four bytes lie that have the low bits of codes r to r + 3, from the block's begin
//   x_values(at, r, w, s)  elements r to r + 3, of those four bytes and what is shared
//
// Runs of 32 rely on: low bits of 32 elements from a multiple of 32 on lie together, from x_place of the first to x_place of the
// last quad. Blocks of 32 elements share one scale, longer ones share by 32 or by 16.

// Scale and minimum; of a scheme that has one word of fifth bits, that word.
struct Shared { float d, m; uint fifths; };

// Four bytes from byte `at` on. The word after the first is read only where some of them lie in it: there may be none.
// Fields of four bytes begin at a multiple of four where blocks are as long as one.
uint bytes4(uint at) {
    if (BLOCK_BYTES % 4u == 0u) return block_word(at >> 2u);
    uint shift = 8u * (at & 3u), low = block_word(at >> 2u), high = block_word((at >> 2u) + min(shift, 1u));
    return low >> shift | high << 1u << (31u - shift);
}

// One byte, the half at an even byte, and the two halves of a word.
uint byte_at(uint at) { return block_word(at >> 2u) >> (8u * (at & 3u)) & 0xffu; }
float half_at(uint at) { return f16_to_f32(block_word(at >> 2u) >> (8u * (at & 2u)) & 0xffffu); }
vec2 halves_of(uint word) { return vec2(f16_to_f32(word & 0xffffu), f16_to_f32(word >> 16u)); }

// The bytes of a word, each cut to the bits of `mask`; the bytes as signed integers.
uvec4 spread(uint word, uint mask) { return uvec4(word, word >> 8u, word >> 16u, word >> 24u) & mask; }
vec4 signed_bytes(uint word) {
    return vec4(bitfieldExtract(ivec4(int(word), int(word >> 8u), int(word >> 16u), int(word >> 24u)), 0, 8));
}

// Codes r to r + 3 of 32: low nibbles of sixteen bytes first, then high ones; `word` has their bytes, bit i of `fifths` is the
// fifth bit of code i.
uvec4 nibbles(uint word, uint r) { return spread(word >> (r >> 4u & 1u) * 4u, 15u); }
uvec4 five_bits(uint word, uint fifths, uint r) {
    uint bits = fifths >> r;
    return nibbles(word, r) | (uvec4(bits, bits >> 1u, bits >> 2u, bits >> 3u) & 1u) << 4u;
}

// The values that nibbles of IQ4 schemes name: signed bytes, four a word.
int iq4_value(uint q) {
    uint word = q < 8u ? (q < 4u ? 0xbfad9881u : 0xf6eaddcfu) : (q < 12u ? 0x26190d01u : 0x71594535u);
    return bitfieldExtract(int(word), 8 * int(q & 3u), 8);
}
vec4 iq4_values(uvec4 q) { return vec4(iq4_value(q.x), iq4_value(q.y), iq4_value(q.z), iq4_value(q.w)); }

// Twice the values of f4e2m1 codes: signed bytes, four a word. That of −0 is 0.
int twice_e2m1(uint q) {
    uint word = q < 8u ? (q < 4u ? 0x03020100u : 0x0c080604u) : (q < 12u ? 0xfdfeff00u : 0xf4f8fafcu);
    return bitfieldExtract(int(word), 8 * int(q & 3u), 8);
}
vec4 twice_e2m1(uvec4 q) { return vec4(twice_e2m1(q.x), twice_e2m1(q.y), twice_e2m1(q.z), twice_e2m1(q.w)); }

// d · sc and dmin · mn of a block that begins with d, dmin and twelve bytes of scales and minima, 6 bits each, one of each for 32 elements.
Shared k_shared(uint at, uint r) {
    uint sub = r >> 5u, word = at >> 2u, shift = 8u * (sub & 3u);
    uint low = block_word(word + 1u) >> shift, middle = block_word(word + 2u) >> shift, sc = low & 63u, mn = middle & 63u;
    if (sub >= 4u) {
        uint last = block_word(word + 3u) >> shift;
        sc = last & 15u | (low & 0xc0u) >> 2u;
        mn = last >> 4u & 15u | (middle & 0xc0u) >> 2u;
    }
    precise vec2 scales = halves_of(block_word(word)) * vec2(sc, mn);
    return Shared(scales.x, scales.y, 0u);
}

// d · q, d · q + m and d · q − m, rounded after each operation.
vec4 times(float d, vec4 q) { precise vec4 product = d * q; return product; }
vec4 times_plus(float d, vec4 q, float m) { precise vec4 product = d * q, sum = product + m; return sum; }
vec4 times_less(float d, vec4 q, float m) { precise vec4 product = d * q, rest = product - m; return rest; }
