#version 460
// y[o, r, c] = epilogue(e^(v - m) / sum over r of e^(v - m)), v = load(x[o, r, c]); LOG: epilogue(v - m - ln sum).
// One thread a column (o, c): a running maximum and sum, then the result from a second read. The sum is compensated
// (Kahan): added one by one, three hundred thousand terms were off by 2e-5 of their sum.
#include "interface.glsl"
#include "divide.glsl"
#include "explog.glsl"
layout(local_size_x = 256) in;

float hole_load(float v, uint outer, uint row, uint col) { return v; }
float hole_epilogue(float v, uint outer, uint row, uint col) { return v; }

uint place(uint slot, uint outer, uint row, uint col) {
    return uint(arg_slot_offset(slot) + int(outer) * arg_slot_outer(slot) + int(row) * arg_slot_row(slot) +
                int(col) * arg_slot_col(slot));
}

uint slotload_load(uint slot, uint outer, uint row, uint col) { return slot_raw(slot, place(slot, outer, row, col)); }
uint slotload_epilogue(uint slot, uint outer, uint row, uint col) { return slotload_load(slot, outer, row, col); }

void slotstore_epilogue(uint slot, uint outer, uint row, uint col, uint bits) {
    slot_store_raw(slot, place(slot, outer, row, col), bits);
}

void main() {
    keep_holes();
    uint i = linear_group() * 256u + gl_LocalInvocationID.x, n = arg_n(), inner = arg_inner();
    if (i >= arg_outer() * inner) return;
    uint c, outer = divide(i, inner, c), at = outer * n * inner + c;
    float m = uintBitsToFloat(0xff800000u);
    precise float sum = 0.0, lost = 0.0;
    for (uint r = 0u; r < n; r++) {
        float v = hole_load(load_x(at + r * inner), outer, r, c);
        float top = max_nan(m, v);
        // While everything is -Inf the sum stays 0, and the result is NaN.
        if (top != uintBitsToFloat(0xff800000u)) {
            if (m != top) {
                float scale = exp_own(m - top);
                sum *= scale;
                lost *= scale;
                m = top;
            }
            precise float term = exp_own(v - top) - lost, next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
    }
    float ln = log_own(sum);
    for (uint r = 0u; r < n; r++) {
        float d = hole_load(load_x(at + r * inner), outer, r, c) - m;
        store_y(at + r * inner, hole_epilogue(LOG == 1u ? d - ln : exp_own(d) / sum, outer, r, c));
    }
}
