// Where rows of x go among `capacity` rows of each entry: linear, or MODE 1 circular, the last of several.
uint rows, inner, capacity;

// Position of batch entry o; false where it is no 32-bit number.
bool position(uint o, out int pos) {
    pos = arg_pos();
    if (SOURCE == 1u) pos = int(loadu_positions(o / arg_pos_div()));
    if (SOURCE != 2u) return true;
    uvec2 w = loadu2_positions(o / arg_pos_div());
    pos = int(w.x);
    return w.y == uint(pos >> 31);
}

// v modulo capacity, not negative; % on a negative number is undefined.
uint wrapped(int v) {
    return v >= 0 ? uint(v) % capacity : capacity - 1u - uint(-1 - v) % capacity;
}

void overflow(uint o, uint t) { status_raise(STATUS_STATE_OVERFLOW, arg_op(), o * rows + t); }

// The row t that ends up in row r of entry o, if there is one.
bool source_row(uint o, uint r, out uint t) {
    int pos;
    if (!position(o, pos)) return false;
    if (MODE == 1u) {
        t = wrapped(int(r) - int(wrapped(pos)));
        if (t >= rows) return false;
        t += capacity * ((rows - 1u - t) / capacity);
        return true;
    }
    t = r - uint(pos);
    return t < rows;
}

// The first element of each entry reports what linear mode drops.
void report(uint o) {
    int pos;
    bool known = position(o, pos);
    if (rows == 0u || (MODE == 1u && known)) return;
    if (!known || pos < 0 || uint(pos) >= capacity) overflow(o, 0u);
    else if (uint(pos) + rows > capacity) overflow(o, capacity - uint(pos));
}
