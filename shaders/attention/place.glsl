// The place of the first query where an attention has one of its own (PLACED), and the window that follows from it.
//
// In: the constants and variables of rules.glsl.
const uint PLACE_ARG = 1u, PLACE_OPERAND = 2u;

// The place of query 0.
int place;

// Sets first0 and end0 for any place and window: sums that pass the range of i32 are held at its ends, and what is left
// is held to -queries .. keys.
void place_window(uint b, int offset, int right) {
    place = PLACE == PLACE_ARG ? arg_first_place() : PLACE == PLACE_OPERAND ? int(loadu_offsets(b * arg_first_place_b())) : offset;
    int left = arg_left(), none = -int(arg_sq()), low = place - left, high = place + right;
    if (left < 0 || place < 0 && low >= 0) low = none;
    if (place > 0 && right >= 0 && high < 0) high = total;
    first0 = min(max(low, none), total);
    end0 = right < 0 || high >= total ? total : max(high + 1, none);
}
