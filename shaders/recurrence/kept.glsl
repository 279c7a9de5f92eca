// Sums of h R with all of R in registers: thread t has unit t % hidden and KEPT terms of its sums, the t / hidden-th of
// PARTS such parts; what all parts found meets in shared memory. Inputs of a step are read during the one before it.
shared float parts[4u * THREADS];
uint first_term;
float weights[4u * KEPT], inputs[4], ahead[4];

#define EACH_GATE(A, B) [[unroll]] for (uint gate = A; gate < 4u; gate++) if (gate < (B))

void read_ahead(uint from) {
    if (t < units) EACH_GATE(0u, GATES) ahead[gate] = load_xw((from * GATES + gate) * units + t);
}

void begin(uint first) {
    uint part = t / units, u = t % units;
    first_term = KEPT * part;
    held[t] = scaled[t] = 0.0;
    [[unroll]] for (uint i = 0u; i < 4u; i++) parts[THREADS * i + t] = 0.0;
    EACH_GATE(0u, GATES) [[unroll]] for (uint i = 0u; i < KEPT; i++) {
        uint k = first_term + i;
        weights[KEPT * gate + i] = k < units ? load_r((k * GATES + gate) * units + u) : 0.0;
    }
    if (arg_steps() > 0u) read_ahead(first);
}

void next_inputs(uint after) {
    EACH_GATE(0u, GATES) inputs[gate] = ahead[gate];
    read_ahead(after);
}

#define ADD(NAME, OF, A, B) \
void NAME() { \
    if (first_term < units) { \
        float sums[4] = float[4](0.0, 0.0, 0.0, 0.0); \
        [[unroll]] for (uint i = 0u; i < KEPT; i++) { \
            float value = OF[first_term + i]; \
            EACH_GATE(A, B) sums[gate] += value * weights[KEPT * gate + i]; \
        } \
        EACH_GATE(A, B) parts[THREADS * gate + t] = sums[gate]; \
    } \
    barrier(); \
}
ADD(add_held, held, 0u, CELL == GRU && AFTER == 0u ? 2u : GATES)
ADD(add_scaled, scaled, 2u, GATES)

float sum_held(uint gate, uint u) {
    float sum = 0.0;
    [[unroll]] for (uint i = 0u; i < PARTS; i++)
        if (KEPT * i < units) sum += parts[THREADS * gate + units * i + u];
    return sum;
}

float sum_scaled(uint gate, uint u) { return sum_held(gate, u); }
float input_of(uint gate, uint u) { return inputs[gate]; }
