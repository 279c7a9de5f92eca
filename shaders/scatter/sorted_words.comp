#version 460
// y[e] = data[e] and its updates by MODE, found among sorted ones (sorted.glsl): 0 the last of them, as its words are; of
// integers 1 sum, 2 product, 3 maximum, 4 minimum. One thread an element.
#include "interface.glsl"
#include "divide.glsl"
layout(local_size_x = 256) in;
#include "words.glsl"

uvec2 v;

uvec2 update_at(uint i) { return PAIR == 1u ? loadu2_updates(i) : widened(loadu_updates(i)); }
uvec2 first_at(uint i) { return PAIR == 1u ? loadu2_first(i) : widened(loadu_first(i)); }
uvec2 second_at(uint i) { return PAIR == 1u ? loadu2_second(i) : widened(loadu_second(i)); }

#define TAKE_ROW(i) v = combine(v, update_at(i))
#define TAKE_FIRST(i) v = combine(v, first_at(i))
#define TAKE_SECOND(i) v = combine(v, second_at(i))
#define END_CHAIN
#include "sorted.glsl"

void main() {
    uint e = linear_group() * 256u + gl_LocalInvocationID.x, c;
    uvec2 found = positions(e, c);
    if (e >= arg_n()) return;
    v = PAIR == 1u ? loadu2_data(e) : widened(loadu_data(e));
    if (MODE > 0u) take(found.x, found.y, c);
    else if (found.x < found.y) take_rows(found.y - 1u, found.y, c);
    if (PAIR == 1u) storeu2_y(e, v);
    else storeu_y(e, wrapped(v.x));
}
