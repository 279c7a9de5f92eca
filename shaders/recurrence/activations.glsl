// Activations of cells: by number, with their alpha and beta. `CLIPS` and its bound are the kernel's.
#include "explog.glsl"

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
