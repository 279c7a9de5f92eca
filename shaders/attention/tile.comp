#version 460
// y[b, h, i, :] = sum over the keys j that i may see of softmax_j(s[i, j]) · v[b, h / group, j, :], never keeping s.
//
// A workgroup has BQ queries of one head and walks the keys in tiles of BKV, 16 x BQ/4 threads: thread (tx, ty) has the
// queries 4·ty.. and the keys tx + 16·n of a tile, and of the result the quads cx + CT·o (cx = tx % CT); where CT < 16
// the threads tx / CT share the keys of a tile out. Running maximum, sum and result are rescaled tile by tile.
// What lies outside is zero in shared memory; values that no query weighs are not multiplied where any is not finite.
#include "interface.glsl"
#include "attention.glsl"

const uint TY = BQ / 4, NT = 16 * TY, NJ = BKV / 16, DQ = DC / 4;
layout(local_size_x = NT) in;
const uint CT = 16u / KEY_SHARES, VQ = CT * QUADS; // quads of a row of v
const uint V_QUADS = 512, QK_QUADS = (BQ + BKV) * (DQ + 1);
shared vec4 stage[QK_QUADS > V_QUADS ? QK_QUADS : V_QUADS]; // of q and k, of v, or the rows' partial maxima and sums
shared vec4 weights[BQ * (BKV / 4 + 1)];
shared uint odd_values[2];

uint q_at, k_at, v_at, q_s, k_s, v_s, sq, d, dv, t, tx, ty, cx, share, tile_row, chunks;
float row_max[4], row_sum[4], s[4 * NJ];
vec4 o[4 * QUADS];

vec4 quad_q(uint row, uint c) {
    if (row >= sq || c >= d) return vec4(0.0);
    uint at = q_at + row * q_s + c;
    if (VEC != 0u) return load4_q(at >> 2u);
    vec4 v;
    [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = c + e < d ? load_q(at + e) : 0.0;
    return v;
}
vec4 quad_k(uint j, uint c) {
    if (j >= uint(total) || c >= d) return vec4(0.0);
    uint at = k_at + j * k_s + c;
    if (VEC != 0u) return load4_k(at >> 2u);
    vec4 v;
    [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = c + e < d ? load_k(at + e) : 0.0;
    return v;
}
vec4 quad_v(uint j, uint c) {
    if (j >= uint(total) || c >= dv) return vec4(0.0);
    uint at = v_at + j * v_s + c;
    if (VEC != 0u) return load4_v(at >> 2u);
    vec4 v;
    [[unroll]] for (uint e = 0u; e < 4u; e++) v[e] = c + e < dv ? load_v(at + e) : 0.0;
    return v;
}

// s = products of the queries with keys j0.., DC elements of d at a time.
void products(uint j0) {
    [[unroll]] for (uint n = 0u; n < 4u * NJ; n++) s[n] = 0.0;
    for (uint c = 0u; c < d; c += DC) {
        barrier();
        [[unroll]] for (uint e = 0u; e < BQ * DQ; e += NT) {
            uint x = e + t;
            stage[x / DQ * (DQ + 1u) + x % DQ] = quad_q(tile_row + x / DQ, c + x % DQ * 4u);
        }
        [[unroll]] for (uint e = 0u; e < BKV * DQ; e += NT) {
            uint x = e + t;
            stage[(BQ + x / DQ) * (DQ + 1u) + x % DQ] = quad_k(j0 + x / DQ, c + x % DQ * 4u);
        }
        barrier();
        [[unroll]] for (uint g = 0u; g < DQ; g++) {
            vec4 fq[4], fk[NJ];
            [[unroll]] for (uint i = 0u; i < 4u; i++) fq[i] = stage[(4u * ty + i) * (DQ + 1u) + g];
            [[unroll]] for (uint n = 0u; n < NJ; n++) fk[n] = stage[(BQ + tx + 16u * n) * (DQ + 1u) + g];
            [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint i = 0u; i < 4u; i++)
                [[unroll]] for (uint n = 0u; n < NJ; n++) s[i * NJ + n] = fma(fq[i][e], fk[n][e], s[i * NJ + n]);
        }
    }
    barrier();
}

// The 16 values of a row, one from each tx, in `stage`.
void share_row(uint i, float v) { stage[(4u * ty + i) * 4u + tx / 4u][tx % 4u] = v; }
vec4 row_values(uint i, uint g) { return stage[(4u * ty + i) * 4u + g]; }

// Turns s into weights under the new maxima, and rescales sums and results.
void soften(uint j0) {
    bool whole = sees_all(int(tile_row), int(tile_row + BQ) - 1, int(j0), int(BKV));
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        float most = NEVER;
        int row = int(min(tile_row + 4u * ty + i, sq - 1u));
        [[unroll]] for (uint n = 0u; n < NJ; n++) {
            float x = score(s[i * NJ + n], whole, mask_base, row, int(j0 + tx + 16u * n));
            s[i * NJ + n] = x;
            most = x > most ? x : most;
        }
        share_row(i, most);
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        float most = row_max[i];
        [[unroll]] for (uint g = 0u; g < 4u; g++) {
            vec4 m = row_values(i, g);
            [[unroll]] for (uint e = 0u; e < 4u; e++) most = m[e] > most ? m[e] : most;
        }
        float shrink = rescale(row_max[i], most);
        row_max[i] = most;
        row_sum[i] *= shrink;
        [[unroll]] for (uint g = 0u; g < QUADS; g++) o[i * QUADS + g] *= shrink;
        [[unroll]] for (uint n = 0u; n < NJ; n++) {
            float p = weight(s[i * NJ + n], most);
            row_sum[i] += p;
            uint col = tx + 16u * n;
            weights[(4u * ty + i) * (BKV / 4u + 1u) + col / 4u][col % 4u] = p;
        }
    }
}

void add_keys(uint from, uint row, bool odd) {
    vec4 p[4], fv[4 * QUADS];
    [[unroll]] for (uint i = 0u; i < 4u; i++) p[i] = weights[(4u * ty + i) * (BKV / 4u + 1u) + (from + row) / 4u];
    [[unroll]] for (uint e = 0u; e < 4u; e++)
        [[unroll]] for (uint g = 0u; g < QUADS; g++) fv[e * QUADS + g] = stage[(row + e) * VQ + cx + CT * g];
    [[unroll]] for (uint e = 0u; e < 4u; e++) [[unroll]] for (uint i = 0u; i < 4u; i++)
        [[unroll]] for (uint g = 0u; g < QUADS; g++)
            if (!odd || p[i][e] != 0.0) o[i * QUADS + g] = fma(vec4(p[i][e]), fv[e * QUADS + g], o[i * QUADS + g]);
}

// o += weights · v, as many keys at a time as there is room for.
void gather(uint j0) {
    uint ROWS = min(V_QUADS / VQ, uint(BKV));
    for (uint from = 0u; from < BKV; from += ROWS) {
        uint slot = chunks++ & 1u;
        barrier();
        for (uint x = t; x < ROWS * VQ; x += NT) {
            vec4 v = quad_v(j0 + from + x / VQ, x % VQ * 4u);
            if (!finite(v)) odd_values[slot] = 1u;
            stage[x] = v;
        }
        barrier();
        bool odd = odd_values[slot] != 0u;
        if (t == 0u) odd_values[slot ^ 1u] = 0u;
        uint begin = share * (ROWS / KEY_SHARES);
        if (odd) [[dont_unroll]] for (uint r = 0u; r < ROWS / KEY_SHARES; r += 4u) add_keys(from, begin + r, true);
        else for (uint r = 0u; r < ROWS / KEY_SHARES; r += 4u) add_keys(from, begin + r, false);
    }
}

void finish(uint y_at, uint y_s) {
    [[unroll]] for (uint i = 0u; i < 4u; i++) share_row(i, row_sum[i]);
    if (share > 0u) [[unroll]] for (uint i = 0u; i < 4u; i++)
        [[unroll]] for (uint g = 0u; g < QUADS; g++) weights[((share - 1u) * BQ + 4u * ty + i) * VQ + cx + CT * g] = o[i * QUADS + g];
    barrier();
    if (share > 0u) return;
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        vec4 sums = (row_values(i, 0u) + row_values(i, 1u)) + (row_values(i, 2u) + row_values(i, 3u));
        float sum = (sums.x + sums.y) + (sums.z + sums.w), over = sum == 0.0 ? 0.0 : 1.0 / sum;
        uint row = tile_row + 4u * ty + i;
        [[unroll]] for (uint g = 0u; g < QUADS; g++) {
            vec4 v = o[i * QUADS + g];
            uint quad = cx + CT * g, at = y_at + row * y_s + quad * 4u;
            for (uint x = 1u; x < KEY_SHARES; x++) v += weights[((x - 1u) * BQ + 4u * ty + i) * VQ + quad];
            v *= over;
            if (row >= sq || quad * 4u >= dv) continue;
            if (VEC != 0u) store4_y(at >> 2u, v);
            else [[unroll]] for (uint e = 0u; e < 4u; e++) if (quad * 4u + e < dv) store_y(at + e, v[e]);
        }
    }
}

void main() {
    sq = arg_sq();
    uint tiles = (sq + BQ - 1u) / BQ, group = linear_group(), heads = arg_heads();
    uint tile = tiles - 1u - group % tiles, head = group / tiles % heads, batch = group / tiles / heads;
    if (batch >= arg_batches()) return;
    uint kv_head = head / arg_group();
    t = gl_LocalInvocationID.x; tx = t % 16u; ty = t / 16u; cx = tx % CT; share = tx / CT;
    d = arg_d(); dv = arg_dv(); tile_row = tile * BQ;
    q_at = arg_q_at() + batch * arg_q_b() + head * arg_q_h(); q_s = arg_q_s();
    k_at = arg_k_at() + batch * arg_k_b() + kv_head * arg_k_h(); k_s = arg_k_s();
    v_at = arg_v_at() + batch * arg_v_b() + kv_head * arg_v_h(); v_s = arg_v_s();
    place_batch(batch, head);
    [[unroll]] for (uint i = 0u; i < 4u; i++) { row_max[i] = NEVER; row_sum[i] = 0.0; }
    [[unroll]] for (uint g = 0u; g < 4u * QUADS; g++) o[g] = vec4(0.0);
    if (t < 2u) odd_values[t] = 0u;
    chunks = 0u;

    ivec2 keys = key_range(int(tile_row), int(min(tile_row + BQ, sq)) - 1);
    for (int j0 = keys.x & -int(BKV); j0 < keys.y; j0 += int(BKV)) {
        products(uint(j0));
        soften(uint(j0));
        gather(uint(j0));
    }
    barrier();
    finish(arg_y_at() + batch * arg_y_b() + head * arg_y_h(), arg_y_s());
}
