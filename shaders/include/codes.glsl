// Elements that are codes beside scales: element i is (code i - zero j) · scale j, with j = scale_place(i). The difference is one of
// integers (codes of floats have no zero), the product is rounded to f32 and then to CODE_ROUND (1 f16, 2 bf16).
//
// Kinds, as `plan/src/kernel/codes.rs` numbers them: 0 words of integers, 1 i8, 2 u8, 3 i16, 5 i4, 6 u4, 7 f8e4m3fn, 8 f8e5m2, 9 f8e8m0,
// 10 f4e2m1, 11 f32, 12 f16, 13 bf16; 15 none. Who includes this has CODE_KIND, SCALE_KIND, ZERO_KIND, `code_word(i)`, operands s and z,
// and the places of scales: with i = (o · CODE_EXTENT + a) · CODE_INNER + c, o · CODE_OUTER + a / CODE_BLOCK · CODE_AXIS + c · CODE_ALONG.
// CODE_EXTENT 0 is one without end.
const uint KIND_NONE = 15u;

// Codes of a word, as a power of two; the bits of element i of the word that has it.
uint kind_log(uint kind) {
    if (kind == 0u || kind == 11u) return 0u;
    if (kind == 3u || kind == 12u || kind == 13u) return 1u;
    return kind == 5u || kind == 6u || kind == 10u ? 3u : 2u;
}
uint code_in(uint kind, uint word, uint i) {
    uint log = kind_log(kind), bits = 32u >> log;
    return log == 0u ? word : word >> bits * (i & (1u << log) - 1u) & (1u << bits) - 1u;
}
bool is_int(uint kind) { return kind <= 6u; }

int int_of(uint kind, uint code) {
    if (kind == 1u) return bitfieldExtract(int(code), 0, 8);
    if (kind == 3u) return bitfieldExtract(int(code), 0, 16);
    return kind == 5u ? bitfieldExtract(int(code), 0, 4) : int(code);
}

// Of floats of eight bits and fewer the bits are those of an f16 of another bias; powers of two bring them back.
float float_of(uint kind, uint code) {
    if (kind == 7u) {
        float v = f16_to_f32((code & 0x80u) << 8u | (code & 0x7fu) << 7u) * 256.0;
        return (code & 0x7fu) == 0x7fu ? uintBitsToFloat(0x7fc00000u) : v;
    }
    if (kind == 8u) return f16_to_f32(code << 8u);
    if (kind == 9u) return uintBitsToFloat(code == 255u ? 0x7fc00000u : code == 0u ? 0x00400000u : code << 23u);
    if (kind == 10u) return uintBitsToFloat(floatBitsToUint(float(0xc8643210u >> 4u * (code & 7u) & 15u) * 0.5) | (code & 8u) << 28u);
    if (kind == 12u) return f16_to_f32(code);
    return uintBitsToFloat(kind == 13u ? code << 16u : code);
}

uint scale_place(uint i) {
    uint t = i / CODE_INNER, c = i % CODE_INNER, o = 0u, a = t;
    if (CODE_EXTENT != 0u) {
        o = t / CODE_EXTENT;
        a = t % CODE_EXTENT;
    }
    return o * CODE_OUTER + a / CODE_BLOCK * CODE_AXIS + c * CODE_ALONG;
}
float scale_at(uint j) { return float_of(SCALE_KIND, code_in(SCALE_KIND, loadu_s(j >> kind_log(SCALE_KIND)), j)); }
int zero_at(uint j) {
    return ZERO_KIND == KIND_NONE ? 0 : int_of(ZERO_KIND, code_in(ZERO_KIND, loadu_z(j >> kind_log(ZERO_KIND)), j));
}

float scaled(uint code, float scale, int zero) {
    float v = is_int(CODE_KIND) ? float(int_of(CODE_KIND, code) - zero) : float_of(CODE_KIND, code);
    precise float product = v * scale;
    if (CODE_ROUND == 1u) return f16_to_f32(f32_to_f16(product));
    return CODE_ROUND == 2u ? uintBitsToFloat(f32_to_bf16(product) << 16u) : product;
}
float code_element(uint i) {
    uint j = scale_place(i);
    return scaled(code_in(CODE_KIND, code_word(i >> kind_log(CODE_KIND)), i), scale_at(j), zero_at(j));
}

// Elements i to i + 3; i is a multiple of four. CODE_SHARED: they have one scale.
vec4 code_quad(uint i) {
    uint log = kind_log(CODE_KIND), first = code_word(i >> log);
    uvec4 words = uvec4(first);
    if (log == 0u) words.yzw = uvec3(code_word(i + 1u), code_word(i + 2u), code_word(i + 3u));
    if (log == 1u) words.zw = uvec2(code_word((i >> 1u) + 1u));
    vec4 v;
    uint j = scale_place(i);
    float scale = scale_at(j);
    int zero = zero_at(j);
    [[unroll]] for (uint e = 0u; e < 4u; e++) {
        if (CODE_SHARED == 0u && e > 0u) {
            j = scale_place(i + e);
            scale = scale_at(j);
            zero = zero_at(j);
        }
        v[e] = scaled(code_in(CODE_KIND, words[e], i + e), scale, zero);
    }
    return v;
}
