// The window of convolutions and pooling: along each of three spatial axes tap t of position o lies at
// o * step + t * dilation - begin of the operand, which has `extent` elements there.
//
// A thread holds four neighbouring positions: `place_window` says where their taps of number 0 lie, `next_tap` goes on to
// the next tap, row by row.
ivec3 origin[4], reach, tap_step; // of each position; from its origin to the current tap; of one tap
uvec3 extent, taps, tap;

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
    tap = uvec3(0u);
    reach = ivec3(0);
}

// After the last tap comes the first again.
void next_tap() {
    tap.z++;
    reach.z += tap_step.z;
    if (tap.z < taps.z) return;
    tap.z = 0u;
    reach.z = 0;
    tap.y++;
    reach.y += tap_step.y;
    if (tap.y < taps.y) return;
    tap.y = 0u;
    reach.y = 0;
    tap.x++;
    reach.x += tap_step.x;
    if (tap.x < taps.x) return;
    tap.x = 0u;
    reach.x = 0;
}

bool is_first_tap() { return (tap.x | tap.y | tap.z) == 0u; }

// Whether there is an element at `at`.
bool is_inside(ivec3 at) { return all(lessThan(uvec3(at), extent)); }
