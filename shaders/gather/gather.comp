#version 460
// y[o, j, c] = epilogue(table[o, idx[j], c]); an index outside gives zeros and raises the status.
// One thread a quad of c, quads of a row side by side.
#include "table_interface.glsl"
#include "quads.glsl"
#include "index.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

uint inner;

vec4 hole_epilogue(vec4 v, uint outer, uint row, uint col) { return v; }

uvec4 slotload_epilogue(uint slot, uint outer, uint row, uint col) {
    uint step = SLOT_COLS >> slot & 1u;
    uint at = uint(arg_slot_offset(slot)) + outer * uint(arg_slot_outer(slot)) + row * uint(arg_slot_row(slot));
    return slot_quad(slot, at + col * step, step, inner - col);
}

vec4 fetch(uint at, uint left) {
    if (VEC == 1u) return load4_table(at >> 2u);
    return vec4(load_table(at), left > 1u ? load_table(at + 1u) : 0.0, left > 2u ? load_table(at + 2u) : 0.0,
                left > 3u ? load_table(at + 3u) : 0.0);
}

void main() {
    keep_holes();
    inner = arg_inner();
    uint quads = (inner + 3u) / 4u, count = arg_count(), axis = arg_axis();
    uint t = linear_group() * 256u + gl_LocalInvocationID.x;
    if (t >= arg_outer() * count * quads) return;
    uint quad, j, at, line = divide(t, quads, quad), outer = divide(line, count, j), c = 4u * quad;
    vec4 v = vec4(0.0);
    if (index_at(j, axis, at)) v = fetch((outer * axis + at) * inner + c, inner - c);
    else if (c == 0u) status_raise(STATUS_INDEX_OUT_OF_RANGE, arg_op(), j);
    v = hole_epilogue(v, outer, j, c);
    uint y = line * inner + c;
    if (VEC == 1u) {
        store4_y(y >> 2u, v);
        return;
    }
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (c + e < inner) store_y(y + e, v[e]);
}
