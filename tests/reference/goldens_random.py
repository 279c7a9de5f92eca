"""Values of random numbers, draws, penalties and routers, by NumPy.

usage: goldens_random.py > tests/data/op_goldens_random.json       (needs numpy 2)

As op_goldens.py, which says the form of a case. Words are Philox4x32-10 as its authors give it (Salmon et al., "Parallel
random numbers: as easy as 1, 2, 3", 2011), held against their known answers below. Draws and choices are taken far from
where rounding decides.
"""
import numpy as np

import op_goldens as o
from op_goldens import add, floats, whole

o.NAMES |= {"uint32": "u32", "float16": "f16"}
MASK = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Blocks [n, 4] of counters [n, 4] under keys [n, 2], all u64 that hold words."""
    a, b, c, d = (counter[:, i].copy() for i in range(4))
    k0, k1 = key[:, 0].copy(), key[:, 1].copy()
    for _ in range(10):
        p, q = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (q >> np.uint64(32)) ^ b ^ k0, q & MASK, (p >> np.uint64(32)) ^ d ^ k1, p & MASK
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & MASK, (k1 + np.uint64(0xBB67AE85)) & MASK
    return np.stack([a, b, c, d], -1)


def known_answers():
    """kat_vectors of Random123."""
    ones, digits = [0xFFFFFFFF] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    for counter, key, answer in [
            ([0] * 4, [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
            (ones, ones[:2], [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
            (digits, [0xA4093822, 0x299F31D0], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1])]:
        block = philox(np.array([counter], np.uint64), np.array([key], np.uint64))
        assert block[0].tolist() == answer, (counter, key)


def words(source, stream, count):
    """The first words of a stream: word i is the one i mod 4 of block i // 4, of counter (block, 0, stream, step)."""
    blocks = -(-count // 4)
    counter = np.zeros((blocks, 4), np.uint64)
    counter[:, 0], counter[:, 2], counter[:, 3] = np.arange(blocks), stream, source[2]
    key = np.broadcast_to(np.array(source[:2], np.uint64), (blocks, 2))
    return philox(counter, key).ravel()[:count]


def uniform(source, stream, count):
    return (words(source, stream, count) >> np.uint64(8)).astype(np.float64) / 2 ** 24


def normal(source, stream, count):
    """Box and Muller of pairs of words."""
    pairs = words(source, stream, count + count % 2).reshape(-1, 2) >> np.uint64(8)
    a, b = (pairs[:, 0].astype(np.float64) + 1) / 2 ** 24, pairs[:, 1].astype(np.float64) / 2 ** 24
    radius = np.sqrt(-2 * np.log(a))
    return np.stack([radius * np.cos(2 * np.pi * b), radius * np.sin(2 * np.pi * b)], -1).ravel()[:count]


SOURCES = [(0, 0, 0), (1, 2, 3), (0xFFFFFFFF, 0xDEADBEEF, 7), (12345, 0, 0x80000001)]


def operands(source):
    return [np.array(word, np.uint32) for word in source]


def numbers():
    for i, source in enumerate(SOURCES):
        for shape, stream in [((5,), 0), ((3, 7), 5), ((2, 3, 40), 0xFFFFFFFF)]:
            n = int(np.prod(shape))
            for low, high, dtype in [(0.0, 1.0, "float32"), (-1.5, 2.5, "float32"), (0.0, 1.0, "float16")]:
                u = uniform(source, stream, n).reshape(shape) * (high - low) + low
                # Never `high`, also where the dtype has no nearer number.
                most = np.nextafter(np.dtype(dtype).type(high), np.dtype(dtype).type(low))
                y = np.minimum(u.astype(np.float32), np.float32(most)).astype(dtype)
                attributes = {"low": low, "high": high, "dtype": o.NAMES[dtype], "stream": stream, "shape": list(shape)}
                add("random_uniform", attributes, operands(source), [y])
            for mean, scale in [(0.0, 1.0), (0.5, 2.0 if i else 0.0)]:
                z = normal(source, stream, n).reshape(shape) * scale + mean
                attributes = {"mean": mean, "scale": scale, "dtype": "f32", "stream": stream, "shape": list(shape)}
                add("random_normal", attributes, operands(source), [z.astype(np.float32)])
            for ratio in [0.0, 0.25, 0.875]:
                x, mask = floats(*shape), uniform(source, stream, n).reshape(shape) >= ratio
                y = np.where(mask, x.astype(np.float64) / (1 - ratio), 0).astype(np.float32)
                add("dropout_training", {"ratio": ratio, "stream": stream}, [x, *operands(source)], [y, mask])
    for source in SOURCES[:2]:
        z = normal(source, 9, 1000) * 0.5 - 4
        attributes = {"mean": -4.0, "scale": 0.5, "dtype": "f16", "stream": 9, "shape": [1000]}
        add("random_normal", attributes, operands(source), [z.astype(np.float16)])


def drawn(row, temperature, top_k, top_p, min_p, u):
    """The place and the logarithm of its probability; nothing where rounding might decide otherwise."""
    order = np.argsort(-row, kind="stable")
    weights = np.exp((row[order] - row[order[0]]) / (temperature or 1.0))
    sums = np.cumsum(weights)
    left = len(row)
    if temperature == 0:
        left = 1
    else:
        most = min(left, top_k) if top_k >= 1 else left
        near = [top_p * sums[most - 1] - sums[:most], min_p * weights[0] - weights[:most]]
        if top_p < 1 and np.abs(near[0]).min() < 1e-3 or min_p > 0 and np.abs(near[1]).min() < 1e-3:
            return None
        left = most
        for i in range(1, most):
            if top_p < 1 and sums[i - 1] >= top_p * sums[most - 1] or weights[i] < min_p * weights[0]:
                left = i
                break
    target = u * sums[left - 1]
    if np.abs(sums[:left] - target).min() < 1e-3 and left > 1:
        return None
    at = int((sums[:left - 1] <= target).sum())
    return order[at], np.log(weights[at] / sums[left - 1])


def draws():
    count, step = 0, 0
    given = [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.7}, {"min_p": 0.2}, {"temperature": 0.0},
             {"temperature": 2.0, "top_k": 20, "top_p": 0.9, "min_p": 0.05}, {"top_k": 0, "top_p": 1.0}]
    while count < 4 * len(given):
        step += 1
        options, rows, by_row = given[count % len(given)], 1 + count % 3, count % 2 == 1
        source, logits = (77, count, step), floats(rows, [5, 33, 100][count % 3]) * 2
        u = uniform(source, 4, rows)
        full = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0} | options
        found = [drawn(row.astype(np.float64), *full.values(), v) for row, v in zip(logits, u)]
        if None in found:
            continue
        value = lambda name: np.array(options[name], np.int32 if name == "top_k" else np.float32)
        shaped = lambda name: np.broadcast_to(value(name), (rows,)) if by_row else value(name)
        options = [shaped(name) if name in options else None for name in full]
        results = [np.array([f[0] for f in found], np.int32), np.array([f[1] for f in found], np.float32)]
        add("sample", {"stream": 4}, [logits, *options, *operands(source)], results)
        count += 1
    source, logits = (5, 6, 7), floats(2, 4) * 8
    u = uniform(source, 11, 2)
    found = [drawn(row.astype(np.float64), 1.0, 0, 1.0, 0.0, v) for row, v in zip(logits, u)]
    results = [np.array([f[0] for f in found], np.int32), np.array([f[1] for f in found], np.float32)]
    add("sample", {"stream": 11}, [logits, None, None, None, None, *operands(source)], results)


def penalties():
    for rows, vocabulary, n in [(1, 5, 3), (2, 40, 7), (3, 9, 0), (1, 300, 400)]:
        for dtype in [np.int32, np.int64]:
            ids = whole(0, vocabulary, (rows, n), dtype)
            counts = np.stack([np.bincount(row, minlength=vocabulary) for row in ids]).astype(np.int32)
            add("token_counts", {"vocabulary": vocabulary}, [ids], [counts])
            for penalty in [np.array(1.25, np.float32), o.DRAW.uniform(0.5, 2, rows).astype(np.float32)]:
                logits = floats(rows, vocabulary)
                p = penalty.reshape(-1, 1).astype(np.float64)
                less = np.where(logits > 0, logits / p, logits * p)
                add("repetition_penalty", {}, [logits, counts, penalty], [np.where(counts > 0, less, logits).astype(np.float32)])
    for rows, vocabulary, n in [(1, 5, 3), (2, 40, 7), (3, 9, 0), (2, 6, 20)]:
        for dtype in [np.int32, np.int64]:
            logits, ids, bias = floats(rows, vocabulary), whole(-vocabulary, vocabulary, (n,), dtype), floats(n)
            if n == 3:
                bias[1] = -np.inf
            row = np.zeros(vocabulary)
            np.add.at(row, ids, bias.astype(np.float64))
            add("logit_bias", {}, [logits, ids, bias], [(logits + row).astype(np.float32)])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


GATES = {
    "identity": lambda x: x, "softmax": softmax, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt_softplus": lambda x: np.sqrt(np.log1p(np.exp(x)))}


def routed(logits, bias, k, gate, after, norm, scale, groups, groups_kept):
    """As modeling_deepseek and modeling_qwen3_moe of transformers compute it. None where choices are too near."""
    x = logits.astype(np.float64)
    scores = x if after else GATES[gate](x)
    choices = scores + (0 if bias is None else bias.astype(np.float64))
    parts = np.sort(choices.reshape(len(x), groups, -1), -1)[:, :, -2:].sum(-1)
    kept = np.argsort(-parts, -1, kind="stable")[:, :groups_kept]
    open_ = np.zeros((len(x), groups), bool)
    np.put_along_axis(open_, kept, True, -1)
    competing = np.where(np.repeat(open_, x.shape[1] // groups, -1), choices, -np.inf)
    ids = np.argsort(-competing, -1, kind="stable")[:, :k]
    apart = lambda v: np.abs(np.diff(np.sort(v, -1), axis=-1))
    if groups > 1 and apart(parts).min() < 1e-5 or apart(choices).min() < 1e-6:
        return None
    w = np.take_along_axis(scores, ids, -1)
    w = softmax(w) if after else w
    w = w / (w.sum(-1, keepdims=True) + 1e-20) if norm and k > 1 else w
    return (w * scale).astype(np.float32), ids.astype(np.int32)


def routers():
    count = 0
    for gate in GATES:
        for experts, groups, kept, k in [(8, 1, 1, 2), (16, 4, 2, 3), (64, 8, 4, 6), (5, 1, 1, 1)]:
            for norm, scale, biased in [(0, 1.0, False), (1, 2.5, True)]:
                for after in [0, 1] if gate == "softmax" else [0]:
                    found = None
                    while found is None:
                        logits = floats(3, experts)
                        bias = o.DRAW.uniform(-0.3, 0.3, experts).astype(np.float32) if biased else None
                        found = routed(logits, bias, k, gate, after, norm, scale, groups, kept)
                    attributes = {"k": k, "gate": gate, "after": after, "norm": norm, "scale": scale, "groups": groups,
                                  "groups_kept": kept}
                    add("top_k_moe_router", attributes, [logits, bias], found)
                    count += 1
    return count


if __name__ == "__main__":
    known_answers()
    for make in (numbers, draws, penalties, routers):
        make()
    o.write()
