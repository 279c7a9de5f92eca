// Elements of x by kept and reduced index, both row-major over four axes, innermost last.
#include "divide.glsl"

int kept_place(uint i) {
    int at = arg_x_offset();
    [[unroll]] for (uint k = 0u; k < 4u; k++) {
        uint d = 3u - k, rest;
        i = divide(i, arg_kept(d), rest);
        at += int(rest) * arg_kept_stride(d);
    }
    return at;
}

int red_place(uint j) {
    int at = 0;
    [[unroll]] for (uint k = 0u; k < 4u; k++) {
        uint d = 3u - k, rest;
        j = divide(j, arg_red(d), rest);
        at += int(rest) * arg_red_stride(d);
    }
    return at;
}
