"""Values of attention, rotation and norms with their further results by others' code: the onnx package's evaluator, and
NumPy where ONNX has no such operand.

usage: goldens_transformer.py > tests/data/op_goldens_transformer.json       (needs onnx 1.23.2 and numpy 2)

As op_goldens.py, which says the form of a case. Operands that may be absent stand in the attribute `with`.
"""
import numpy as np

import op_goldens as o
from goldens_images import by_evaluator
from op_goldens import add, by_onnx, floats, whole


def norms():
    shapes = [(-1, (3, 7)), (1, (2, 3, 5)), (0, (4,)), (-2, (2, 2, 3, 4)), (-1, (1, 300))]
    for epsilon in [1e-5, 0.25]:
        for axis, shape in shapes:
            scale = shape[axis:]
            for beta in [floats(*scale), None]:
                operands = [floats(*shape), floats(*scale)] + ([] if beta is None else [beta])
                by_onnx("LayerNormalization", {"axis": axis, "epsilon": epsilon}, *operands, results=3)
            x, gamma = floats(*shape), floats(*scale)
            (y,) = by_evaluator("RMSNormalization", {"axis": axis, "epsilon": epsilon}, [x, gamma], 1)
            axes = tuple(range(axis % len(shape), len(shape)))
            inverse = 1 / np.sqrt(np.mean(x.astype(np.float64) ** 2, axes, keepdims=True) + np.float32(epsilon))
            add("rms_norm_with_statistics", {"axis": axis, "epsilon": epsilon}, [x, gamma], [y, inverse.astype(np.float32)])


def attend(q, k, v, scale, causal, left, right, softcap, mask=None, kv_len=None, offset=None, sinks=None, alibi=None):
    """By definition, in f64: y and the logarithm of the sum."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    b, hq, sq, d = q.shape
    sk = k.shape[2]
    k, v = (np.repeat(x, hq // x.shape[1], 1) for x in (k, v))
    s = np.einsum("bhid,bhjd->bhij", q, k) * np.float32(scale)
    if softcap > 0:
        s = softcap * np.tanh(s / softcap)
    per = lambda x, other: np.full(b, other) if x is None else np.broadcast_to(x, b)
    total = np.minimum(per(kv_len, sk), sk)
    first = per(offset, 0) if offset is not None else per(kv_len, sq) - sq
    place = np.arange(sq)[None, :, None] + first[:, None, None]
    j = np.arange(sk)[None, None, :]
    seen = j < total[:, None, None]
    seen = seen & ((j <= place) if causal else True)
    seen = seen & ((j >= place - left) if left >= 0 else True) & ((j <= place + right) if right >= 0 else True)
    if alibi is not None:
        s = s + alibi.astype(np.float64)[None, :, None, None] * (j - place)[:, None]
    if mask is not None:
        s = s + mask
    s = np.where(seen[:, None], s, -np.inf)
    if sinks is not None:
        s = np.concatenate([s, np.broadcast_to(sinks.astype(np.float64)[None, :, None, None], (b, hq, sq, 1))], -1)
    m = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(m), 0, m))
    sum_ = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (np.where(np.isinf(m), 0, m) + np.log(sum_))[..., 0]
    y = np.einsum("bhij,bhjd->bhid", (p / np.where(sum_ == 0, 1, sum_))[..., :sk], v)
    return y.astype(np.float32), lse.astype(np.float32)


def attentions():
    plain = {"scale": 0.5, "causal": 0, "left": -1, "right": -1, "softcap": 0.0}
    rules = [plain, {**plain, "causal": 1}, {**plain, "left": 2, "right": 1}, {**plain, "softcap": 1.5, "scale": 0.25, "causal": 1}]
    withs = ["none", "sinks", "alibi", "offset", "kv_len offset", "mask sinks alibi", "mask kv_len offset sinks alibi"]
    sizes = [(2, 4, 2, 3, 6, 4, 5), (1, 2, 2, 1, 9, 8, 8)]
    for w, given in enumerate(withs):
        for r, rule in enumerate(rules):
            for b, hq, hkv, sq, sk, d, dv in [sizes[(w + r) % 2]]:
                operands = [floats(b, hq, sq, d), floats(b, hkv, sk, d), floats(b, hkv, sk, dv)]
                more = {}
                for name in given.split():
                    more[name] = {
                        "mask": lambda: drawn_mask(b, sq, sk),
                        "kv_len": lambda: whole(0, sk + 1, (b,), np.int32),
                        "offset": lambda: whole(-1, sk, (b,), np.int32),
                        "sinks": lambda: floats(hq),
                        "alibi": lambda: floats(hq) / 4,
                    }.get(name, lambda: None)()
                more = {name: x for name, x in more.items() if x is not None}
                add("attention_with", {**rule, "with": given}, operands + list(more.values()), attend(*operands, **rule, **more))


def drawn_mask(b, sq, sk):
    """One that adds, the same for all heads; one key in three is not allowed."""
    return np.where(whole(0, 3, (b, 1, sq, sk)) > 0, floats(b, 1, sq, sk), -np.inf).astype(np.float32)


def packed():
    """ONNX Attention of rank 3; the sums of NumPy."""
    for causal in [0, 1]:
        for hq, hkv, sq, sk, d, dv in [(4, 2, 3, 3, 4, 6), (2, 2, 1, 5, 8, 8), (3, 1, 6, 6, 2, 3), (1, 1, 2, 4, 5, 5)]:
            q, k, v = floats(2, sq, hq * d), floats(2, sk, hkv * d), floats(2, sk, hkv * dv)
            attributes = {"q_num_heads": hq, "kv_num_heads": hkv, "is_causal": causal}
            (y,) = by_evaluator("Attention", attributes, [q, k, v], 1)
            apart = lambda x, h: x.reshape(2, x.shape[1], h, -1).transpose(0, 2, 1, 3)
            heads = [apart(q, hq), apart(k, hkv), apart(v, hkv)]
            own, lse = attend(*heads, 1 / np.sqrt(d), causal, -1, -1, 0.0)
            assert np.allclose(apart(y, hq), own, atol=1e-5)
            add("attention_packed", attributes, [q, k, v], [y, lse])


def turned(x, angle, interleaved, magnitude, n_rot):
    x = x.astype(np.float64)
    cos, sin = (np.float32(magnitude) * f(angle)[:, None] for f in (np.cos, np.sin))
    first, rest = x[..., :n_rot], x[..., n_rot:]
    a, b = (first[..., 0::2], first[..., 1::2]) if interleaved else (first[..., : n_rot // 2], first[..., n_rot // 2 :])
    ya, yb = cos * a - sin * b, sin * a + cos * b
    y = np.stack([ya, yb], -1).reshape(first.shape) if interleaved else np.concatenate([ya, yb], -1)
    return np.concatenate([y, rest], -1).astype(np.float32)


def rotations():
    for interleaved in [0, 1]:
        for magnitude, theta, scale in [(1.0, 10000.0, 1.0), (1.25, 500000.0, 0.5), (-0.5, 100.0, 1.0)]:
            for n_rot, width in [(8, 8), (6, 10)]:
                x, pos = floats(2, 3, 4, width), whole(0, 5000, (2, 4), np.int32)
                factors = (0.5 + 4 * np.abs(floats(n_rot // 2))).astype(np.float32)
                frequency = np.float64(theta) ** (-2 * np.arange(n_rot // 2) / n_rot) * scale
                angle = pos[..., None] * (frequency / factors)
                attributes = {"interleaved": interleaved, "magnitude": magnitude, "theta": theta, "freq_scale": scale, "n_rot": n_rot}
                y = turned(x, angle, interleaved, magnitude, n_rot)
                add("rotary_by_factors", attributes, [x, pos, factors], [y])
                if magnitude == 1.0:
                    tables = [f(angle).astype(np.float32) for f in (np.cos, np.sin)]
                    onnx = {"interleaved": interleaved, "rotary_embedding_dim": n_rot if n_rot < width else 0}
                    (other,) = by_evaluator("RotaryEmbedding", onnx, [x, *tables], 1, 23)
                    assert np.allclose(other, y, atol=1e-5)


def yarns():
    """As the paper (arXiv 2309.00071) interpolates by parts, along pairs."""
    for ext, attn, fast, slow, context in [(1.0, 1.0, 32.0, 1.0, 4096), (0.5, 1.5, 8.0, 2.0, 256), (0.0, 1.25, 32.0, 1.0, 4096)]:
        for scale, theta in [(0.125, 10000.0), (0.25, 500000.0)]:
            for width in [16, 64]:
                x, pos = floats(1, 2, 3, width), whole(0, 8, (1, 3), np.int32)
                half = width // 2
                turns = lambda beta: width * np.log(context / (beta * 2 * np.pi)) / (2 * np.log(theta))
                low, high = max(np.floor(turns(fast)), 0), min(np.ceil(turns(slow)), width - 1)
                ramp = np.clip((np.arange(half) - low) / max(high - low, 0.001), 0, 1)
                kept = (1 - ramp) * ext
                frequency = np.float64(theta) ** (-np.arange(half) / half)
                frequency = frequency * scale * (1 - kept) + frequency * kept
                magnitude = attn * (1 + 0.1 * np.log(1 / scale) if ext else 1)
                attributes = {"ext": ext, "attn": attn, "beta_fast": fast, "beta_slow": slow, "context": context,
                              "freq_scale": scale, "theta": theta}
                add("rotary_scaled", attributes, [x, pos], [turned(x, pos[..., None] * frequency, 0, magnitude, width)])


if __name__ == "__main__":
    norms()
    attentions()
    packed()
    rotations()
    yarns()
    o.write()
