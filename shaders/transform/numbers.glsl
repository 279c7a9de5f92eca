// The numbers of a pass, as constants where the plan says so: a compiler then divides by them without dividing, and
// leaves out passes by other factors.
const bool FIXED = FIXED_RADIX != 0u;
uint radix() { return FIXED ? FIXED_RADIX : arg_radix(); }
uint lines() { return FIXED ? FIXED_AT_ONCE : arg_at_once(); }
uint extent() { return FIXED ? FIXED_LENGTH : arg_length(); }
uint done() { return FIXED ? FIXED_DONE : arg_done(); }
uint given() { return FIXED ? FIXED_GIVEN : arg_given(); }
uint kept() { return FIXED ? FIXED_KEPT : arg_kept(); }
uint inner() { return FIXED_INNER != 0u ? FIXED_INNER : arg_inner(); }
#include "divide.glsl"

// n / d, a shift where d is a power of two.
uint parted(uint n, uint d, out uint rest) {
    if (FIXED) {
        uint q = n / d;
        rest = n - q * d;
        return q;
    }
    if ((d & (d - 1u)) != 0u) return divide(n, d, rest);
    rest = n & (d - 1u);
    return n >> findMSB(d);
}
