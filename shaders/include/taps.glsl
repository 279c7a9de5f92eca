// Taps of a window, walked row by row, and whether there is an element under one.
//
// A thread holds four positions. Whoever places them sets `origin`, where their taps of number 0 lie, `tap_step`, from tap
// to tap, `extent` of the operand and `taps`, and calls `first_tap`; `next_tap` goes on to the next one.
ivec3 origin[4], reach, tap_step; // of each position; from its origin to the current tap; of one tap
uvec3 extent, taps, tap;

void first_tap() {
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
