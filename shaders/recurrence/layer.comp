#version 460
// A cell taken from step to step: one group a batch, its hidden state in shared memory, thread t with units t, t + 256,
// ... What comes before an activation is the input's part plus h R; its sum is 16 chains, then pairs. Gates are those of
// the cell: h; z r h; i o f c. With KEPT (`kept.glsl`) all of R is in registers and each sum has PARTS threads.
#include "interface.glsl"
#include "activations.glsl"
#ifndef THREADS
#define THREADS 256
#endif
layout(local_size_x = THREADS) in;

const uint RNN = 0u, GRU = 1u, LSTM = 2u;
const uint GATES = CELL == RNN ? 1u : CELL == GRU ? 3u : 4u;
#ifdef KEPT
const uint MOST = THREADS;
#else
const uint MOST = 2048u;
#endif
shared float held[MOST], scaled[MOST];
float next[MOST / THREADS], cells[MOST / THREADS];
uint t, batch, row, units;

#ifdef KEPT
#include "kept.glsl"
#else
// The sum over hidden units of what they are (SCALED: scaled by their gate) times R, of unit u and this gate.
#define SUM(NAME, OF) \
float NAME(uint gate, uint u) { \
    uint n = units, column = gate * n + u; \
    float sums[16]; \
    [[unroll]] for (uint i = 0u; i < 16u; i++) sums[i] = 0.0; \
    for (uint k = 0u; k < n; k += 16u) \
        [[unroll]] for (uint i = 0u; i < 16u; i++) \
            if (k + i < n) sums[i] += OF[k + i] * load_r((k + i) * GATES * n + column); \
    [[unroll]] for (uint s = 8u; s > 0u; s >>= 1u) \
        [[unroll]] for (uint i = 0u; i < s; i++) sums[i] += sums[i + s]; \
    return sums[0]; \
}
SUM(sum_held, held)
SUM(sum_scaled, scaled)

void begin(uint first) {}
void next_inputs(uint after) {}
void add_held() {}
void add_scaled() {}
float input_of(uint gate, uint u) { return load_xw((row * GATES + gate) * units + u); }
#endif

float before(uint gate, uint u) { return input_of(gate, u) + sum_held(gate, u); }
float peephole(uint gate, uint u, float c) { return PEEPHOLES == 1u ? load_p(gate * units + u) * c : 0.0; }

float gru(uint u) {
    float z = f(before(0u, u)), fresh;
    if (AFTER == 1u) {
        float r = f(before(1u, u));
        fresh = input_of(2u, u) + r * (sum_held(2u, u) + (BIASED == 1u ? load_rb(u) : 0.0));
    } else {
        fresh = input_of(2u, u) + sum_scaled(2u, u);
    }
    return (1.0 - z) * g(fresh) + z * held[u];
}

float lstm(uint n, uint u) {
    float c = cells[n];
    float i = f(before(0u, u) + peephole(0u, u, c));
    float forget = COUPLED == 1u ? 1.0 - i : f(before(2u, u) + peephole(2u, u, c));
    c = forget * c + i * g(before(3u, u));
    cells[n] = c;
    return f(before(1u, u) + peephole(1u, u, c)) * h(c);
}

#define EACH_UNIT for (uint n = 0u, u = t; u < units; n++, u += THREADS)

void advance() {
    add_held();
    if (CELL == GRU && AFTER == 0u) {
        EACH_UNIT scaled[u] = f(before(1u, u)) * held[u];
        barrier();
        add_scaled();
    }
    EACH_UNIT next[n] = CELL == RNN ? f(before(0u, u)) : CELL == GRU ? gru(u) : lstm(n, u);
#ifndef KEPT
    barrier();
#endif
    EACH_UNIT held[u] = next[n];
    barrier();
}

void main() {
    t = gl_LocalInvocationID.x;
    batch = linear_group();
    if (batch >= arg_batches()) return;
    units = arg_hidden();
    uint steps = arg_steps(), batches = arg_batches(), own = batch * units;
    begin((REVERSE == 1u ? steps - 1u : 0u) * batches + batch);
    EACH_UNIT {
        held[u] = (GIVEN & 1u) != 0u ? load_h0(own + u) : 0.0;
        cells[n] = (GIVEN & 2u) != 0u ? load_c0(own + u) : 0.0;
    }
    barrier();
    // Steps are counted from the first of the whole sequence, of which `from` come before.
    int from = int(arg_from()), length = LENGTHS == 1u ? int(loadu_lens(batch)) : from + int(steps);
    for (uint i = 0u; i < steps; i++) {
        uint at = REVERSE == 1u ? steps - 1u - i : i;
        bool counts = from + int(at) < length;
        row = at * batches + batch;
        next_inputs(i + 1u < steps ? REVERSE == 1u ? row - batches : row + batches : row);
        if (counts) advance();
        EACH_UNIT store_y(row * units + u, counts ? held[u] : 0.0);
    }
    EACH_UNIT {
        store_last_h(own + u, held[u]);
        store_last_c(own + u, CELL == LSTM ? cells[n] : held[u]);
    }
}
