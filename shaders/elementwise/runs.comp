#version 460
// body(e) for each element e, row-major over size[0 .. RANK - 1] and an innermost axis of `width`; WIDTH 4: e counts
// groups of four elements of the innermost axis. A slot's element is offset + sum of coordinate * stride.
// A thread takes up to `run` consecutive elements of a row. It is for drivers that run on a CPU: there each word that an
// invocation reads costs the same, an argument as much as an element, so arguments and addresses are read once a run.
#include "interface.glsl"
#define TAIL 0u
#include "kinds.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;

int at[12], along[12], step_at;

// Element of the slot where the run is.
uint place(uint slot) { return uint(at[slot] + step_at * along[slot]); }

#if WIDTH == 1
void hole_body(uint i) {}

uint slotload_body(uint slot, uint i) { return kind_load(slot, place(slot)); }

void slotstore_body(uint slot, uint i, uint bits) {
    if (kind_of(slot) == 8u) kind_raise(slot, bits, i);
    else slot_store_raw(slot, place(slot), bits);
}

uvec2 slotload64_body(uint slot, uint i) { return slot_raw2(slot, place(slot)); }

void slotstore64_body(uint slot, uint i, uvec2 bits) { slot_store_raw2(slot, place(slot), bits); }
#else
void hole_body(uint g) {}

uvec4 slotload_body(uint slot, uint g) {
    uint p = place(slot);
    return (SCALARS >> slot & 1u) != 0u ? uvec4(kind_load(slot, p)) : kind_load4(slot, p >> 2u, 4u);
}

void slotstore_body(uint slot, uint g, uvec4 bits) {
    slot_store_raw4(slot, place(slot) >> 2u, bits);
}
#endif

void main() {
    keep_holes();
    keep_slots();
    uint t = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_n(), width = arg_width(), run = arg_run();
    uint coord[8], part, row = divide(t, arg_size(RANK - 1u), part), rest = row;
    [[unroll]] for (uint d = 6u; d > 0u; d--)
        if (d < RANK - 1u) rest = divide(rest, arg_size(d), coord[d]);
    coord[0] = rest;
    uint first = part * run;
    [[unroll]] for (uint s = 0u; s < 12u; s++) {
        if (s >= USED) continue;
        along[s] = arg_stride(8u * s + RANK - 1u) * WIDTH;
        at[s] = arg_offset(s) + int(first) * along[s];
        [[unroll]] for (uint d = 0u; d < 7u; d++)
            if (d < RANK - 1u) at[s] += int(coord[d]) * arg_stride(8u * s + d);
    }
    uint count = t < n ? min(run, width - first) : 0u;
    for (uint k = 0u; k < count; k++) {
        step_at = int(k);
        hole_body(row * width + first + k);
    }
}
