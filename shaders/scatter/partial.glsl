// 128 rows of one place reduced to one: T, combine, load_row, store_result stand before it.

// Row of position j; false where it names none.
bool row_of(uint j, out uint row) {
    row = GIVEN == 1u ? loadu_order(j) : j;
    return row < arg_count();
}

void main() {
    uint e = linear_group() * 256u + gl_LocalInvocationID.x, inner = arg_inner(), count = arg_count(), c;
    uint r = divide(e, inner, c), first = 128u * r, end = min(first + 128u, count);
    if (first >= count) return;
    uint begin = loadu_places(first * arg_span()), last = loadu_places(min(end * arg_span(), arg_n()) - 1u), row;
    bool of_one = begin == last && begin != 0x7fffffffu, any = false;
    T v = NOTHING;
    for (uint j = first; j < end && of_one; j++) {
        if (!row_of(j, row)) continue;
        T other = load_row(row * inner + c);
        v = any ? combine(v, other) : other;
        any = true;
    }
    store_result(e, v);
}
