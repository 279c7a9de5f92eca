// Passes by primes q from 17 to 251: sums of products with the roots of q, from a table after the lines. With the sums
// a and the differences b of the values r and q - r, the results k and q - k are even + odd and even - odd, where even is
// x_0 and the sum of a_r Re w^(rk), odd i times that of b_r Im w^(rk): chains of at most 125 terms. A thread makes the
// same two results of up to MANY sums, so that it reads a root once for them.
const uint MANY = 12u;

// Adds and subtracts opposite values where they lie, turned before.
void opposite(uint t, uint p, uint q) {
    uint apart = radix() / q, all = lines() * apart, half_q = q / 2u;
    for (uint e = t; e < all * half_q; e += 256u) {
        uint b, rest, low, r = parted(e, all, b) + 1u, first = line_at(b, apart, rest);
        uint one = at(first + r * apart + rest), other = at(first + (q - r) * apart + rest);
        vec2 x = held[one], z = held[other];
        if (p > 1u) {
            parted(rest, p, low);
            x = times(root(r * low, p * q), x);
            z = times(root((q - r) * low, p * q), z);
        }
        held[one] = x + z;
        held[other] = x - z;
    }
}

void pass_prime(uint t, uint p, uint q) {
    uint apart = radix() / q, all = lines() * apart, table = lines() * pitch() + 15u & ~15u, half_q = q / 2u, rest, low, k;
    if (t < q) held[table + t] = root(t, q);
    opposite(t, p, q);
    barrier();
    uint beside = 256u / (half_q + 1u), begin = parted(t, half_q + 1u, k), of_root = 0u, from[MANY];
    if (begin >= beside) begin = all;
    vec2 even[MANY], odd[MANY];
    [[unroll]] for (uint u = 0u; u < MANY; u++) {
        even[u] = odd[u] = vec2(0.0);
        if (beyond(begin, u, beside, all)) continue;
        from[u] = line_at(begin + u * beside, apart, rest) + rest;
        even[u] = held[at(from[u])];
    }
    for (uint r = 1u; r <= half_q; r++) {
        of_root += k;
        if (of_root >= q) of_root -= q;
        vec2 w = held[table + of_root];
        [[unroll]] for (uint u = 0u; u < MANY; u++) {
            if (beyond(begin, u, beside, all)) continue;
            even[u] += w.x * held[at(from[u] + r * apart)];
            odd[u] += w.y * held[at(from[u] + (q - r) * apart)];
        }
    }
    barrier();
    [[unroll]] for (uint u = 0u; u < MANY; u++) {
        if (beyond(begin, u, beside, all)) continue;
        uint first = line_at(begin + u * beside, apart, rest), to = first + parted(rest, p, low) * p * q + low;
        vec2 turned = vec2(-odd[u].y, odd[u].x);
        held[at(to + k * p)] = even[u] + turned;
        if (k > 0u) held[at(to + (q - k) * p)] = even[u] - turned;
    }
    barrier();
}
