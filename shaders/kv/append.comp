#version 460
// state[o, pos + t, c] = x[o, t, c] in place. A thread owns one word of the state: an f32, or a pair of 16-bit
// elements. SPLIT 0: threads run over the pairs of x. SPLIT 1 (16 bit, odd rows): threads run over the words of the
// whole state and each half finds its own row.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;
#include "rows.glsl"

float fetch(uint o, uint t, uint c) {
    uint outer0 = arg_outer0(), o1 = o / outer0;
    return load_x(o1 * arg_x_outer1() + (o - o1 * outer0) * arg_x_outer0() + t * arg_x_row() + c);
}

// Row of the state that row t goes to; false where it is dropped, or written by a later t.
bool target(uint o, uint t, uint c, out uint r) {
    int pos;
    bool known = position(o, pos);
    if (MODE == 1u && known) {
        r = (wrapped(pos) + t) % capacity;
        return t + capacity >= rows;
    }
    r = uint(pos) + t;
    if (known && r < capacity) return true;
    if (c == 0u) overflow(o, t);
    return false;
}

uint half_bits(float v) { return T_state == 1u ? f32_to_f16(v) : f32_to_bf16(v); }

void append_pairs(uint i) {
    uint step = T_state == 0u ? 1u : 2u, line = inner / step;
    if (i >= arg_outer() * rows * line) return;
    uint place, t, r, row = divide(i, line, place), o = divide(row, rows, t), c = place * step;
    if (!target(o, t, c, r)) return;
    uint at = (o * capacity + r) * inner + c;
    if (T_state == 0u) storeu_state(at, floatBitsToUint(fetch(o, t, c)));
    else storeu_state(at >> 1u, half_bits(fetch(o, t, c)) | half_bits(fetch(o, t, c + 1u)) << 16u);
}

void append_split(uint w) {
    uint total = arg_outer() * capacity * inner;
    if (2u * w >= total) return;
    uint word = loadu_state(w), old = word;
    [[unroll]] for (uint h = 0u; h < 2u; h++) {
        uint e = 2u * w + h, line = e / inner, c = e - line * inner, o = line / capacity, r = line - o * capacity, t;
        if (e >= total) continue;
        if (r == 0u && c == 0u) report(o);
        if (source_row(o, r, t)) word = bitfieldInsert(word, half_bits(fetch(o, t, c)), int(16u * h), 16);
    }
    if (word != old) storeu_state(w, word);
}

void main() {
    rows = arg_rows();
    inner = arg_inner();
    capacity = arg_capacity();
    uint i = linear_group() * 256u + gl_LocalInvocationID.x;
    if (SPLIT == 1u) append_split(i);
    else append_pairs(i);
}
