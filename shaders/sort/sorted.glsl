// Places of row `row` of x [rows / inner, n, inner] and their order: by key, then by place.
#include "divide.glsl"
#include "ordered.glsl"

struct Item {
    uvec2 key;
    uint place;
};

shared uvec2 keys[1024];
shared uint places[1024];

// After all others.
const Item NONE = Item(uvec2(0xffffffffu), 0xffffffffu);

// First element of the row in a tensor of `extent` elements along the axis.
uint row_begin(uint row, uint extent) {
    uint inner = arg_inner(), c, o = divide(row, inner, c);
    return o * extent * inner + c;
}

// The unsigned order of keys is that of elements.
uvec2 key_at(uint i) {
    uvec2 key = uvec2(0u);
    if (KIND < 3u) {
        uint w = loadu_x(i);
        key.x = KIND == 0u ? ordered_float(w) : KIND == 1u ? w ^ 0x80000000u : w;
        if (DOWN == 1u) key.x = ~key.x;
    } else {
        key = loadu2_x(i);
        if (KIND == 3u) key.y ^= 0x80000000u;
        if (DOWN == 1u) key = ~key;
    }
    return key;
}

Item item_at(uint begin, uint place) {
    return place < arg_n() ? Item(key_at(begin + place * arg_inner()), place) : NONE;
}

bool less(Item a, Item b) {
    if (a.key.y != b.key.y) return a.key.y < b.key.y;
    if (a.key.x != b.key.x) return a.key.x < b.key.x;
    return a.place < b.place;
}

Item held(uint i) { return Item(keys[i], places[i]); }

void hold(uint i, Item item) {
    keys[i] = item.key;
    places[i] = item.place;
}

// Place j of run r of the row is written, if it is kept.
void write_place(uint row, uint r, uint j, uint place) {
    uint keep = arg_keep(), len = arg_len(), at = r * keep + j;
    if (j >= keep || at >= len) return;
    at = row_begin(row, len) + at * arg_inner();
    if (WIDE == 1u) storeu2_y(at, uvec2(place, uint(int(place) >> 31)));
    else storeu_y(at, place);
}
