#version 460
// One draw of each row from weights in descending order, of which `sums` are cumulative: the first element whose sum
// passes u of what the options leave. One group a row; its threads try 32 places at once.
#include "interface.glsl"
#include "explog.glsl"
layout(local_size_x = 32) in;

shared uint hits;

// Of the row: its first element, the weights that top_k leaves, the sum that top_p leaves, and min_p's smallest.
uint first, most;
float share = 1.0, mass, smallest = 0.0;
// What is left, and what the sums before the drawn element do not pass.
uint left;
float target;

bool stays(uint i) {
    if (i >= most) return false;
    if (i == 0u) return true;
    if (share < 1.0 && !(load_sums(first + i - 1u) < mass)) return false;
    return !(load_weights(first + i) < smallest);
}

bool is_before(uint i) { return i + 1u < left && load_sums(first + i) <= target; }

// How many of the first n places stay (PASSES: lie before the draw): true of so many, false of all after them.
uint count(bool passes, uint n) {
    uint begin = 0u, end = n, t = gl_LocalInvocationID.x;
    while (begin < end) {
        uint stride = (end - begin + 31u) / 32u, at = begin + (t + 1u) * stride - 1u;
        bool holds = at < end && (passes ? is_before(at) : stays(at));
        if (t == 0u) hits = 0u;
        barrier();
        if (holds) atomicAdd(hits, 1u);
        barrier();
        begin += hits * stride;
        end = min(end, begin + stride - 1u);
        barrier();
    }
    return begin;
}

// Options of this row, and whether they and the row make a distribution.
bool options(uint row) {
    bool fine = loadu_invalid(row) == 0u && load_weights(first) > 0.0;
    most = arg_n();
    if ((OPTIONS & 2u) != 0u) {
        int k = int(loadu_top_k((BY_ROW >> 1u & 1u) * row));
        if (k > 0) most = min(most, uint(k));
    }
    if ((OPTIONS & 4u) != 0u) share = load_top_p((BY_ROW >> 2u & 1u) * row);
    if ((OPTIONS & 8u) != 0u) smallest = load_min_p((BY_ROW >> 3u & 1u) * row);
    fine = fine && share >= 0.0 && smallest >= 0.0;
    if ((OPTIONS & 1u) != 0u) {
        float temperature = load_temperature((BY_ROW & 1u) * row);
        fine = fine && temperature >= 0.0;
        if (temperature == 0.0) most = 1u;
    }
    mass = share * load_sums(first + most - 1u);
    smallest *= load_weights(first);
    return fine;
}

float log_share(float weight, float sum) {
    float p = weight / sum;
    if (weight == 0.0) return uintBitsToFloat(0xff800000u);
    return p < 1.2e-38 ? log_own(weight) - log_own(sum) : log_own(p);
}

void main() {
    uint row = linear_group(), n = arg_n();
    if (row >= arg_rows()) return;
    first = row * n;
    bool fine = options(row), some = load_weights(first) > 0.0;
    left = max(count(false, most), 1u);
    float sum = load_sums(first + left - 1u);
    target = load_u(row) * sum;
    uint i = some ? count(true, left) : 0u;
    if (gl_LocalInvocationID.x != 0u) return;
    if (!fine) status_raise(STATUS_BAD_DISTRIBUTION, arg_op(), row);
    storeu_id(row, loadu_ids(first + i));
    store_logprob(row, log_share(load_weights(first + i), sum));
}
