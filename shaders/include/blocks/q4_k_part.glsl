// Thirty-two elements of Q4_K whose codes are sixteen bytes that lie together: part p of the eight of a block has the elements
// 64 · (p / 2) + 16 · (p % 2) + {0 to 15, 32 to 47}. Header and codes are a read of sixteen bytes each: a block of 144 bytes begins
// at a multiple of 16. Elements are those of q4_k.glsl, bit for bit.
void q4_k_part(uint block, uint p, out vec4 low[4], out vec4 high[4]) {
    uvec4 head = loadu4_b(9u * block), codes = loadu4_b(9u * block + 1u + p);
    uvec3 fields = head.yzw >> 16u * (p >> 1u & 1u);
    bool late = p >= 4u;
    uint sc = late ? fields.z & 0x0f0fu | (fields.x & 0xc0c0u) >> 2u : fields.x & 0x3f3fu;
    uint mn = late ? fields.z >> 4u & 0x0f0fu | (fields.y & 0xc0c0u) >> 2u : fields.y & 0x3f3fu;
    vec2 d = halves_of(head.x);
    precise vec2 first = d * vec2(sc & 0xffu, mn & 0xffu), second = d * vec2(sc >> 8u, mn >> 8u);
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        low[q] = times_less(first.x, vec4(spread(codes[q], 15u)), first.y);
        high[q] = times_less(second.x, vec4(spread(codes[q] >> 4u, 15u)), second.y);
    }
}

// The first element of a part.
uint q4_k_first(uint part) { return (part >> 1u) * 64u + (part & 1u) * 16u; }
