// What the attention kernels share: which keys a query may see, and what a score becomes before the softmax.
//
// allowed(i, j) = j < total and (left < 0 or j >= i + offset - left) and (right < 0 or j <= i + offset + right) and the
// bool mask; causal is right = 0. s = scale·<q, k>; if CAPPED, s = softcap · tanh(s / softcap); s += the float mask.
// Not allowed, or a float mask of -infinity: s = -infinity, which weighs nothing, whatever its k and v hold.
#define NEVER uintBitsToFloat(0xff800000u)
bool never(float s) { return floatBitsToUint(s) == 0xff800000u; }

// What sums and results under the maximum `old` are multiplied by under the maximum `now`.
float rescale(float old, float now) { return never(old) ? 0.0 : old < now ? exp(old - now) : 1.0; }
// e^(s - most), 0 for a key that is not seen.
float weight(float s, float most) { return never(s) ? 0.0 : exp(s - most); }

int total, offset, left, right;
uint mask_base, mask_row, mask_col;
float scale, softcap;

void place_batch(uint batch, uint head) {
    total = int(arg_skv());
    if (LEN_KIND != 0u) total = clamp(int(loadu_lens(arg_len_at() + batch * arg_len_b())), 0, total);
    offset = OFFSET_KIND == 0u ? arg_past() : total - int(arg_sq());
    left = arg_left();
    right = arg_right();
    scale = arg_scale();
    softcap = arg_softcap();
    mask_base = arg_mask_at() + batch * arg_mask_b() + head * arg_mask_h();
    mask_row = arg_mask_q();
    mask_col = arg_mask_k();
}

// First key and end of the keys that rows first..=last may see.
ivec2 key_range(int first, int last) {
    int begin = 0, end = total;
    if (WINDOW != 0u && left >= 0) begin = max(begin, first + offset - left);
    if (WINDOW != 0u && right >= 0) end = min(end, last + offset + right + 1);
    return ivec2(begin, max(begin, end));
}

// Whether each of the rows first..=last sees each of the keys from..from + count - 1.
bool sees_all(int first, int last, int from, int count) {
    return MASK_KIND == 0u && from + count <= total
        && (WINDOW == 0u || ((left < 0 || from >= last + offset - left) && (right < 0 || from + count - 1 <= first + offset + right)));
}

float tanh_exact(float x) {
    float a = abs(x), e = exp(-2.0 * a), x2 = x * x;
    float big = (1.0 - e) / (1.0 + e);
    return a < 0.1 ? x * (1.0 - x2 * (1.0 / 3.0 - x2 * (2.0 / 15.0))) : (x < 0.0 ? -big : big);
}

// The score of row i and key j from the product <q, k>. `head` is what the mask's row base was placed with.
float score(float product, bool all, uint base, int i, int j) {
    float s = product * scale;
    if (CAPPED != 0u) s = softcap * tanh_exact(s / softcap);
    if (all) return s;
    bool seen = j < total
        && (WINDOW == 0u || ((left < 0 || j >= i + offset - left) && (right < 0 || j <= i + offset + right)));
    if (!seen) return NEVER;
    if (MASK_KIND != 0u) {
        uint w = loadu_mask(base + uint(i) * mask_row + uint(j) * mask_col);
        if (MASK_KIND == 1u) return w != 0u ? s : NEVER;
        return w == 0xff800000u ? NEVER : s + uintBitsToFloat(w);
    }
    return s;
}

bool finite(vec4 v) {
    return all(notEqual(floatBitsToUint(v) & 0x7f800000u, uvec4(0x7f800000u)));
}
