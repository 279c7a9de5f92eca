#version 460
// y[b, h, i, :] = (sum over parts, in order, of e^(max_p - max) · o_p) / (sum over parts of e^(max_p - max) · sum_p), or
// zeros where no part saw a key. One thread makes four elements.
#include "interface.glsl"

layout(local_size_x = 128) in;
#define NEVER uintBitsToFloat(0xff800000u)

void main() {
    uint dv = arg_dv(), quads = (dv + 3u) / 4u, parts = arg_parts(), sq = arg_sq(), heads = arg_heads();
    uint x = linear_group() * 128u + gl_LocalInvocationID.x, quad = x % quads, row = x / quads;
    uint rows = arg_batches() * heads * sq, maxima = rows * parts * quads * 4u + row * parts * 2u;
    if (row >= rows) return;
    float most = NEVER;
    for (uint p = 0u; p < parts; p++) {
        float m = load_part(maxima + 2u * p);
        most = m > most ? m : most;
    }
    vec4 v = vec4(0.0);
    float sum = 0.0;
    for (uint p = 0u; p < parts; p++) {
        float m = load_part(maxima + 2u * p), s = load_part(maxima + 2u * p + 1u), w = floatBitsToUint(m) == 0xff800000u ? 0.0 : exp(m - most);
        sum += s * w;
        if (s != 0.0) v = fma(load4_part((row * parts + p) * quads + quad), vec4(w), v);
    }
    v *= sum == 0.0 ? 0.0 : 1.0 / sum;
    uint i = row % sq, head = row / sq % heads, batch = row / sq / heads;
    uint at = arg_y_at() + batch * arg_y_b() + head * arg_y_h() + i * arg_y_s() + quad * 4u;
    [[unroll]] for (uint e = 0u; e < 4u; e++) if (quad * 4u + e < dv) store_y(at + e, v[e]);
}
