// The window of convolutions and pooling: along each of three spatial axes tap t of position o lies at
// o * step + t * dilation - begin of the operand, which has `extent` elements there. Four neighbouring positions a thread.
#include "taps.glsl"

void place_window(uint position, uint positions) {
    uvec3 size = uvec3(arg_out(0), arg_out(1), arg_out(2));
    ivec3 step = ivec3(arg_step(0), arg_step(1), arg_step(2)), begin = ivec3(arg_begin(0), arg_begin(1), arg_begin(2));
    extent = uvec3(arg_extent(0), arg_extent(1), arg_extent(2));
    taps = uvec3(arg_kernel(0), arg_kernel(1), arg_kernel(2));
    tap_step = ivec3(arg_dilation(0), arg_dilation(1), arg_dilation(2));
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        uvec3 o;
        uint line = divide(min(position + e, positions - 1u), size.z, o.z);
        o.x = divide(line, size.y, o.y);
        origin[e] = ivec3(o) * step - begin;
    }
    first_tap();
}
