// Index v on an axis of n elements; that of the border where it is outside.
uint on_axis(int v, uint n) { return uint(clamp(v, 0, int(n) - 1)); }

// The first element of a line of x: row r of q between the axes, of o before them.
uint line_of(uint o, uint r, uint q) { return ((o * arg_axis(0) + r) * arg_mid() + q) * arg_axis(1) * arg_inner(); }
