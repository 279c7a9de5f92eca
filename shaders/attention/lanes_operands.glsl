// Keys and values of a step: fetch_X begins it, X_at gives quad i of its c-th key; keys after the last are copies of it.
uint k_base, k_row, v_base, v_row;

// Quad i of a key, of its value.
vec4 read_k(int key, uint i) { return quad_k(k_base + uint(key) * k_row + 4u * i, 4u * i, D); }
vec4 read_v(int key, uint i) { return quad_v(v_base + uint(key) * v_row + 4u * i, col0 + 4u * i, DV); }

#ifdef SHUFFLE
const uint OWN = WQ / 8u;
vec4 own[KEYS * OWN];
#define OPERAND(X) \
void fetch_##X(int key0, int last) { \
    [[unroll]] for (uint c = 0u; c < KEYS; c++) [[unroll]] for (uint j = 0u; j < OWN; j++) \
        own[c * OWN + j] = read_##X(min(key0 + int(c), last), 8u * j + gl_SubgroupInvocationID); \
} \
vec4 X##_at(int key0, int last, uint c, uint i) { return subgroupShuffle(own[c * OWN + i / 8u], i % 8u); }
#else
#define OPERAND(X) \
void fetch_##X(int key0, int last) {} \
vec4 X##_at(int key0, int last, uint c, uint i) { return read_##X(min(key0 + int(c), last), i); }
#endif
OPERAND(k)
OPERAND(v)
