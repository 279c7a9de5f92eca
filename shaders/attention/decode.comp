#version 460
// Attention of few queries over a part of the keys: the sums of exp(s - max) · v, the maximum and the sum of
// exp(s - max), to be merged by merge.comp; with DIRECT, where one part has all keys, the result itself.
//
// A workgroup has RB of the (head in group, query) rows that share one k and v head, and one part of the keys, in tiles
// of 64. Products: thread (dl = t % 8, jl = t / 8) sums the quads dl + 8·n of d for the keys jl + 16·c. Softmax: thread
// (row, x) of RB x 16 has four keys. Values: thread (vl = t % LANES, jg = t / LANES) has one quad of v and every
// (128 / LANES)-th group of four keys; the groups are added in order at the end.
#include "interface.glsl"
#include "attention.glsl"

layout(local_size_x = 128) in;
const uint GROUPS = 128u / LANES;
shared vec4 queries[RB * 64];
shared vec4 pool[RB * 128]; // [row][key][dl] products, at the end [row][thread] results
shared vec4 weights[RB * 16];
shared vec4 spread[RB * 4];
shared float shrink[RB];

uint q_at, k_at, v_at, d, dv, sq, head0, rows, row0, t;

uint head_of(uint r) { return head0 + min(row0 + r, rows - 1u) / sq; }
uint query_of(uint r) { return min(row0 + r, rows - 1u) % sq; }

vec4 quad_k(uint at, uint c) {
    if (VEC != 0u) return load4_k((at + c) >> 2u);
    vec4 v;
    [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = c + e < d ? load_k(at + c + e) : 0.0;
    return v;
}
vec4 quad_v(uint at, uint c) {
    if (VEC != 0u) return load4_v((at + c) >> 2u);
    vec4 v;
    [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = c + e < dv ? load_v(at + c + e) : 0.0;
    return v;
}

void load_queries() {
    for (uint x = t; x < RB * 64u; x += 128u) {
        uint r = x / 64u, c = x % 64u * 4u, at = q_at + head_of(r) * arg_q_h() + query_of(r) * arg_q_s();
        vec4 v = vec4(0.0);
        [[unroll]] for (uint e = 0u; e < 4u; e++) if (c + e < d) v[e] = load_q(at + c + e);
        queries[x] = v;
    }
}

void products(uint j0, uint end, uint k_s) {
    uint dl = t % 8u, jl = t / 8u, at[4];
    float acc[4 * RB];
    [[unroll]] for (uint n = 0u; n < 4u * RB; n++) acc[n] = 0.0;
    [[unroll]] for (uint c = 0u; c < 4u; c++) at[c] = k_at + min(j0 + jl + 16u * c, end - 1u) * k_s;
    for (uint g = dl; g < (d + 3u) / 4u; g += 8u) {
        vec4 fk[4];
        [[unroll]] for (uint c = 0u; c < 4u; c++) fk[c] = quad_k(at[c], g * 4u);
        [[unroll]] for (uint r = 0u; r < RB; r++) {
            vec4 fq = queries[r * 64u + g];
            [[unroll]] for (uint e = 0u; e < 4u; e++)
                [[unroll]] for (uint c = 0u; c < 4u; c++) acc[c * RB + r] = fma(fq[e], fk[c][e], acc[c * RB + r]);
        }
    }
    [[unroll]] for (uint c = 0u; c < 4u; c++) [[unroll]] for (uint r = 0u; r < RB; r++)
        pool[(r * 64u + jl + 16u * c) * 2u + dl / 4u][dl % 4u] = acc[c * RB + r];
    barrier();
}

// The thread's four weights of a row under the new maximum. Returns their sum; the maximum goes on in `most`.
float soften(uint j0, uint end, inout float most) {
    uint r = t / 16u, x = t % 16u;
    bool busy = t < RB * 16u;
    vec4 s = vec4(NEVER);
    float old = most;
    if (busy) {
        uint row = query_of(r), base = mask_base + head_of(r) * arg_mask_h();
        bool whole = sees_all(int(row), int(row), int(j0), 64) && j0 + 64u <= end;
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            uint j = j0 + 4u * x + e;
            vec4 p = pool[(r * 64u + 4u * x + e) * 2u] + pool[(r * 64u + 4u * x + e) * 2u + 1u];
            if (whole || j < end) s[e] = score((p.x + p.y) + (p.z + p.w), whole, base, int(row), int(j));
        }
        float high = NEVER;
        [[unroll]] for (uint e = 0u; e < 4u; e++) high = s[e] > high ? s[e] : high;
        spread[r * 4u + x / 4u][x % 4u] = high;
    }
    barrier();
    float sum = 0.0;
    if (busy) {
        [[unroll]] for (uint g = 0u; g < 4u; g++) [[unroll]] for (uint e = 0u; e < 4u; e++) {
            float m = spread[r * 4u + g][e];
            most = m > most ? m : most;
        }
        vec4 p;
        [[unroll]] for (uint e = 0u; e < 4u; e++) { p[e] = weight(s[e], most); sum += p[e]; }
        weights[r * 16u + x] = p;
        if (x == 0u) shrink[r] = rescale(old, most);
    }
    barrier();
    return sum;
}

void gather(uint j0, uint end, uint v_s, inout vec4 o[RB]) {
    uint vl = t % LANES, jg = t / LANES;
    [[unroll]] for (uint r = 0u; r < RB; r++) o[r] *= shrink[r];
    if (vl * 4u >= dv) return;
    for (uint g = jg; g < 16u; g += GROUPS) {
        vec4 fv[4];
        bool odd = false;
        [[unroll]] for (uint e = 0u; e < 4u; e++) {
            uint j = j0 + 4u * g + e;
            fv[e] = quad_v(v_at + min(j, end - 1u) * v_s, vl * 4u);
            odd = odd || !finite(fv[e]);
        }
        [[unroll]] for (uint r = 0u; r < RB; r++) {
            vec4 p = weights[r * 16u + g];
            [[unroll]] for (uint e = 0u; e < 4u; e++)
                o[r] = fma(vec4(p[e]), odd && p[e] == 0.0 ? vec4(0.0) : fv[e], o[r]);
        }
    }
}

void main() {
    t = gl_LocalInvocationID.x;
    sq = arg_sq(); rows = arg_group() * sq; d = arg_d(); dv = arg_dv();
    uint parts = arg_parts(), blocks = (rows + RB - 1u) / RB, kv_heads = arg_heads() / arg_group(), x = linear_group();
    uint part = x % parts, block = x / parts % blocks, kv_head = x / parts / blocks % kv_heads;
    uint batch = x / parts / blocks / kv_heads;
    if (batch >= arg_batches()) return;
    head0 = kv_head * arg_group(); row0 = block * RB;
    q_at = arg_q_at() + batch * arg_q_b();
    k_at = arg_k_at() + batch * arg_k_b() + kv_head * arg_k_h();
    v_at = arg_v_at() + batch * arg_v_b() + kv_head * arg_v_h();
    place_batch(batch, 0u);
    load_queries();
    barrier();

    ivec2 keys = key_range(0, int(sq) - 1);
    uint begin = uint(keys.x & -64) + part * arg_part_keys(), end = min(uint(keys.y), begin + arg_part_keys());
    vec4 o[RB];
    [[unroll]] for (uint r = 0u; r < RB; r++) o[r] = vec4(0.0);
    float most = NEVER, sum = 0.0;
    for (uint j0 = begin; j0 < end; j0 += 64u) {
        products(j0, end, arg_k_s());
        float old = most, more = soften(j0, end, most);
        sum = sum * rescale(old, most) + more;
        gather(j0, end, arg_v_s(), o);
    }
    barrier();
    [[unroll]] for (uint r = 0u; r < RB; r++) pool[r * 128u + t] = o[r];
    if (t < RB * 16u) spread[t / 16u * 4u + t % 16u / 4u][t % 4u] = sum;
    if (t < RB * 16u && t % 16u == 0u) shrink[t / 16u] = most;
    barrier();
    uint padded = (dv + 3u) / 4u * 4u, all_rows = arg_batches() * arg_heads() * sq;
    for (uint y = t; y < RB * LANES; y += 128u) {
        uint r = y / LANES, vl = y % LANES;
        if (row0 + r >= rows || vl * 4u >= dv) continue;
        vec4 v = vec4(0.0), sums = (spread[r * 4u] + spread[r * 4u + 1u]) + (spread[r * 4u + 2u] + spread[r * 4u + 3u]);
        for (uint g = 0u; g < GROUPS; g++) v += pool[r * 128u + g * LANES + vl];
        float total_sum = (sums.x + sums.y) + (sums.z + sums.w);
        uint head = head_of(r), i = query_of(r), row = (batch * arg_heads() + head) * sq + i;
        if (DIRECT != 0u) {
            v *= total_sum == 0.0 ? 0.0 : 1.0 / total_sum;
            uint at = arg_y_at() + batch * arg_y_b() + head * arg_y_h() + i * arg_y_s() + vl * 4u;
            [[unroll]] for (uint e = 0u; e < 4u; e++) if (vl * 4u + e < dv) store_y(at + e, v[e]);
        } else {
            store4_y(((row * parts + part) * padded + vl * 4u) >> 2u, v);
            uint at = all_rows * parts * padded + (row * parts + part) * 2u;
            if (vl == 0u) { store_y(at, shrink[r]); store_y(at + 1u, total_sum); }
        }
    }
}
