#version 460
// The experts of each row and their weights. One group a row: scores and the order of choices are held in shared memory;
// an expert's rank is how many come before it.
#include "interface.glsl"
#include "explog.glsl"
#include "ordered.glsl"
layout(local_size_x = 256) in;

const uint T = 256u;
shared float score[1024], part[T];
shared uint key[1024], group_key[1024], chosen[1024];

uint t, row, experts;

float reduced(float v, bool is_sum) {
    part[t] = v;
    barrier();
    for (uint s = T / 2u; s > 0u; s >>= 1u) {
        if (t < s) part[t] = is_sum ? part[t] + part[t + s] : max(part[t], part[t + s]);
        barrier();
    }
    v = part[0];
    barrier();
    return v;
}

float logit(uint e) { return load_logits(row * experts + e); }

// ln(1 + z), z >= 0: the quotient takes back what 1 + z lost (Kahan).
float log1p_own(float z) {
    precise float u = 1.0 + z, kept = u - 1.0;
    return kept == 0.0 ? z : log_own(u) * (z / kept);
}

// exp_own takes numbers up to 88.
float gated(float x, float most) {
    if (GATE == 1u) return exp_own(x - most);
    if (GATE == 2u) return x < -87.0 ? 0.0 : 1.0 / (1.0 + exp_own(-x));
    if (GATE == 3u) return sqrt(x > 20.0 ? x : log1p_own(exp_own(x)));
    return x;
}

void make_scores() {
    float most = uintBitsToFloat(0xff800000u), sum = 0.0;
    bool soft = GATE == 1u && AFTER == 0u;
    if (soft) {
        for (uint e = t; e < experts; e += T) most = max(most, logit(e));
        most = reduced(most, false);
    }
    for (uint e = t; e < experts; e += T) {
        float v = AFTER == 1u ? logit(e) : gated(logit(e), most);
        score[e] = v;
        sum += v;
    }
    if (soft) {
        sum = reduced(sum, true);
        for (uint e = t; e < experts; e += T) score[e] /= sum;
    }
    barrier();
}

// Without a bias and groups logits are in the order of scores, and unlike where scores are rounded to one number.
void make_keys() {
    for (uint e = t; e < experts; e += T) {
        float choice = BIASED == 1u ? score[e] + load_bias(e) : arg_groups() > 1u ? score[e] : logit(e);
        key[e] = ordered_float(floatBitsToUint(choice));
        chosen[e] = floatBitsToUint(choice);
    }
    barrier();
}

// The order of a group: of the sum of its two best choices.
uint order_of_group(uint first, uint size) {
    uint best = first, next = first;
    for (uint e = first + 1u; e < first + size; e++) {
        if (key[e] > key[best]) {
            next = best;
            best = e;
        } else if (next == best || key[e] > key[next]) {
            next = e;
        }
    }
    float sum = uintBitsToFloat(chosen[best]);
    if (next != best) sum += uintBitsToFloat(chosen[next]);
    return ordered_float(floatBitsToUint(sum));
}

// Keys of experts whose group takes no part become 0, which no choice has.
void leave_groups_out() {
    uint groups = arg_groups(), size = experts / groups;
    for (uint g = t; g < groups; g += T) group_key[g] = order_of_group(g * size, size);
    barrier();
    for (uint g = t; g < groups; g += T) {
        uint rank = 0u, own = group_key[g];
        for (uint h = 0u; h < groups; h++) if (group_key[h] > own || group_key[h] == own && h < g) rank++;
        chosen[g] = rank;
    }
    barrier();
    for (uint e = t; e < experts; e += T) if (chosen[e / size] >= arg_groups_kept()) key[e] = 0u;
    barrier();
}

void choose(uint k) {
    for (uint e = t; e < experts; e += T) {
        uint rank = 0u, own = key[e];
        for (uint f = 0u; f < experts; f++) if (key[f] > own || key[f] == own && f < e) rank++;
        if (rank < k) chosen[rank] = e;
    }
    barrier();
}

void weigh(uint k) {
    float most = uintBitsToFloat(0xff800000u), sum = 0.0;
    if (AFTER == 1u) {
        for (uint j = t; j < k; j += T) most = max(most, score[chosen[j]]);
        most = reduced(most, false);
    }
    for (uint j = t; j < k; j += T) {
        float v = score[chosen[j]];
        if (AFTER == 1u) v = exp_own(v - most);
        group_key[j] = floatBitsToUint(v);
        sum += v;
    }
    sum = reduced(sum, true);
    float divisor = AFTER == 1u ? sum : 1.0;
    if (NORMED == 1u && k > 1u) divisor *= AFTER == 1u ? 1.0 + 1e-20 : sum + 1e-20;
    for (uint j = t; j < k; j += T) {
        store_w(row * k + j, uintBitsToFloat(group_key[j]) / divisor * arg_scale());
        storeu_ids(row * k + j, chosen[j]);
    }
}

void main() {
    t = gl_LocalInvocationID.x;
    row = linear_group();
    experts = arg_experts();
    if (row >= arg_rows()) return;
    make_scores();
    make_keys();
    if (arg_groups() > 1u) leave_groups_out();
    choose(arg_k());
    weigh(arg_k());
}
