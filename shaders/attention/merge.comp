#version 460
// y[b, h, i] = the results of the parts of a row as one: Σ e^(m_p - m) o_p / Σ e^(m_p - m) l_p, m the largest m_p. A
// workgroup a row. QUADS threads side by side take a quad of the width each, 256 / QUADS share the parts: a thread takes
// every so manyth part, four in flight, in one chain, of 128 for 128 * 256 / QUADS parts; then what they have is added in
// pairs.
#include "interface.glsl"
#ifdef EXTENDED
#include "explog.glsl"
#endif
layout(local_size_x = 256) in;

const uint SLICES = 256u / QUADS;
const float LOWEST = -3.40282347e38;
shared vec4 pool[256];
shared vec4 runs[256];

float weight(float s, float m) {
    float p = exp2((s - m) * 1.44269504);
    return s < LOWEST ? 0.0 : p;
}

// (maximum, sum, sum of the parts whose maximum is -Inf) and result of more parts.
void take(inout vec4 run, inout vec4 acc, vec4 more, vec4 o) {
    if (more.x < LOWEST) {
#ifdef EXTENDED
        if (WITH_SINKS == 1u && run.x < LOWEST) acc += o;
#endif
        run.z += more.y + more.z;
        return;
    }
    float m = max(run.x, more.x), a = weight(run.x, m), b = weight(more.x, m);
    acc = a == 1.0 ? fma(vec4(b), o, acc) : fma(vec4(b), o, a * acc);
    run = vec4(m, fma(more.y, b, run.y * a), run.z + more.z, 0.0);
}

void main() {
    uint t = gl_LocalInvocationID.x, quad = t % QUADS, slice = t / QUADS, row = linear_group(), parts = arg_parts();
    uint dv = arg_dv(), width = dv / 4u + 1u, queries = arg_sq(), heads = arg_hq();
    bool live = row < arg_batches() * heads * queries && 4u * quad < dv;
    vec4 run = vec4(uintBitsToFloat(0xff800000u), 0.0, 0.0, 0.0), acc = vec4(0.0);
    uint at = row * parts * width;
    for (uint p = slice; p < parts; p += 4u * SLICES) {
        vec4 more[4], o[4];
        [[unroll]] for (uint u = 0u; u < 4u; u++) {
            uint part = at + (p + SLICES * u) * width;
            bool there = live && p + SLICES * u < parts;
            more[u] = there ? load4_x(part + width - 1u) : vec4(uintBitsToFloat(0xff800000u), 0.0, 0.0, 0.0);
            o[u] = there ? load4_x(part + quad) : vec4(0.0);
        }
        [[unroll]] for (uint u = 0u; u < 4u; u++) take(run, acc, more[u], o[u]);
    }
    pool[t] = acc;
    runs[t] = run;
    barrier();
    for (uint s = SLICES / 2u; s > 0u; s >>= 1u) {
        if (slice < s) {
            take(run, acc, runs[t + s * QUADS], pool[t + s * QUADS]);
            pool[t] = acc;
            runs[t] = run;
        }
        barrier();
    }
    if (slice != 0u || !live) return;
#ifdef EXTENDED
    uint head = row / queries % heads;
    if (WITH_SINKS == 1u) {
        float sink = load_sinks(head);
        if (is_nan(sink)) {
            run = vec4(0.0, sink, 0.0, 0.0);
        } else if (!(sink < LOWEST)) {
            float top = max(run.x, sink), shrink = weight(run.x, top);
            acc = run.x < LOWEST ? acc : acc * shrink;
            run.xyz = vec3(top, run.y * shrink + weight(sink, top), 0.0);
        }
    }
    float total = run.x < LOWEST ? run.z : run.y;
    if (WITH_LSE == 1u && quad == 0u)
        store_lse(row, is_nan(total) ? total : total == 0.0 ? uintBitsToFloat(0xff800000u) : run.x + log_own(total));
#endif
    float sum = run.x < LOWEST ? run.z : run.y;
    vec4 y = sum == 0.0 ? vec4(0.0) : is_nan(sum) ? vec4(sum) : acc / sum;
    uint i = row % queries, h = row / queries % heads, b = row / queries / heads;
    store4_y((b * arg_y_b() + h * arg_y_h() + i * arg_y_row()) / 4u + quad, y);
}
