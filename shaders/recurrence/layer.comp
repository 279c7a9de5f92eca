#version 460
// A cell taken from step to step: one group a batch, its hidden state in shared memory, thread t with units t, t + 256, ...
// What comes before an activation is the input's part plus h R; its sum is 16 chains, then pairs. Gates are those of the
// cell: h; z r h; i o f c.
#include "interface.glsl"
#include "explog.glsl"
layout(local_size_x = 256) in;

const uint RNN = 0u, GRU = 1u, LSTM = 2u;
const uint GATES = CELL == RNN ? 1u : CELL == GRU ? 3u : 4u;
const uint MOST = 2048u;
shared float held[MOST], scaled[MOST];
float next[MOST / 256u], cells[MOST / 256u];
uint t, batch, row;

float exp_any(float x) { return x > 88.0 ? exp(x) : exp_own(x); }
float sigmoid_of(float x) { return 1.0 / (1.0 + exp_any(-x)); }

float tanh_of(float x) {
    float w = x * x;
    float near = x + x * w * (-0.333333333 + w * (0.133333333 + w * (-0.0539682540 + w * 0.0218694885)));
    float far = 1.0 - 2.0 / (exp_any(2.0 * abs(x)) + 1.0);
    return abs(x) < 0.25 ? near : x < 0.0 ? -far : far;
}

// ln(1 + e^x), whose e^-|x| is at most 1; its logarithm is a series where that is small.
float softplus_of(float x) {
    float e = exp_own(-abs(x));
    float log_of = e < 1e-3 ? e - 0.5 * e * e : log_own(1.0 + e);
    return isnan(x) ? x : max(x, 0.0) + log_of;
}

float elu_of(float x, float alpha) {
    float small = x * (1.0 + x * (0.5 + x * (0.166666667 + x * (0.0416666667 + x * 0.00833333333))));
    return x > 0.0 ? x : alpha * (x > -0.1 ? small : exp_own(x) - 1.0);
}

float activation(uint which, float x, float alpha, float beta) {
    if (CLIPS == 1u) x = x > arg_clip() ? arg_clip() : x < -arg_clip() ? -arg_clip() : x;
    switch (which) {
        case 0u: return x < 0.0 ? 0.0 : x;
        case 1u: return tanh_of(x);
        case 2u: return sigmoid_of(x);
        case 3u: return x / (1.0 + abs(x));
        case 4u: return softplus_of(x);
        case 5u: return alpha * x + beta;
        case 6u: return x < 0.0 ? alpha * x : x;
        case 7u: return x > alpha ? x : isnan(x) ? x : 0.0;
        case 8u: return alpha * tanh_of(beta * x);
        case 9u: return isnan(x) ? x : clamp(alpha * x + beta, 0.0, 1.0);
        default: return elu_of(x, alpha);
    }
}

float f(float x) { return activation(ACT_F, x, arg_alpha_f(), arg_beta_f()); }
float g(float x) { return activation(ACT_G, x, arg_alpha_g(), arg_beta_g()); }
float h(float x) { return activation(ACT_H, x, arg_alpha_h(), arg_beta_h()); }

// The sum over hidden units of what they are (SCALED: scaled by their gate) times R, of unit u and this gate.
#define SUM(NAME, OF) \
float NAME(uint gate, uint u) { \
    uint n = arg_hidden(), column = gate * n + u; \
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

float input_of(uint gate, uint u) { return load_xw((row * GATES + gate) * arg_hidden() + u); }
float before(uint gate, uint u) { return input_of(gate, u) + sum_held(gate, u); }
float peephole(uint gate, uint u, float c) { return PEEPHOLES == 1u ? load_p(gate * arg_hidden() + u) * c : 0.0; }

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

#define EACH_UNIT for (uint n = 0u, u = t; u < arg_hidden(); n++, u += 256u)

void advance() {
    if (CELL == GRU && AFTER == 0u) {
        EACH_UNIT scaled[u] = f(before(1u, u)) * held[u];
        barrier();
    }
    EACH_UNIT next[n] = CELL == RNN ? f(before(0u, u)) : CELL == GRU ? gru(u) : lstm(n, u);
    barrier();
    EACH_UNIT held[u] = next[n];
    barrier();
}

void main() {
    t = gl_LocalInvocationID.x;
    batch = linear_group();
    if (batch >= arg_batches()) return;
    uint n_units = arg_hidden(), steps = arg_steps(), own = batch * n_units;
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
        row = at * arg_batches() + batch;
        if (counts) advance();
        EACH_UNIT store_y(row * n_units + u, counts ? held[u] : 0.0);
    }
    EACH_UNIT {
        store_last_h(own + u, held[u]);
        store_last_c(own + u, CELL == LSTM ? cells[n] : held[u]);
    }
}
