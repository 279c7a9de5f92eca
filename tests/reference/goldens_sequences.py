"""Values of ops over sequences: the reference evaluator of the onnx package, and NumPy in f64 where ONNX has no such op.

usage: goldens_sequences.py > tests/data/op_goldens_sequences.json       (needs onnx 1.23.2 and numpy 2)

The form is that of op_goldens.py; an operand that is absent is null. Operands are small and drawn by a fixed seed; every
attribute has two values or more.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

DRAW = np.random.default_rng(20261127)
NAMES = {"float32": "f32", "int32": "i32"}
CASES = []


def tensor(x):
    x = np.asarray(x)
    # The shortest decimals that mean these f32.
    elements = [float(str(v)) if x.dtype == np.float32 else int(v) for v in x.ravel()]
    return {"dtype": NAMES[x.dtype.name], "shape": list(x.shape), "elements": elements}


def add(op, attributes, operands, results):
    operands = [None if x is None else tensor(x) for x in operands]
    results = [tensor(np.asarray(y).astype(np.float32)) for y in results]
    CASES.append({"op": op, "attributes": attributes, "operands": operands, "results": results})


def evaluate(op, attributes, operands, results, opset):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(operands)]
    outputs = [f"y{i}" for i in range(results)]
    node = helper.make_node(op, names, outputs, **attributes)
    info = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    graph = helper.make_graph(
        [node], "g", [info(n, x) for n, x in zip(names, operands) if x is not None],
        [helper.make_tensor_value_info(y, TensorProto.UNDEFINED, None) for y in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, {n: x for n, x in zip(names, operands) if x is not None})


def by_onnx(op, attributes, *operands, results=2, opset=27):
    add(op, attributes, operands, evaluate(op, attributes, operands, results, opset))


def floats(*shape):
    return DRAW.standard_normal(shape).astype(np.float32)


def between(low, high, *shape):
    return DRAW.uniform(low, high, shape).astype(np.float32)


def convolutions():
    for activation in ["none", "silu"]:
        for b, c, length, k, bias, past in [(2, 3, 9, 4, True, True), (1, 2, 1, 4, True, True), (2, 2, 2, 5, False, True),
                                            (1, 3, 6, 1, True, False), (1, 1, 7, 3, False, False), (2, 2, 3, 4, True, False)]:
            by_onnx("CausalConvWithState", {"activation": activation}, floats(b, c, length), floats(c, 1, k),
                    floats(c) if bias else None, floats(b, c, k - 1) if past else None)


def attention():
    for rule in ["linear", "gated", "delta", "gated_delta"]:
        for b, t, hq, h, dk, dv, of_keys, one_beta, scale, past in [
                (2, 5, 2, 2, 4, 3, False, False, 0.0, True), (1, 7, 4, 2, 3, 5, True, True, 0.5, True),
                (1, 1, 3, 1, 8, 2, False, True, 1.0, True), (2, 4, 2, 2, 5, 5, True, False, 0.0, False)]:
            decay = -between(0, 1, b, t, h * dk if of_keys else h) if "gated" in rule else None
            beta = between(0, 1, b, t, 1 if one_beta else h) if "delta" in rule else None
            attributes = {"q_num_heads": hq, "kv_num_heads": h, "update_rule": rule, "scale": scale}
            by_onnx("LinearAttention", attributes, floats(b, t, hq * dk), 0.5 * floats(b, t, h * dk), floats(b, t, h * dv),
                    floats(b, h, dk, dv) if past else None, decay, beta)


def wide(x):
    return None if x is None else x.astype(np.float64)


def normed(x, eps):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + eps)


def delta_net(rule, scale, l2norm, eps, q, k, v, decay, beta, state):
    """As the Gated DeltaNet paper has it: one head, one step at a time."""
    q, k, v, decay, beta, state = map(wide, (q, k, v, decay, beta, state))
    if l2norm:
        q, k = normed(q, eps), normed(k, eps)
    (b, t, hq, dk), hk, (h, dv) = q.shape, k.shape[2], v.shape[2:]
    heads, o = max(hq, h), np.zeros((b, t, max(hq, h), dv))
    last = np.zeros((b, h, dk, dv)) if state is None else state.copy()
    for n in range(b):
        for head in range(h):
            s = last[n, head]
            for i in range(t):
                key = k[n, i, head * hk // h]
                if decay is not None:
                    g = np.exp(decay[n, i, head])
                    s = s * (g[:, None] if decay.ndim == 4 else g)
                new = v[n, i, head]
                if "delta" in rule:
                    new = beta[n, i, head if beta.shape[2] > 1 else 0] * (new - key @ s)
                s = s + np.outer(key, new)
                for out in range(head * heads // h, (head + 1) * heads // h):
                    o[n, i, out] = scale * (q[n, i, out * hq // heads] @ s)
            last[n, head] = s
    return o, last


def gated_delta_nets():
    for i, rule in enumerate(["linear", "gated", "delta", "gated_delta"]):
        for b, t, hq, hk, h, dk, dv, l2norm, eps, scale, past in [
                (1, 6, 2, 2, 4, 4, 3, 1, 1e-6, None, True), (2, 3, 4, 1, 2, 5, 6, 0, 1e-6, 0.25, False),
                (1, 65, 1, 1, 2, 3, 2, 1, 1e-3, 1.0, True)]:
            q, k, v = floats(b, t, hq, dk), 0.4 * floats(b, t, hk, dk), floats(b, t, h, dv)
            decay = -between(0, 1, *((b, t, h, dk) if t == 3 else (b, t, h))) if "gated" in rule else None
            beta = between(0, 1, b, t, 1 if t == 3 else h) if "delta" in rule else None
            state = floats(b, h, dk, dv) if past else None
            k = k.astype(np.float32)
            results = delta_net(rule, 1 / np.sqrt(dk) if scale is None else scale, l2norm, eps, q, k, v, decay, beta, state)
            attributes = {"rule": rule, "l2norm_qk": l2norm, "eps": eps} | ({} if scale is None else {"scale": scale})
            add("gated_delta_net", attributes, [q, k, v, decay, beta, state], results)


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def silu(x):
    return x / (1 + np.exp(-x))


def scans():
    for softplus_of in [0, 1]:
        for b, t, d, n, skip, gate, bias, past in [(2, 5, 3, 4, 1, 1, 1, 1), (1, 1, 4, 16, 1, 0, 1, 1), (1, 9, 2, 1, 0, 1, 0, 0),
                                                   (1, 4, 2, 257, 0, 0, 0, 1), (2, 65, 1, 3, 1, 1, 0, 0)]:
            x, delta, a = floats(b, t, d), between(0, 0.7, b, t, d), -between(0.1, 3, d, n)
            bm, cm = floats(b, t, n), floats(b, t, n)
            dm, z = floats(d) if skip else None, floats(b, t, d) if gate else None
            bias_of, h0 = between(0, 0.3, d) if bias else None, floats(b, d, n) if past else None
            operands = [x, delta, a, bm, cm, dm, z, bias_of, h0]
            x, delta, a, bm, cm, dm, z, bias_of, h0 = map(wide, operands)
            step = delta + (0 if bias_of is None else bias_of)
            step = softplus(step) if softplus_of else step
            h, y = np.zeros((b, d, n)) if h0 is None else h0.copy(), np.zeros((b, t, d))
            for i in range(t):
                s = step[:, i, :, None]
                h = np.exp(s * a) * h + s * x[:, i, :, None] * bm[:, i, None, :]
                y[:, i] = (h * cm[:, i, None, :]).sum(-1)
            y = y + (0 if dm is None else dm * x)
            add("selective_scan", {"delta_softplus": softplus_of}, operands, [y if z is None else y * silu(z), h])


def dualities():
    for softplus_of, low, high in [(0, 0.0, None), (1, 0.0, None), (1, 0.3, 0.6), (0, 0.1, 0.4)]:
        for b, t, h, p, groups, n, skip, gate, bias, past in [(2, 5, 4, 3, 2, 4, 1, 1, 1, 1), (1, 65, 2, 2, 1, 3, 1, 0, 0, 1),
                                                              (1, 1, 3, 4, 3, 8, 0, 1, 1, 0), (1, 4, 5, 2, 3, 2, 0, 0, 0, 0)]:
            x, dt, a = floats(b, t, h, p), between(0, 0.8, b, t, h), -between(0.1, 3, h)
            bm, cm = floats(b, t, groups, n), floats(b, t, groups, n)
            dm, z = floats(h) if skip else None, floats(b, t, h, p) if gate else None
            bias_of, s0 = between(0, 0.3, h) if bias else None, floats(b, h, p, n) if past else None
            operands = [x, dt, a, bm, cm, dm, z, bias_of, s0]
            x, dt, a, bm, cm, dm, z, bias_of, s0 = map(wide, operands)
            step = dt + (0 if bias_of is None else bias_of)
            step = np.clip(softplus(step) if softplus_of else step, low, high)
            s, y = np.zeros((b, h, p, n)) if s0 is None else s0.copy(), np.zeros((b, t, h, p))
            group = [head * groups // h for head in range(h)]
            for i in range(t):
                s = np.exp(step[:, i] * a)[..., None, None] * s
                s = s + (step[:, i, :, None] * x[:, i])[..., None] * bm[:, i, group][:, :, None, :]
                y[:, i] = (s * cm[:, i, group][:, :, None, :]).sum(-1)
            y = y + (0 if dm is None else dm[:, None] * x)
            attributes = {"dt_softplus": softplus_of, "low": low} | ({} if high is None else {"high": high})
            if high is None:
                attributes["high"] = 1e30
            add("mamba2", attributes, operands, [y if z is None else y * silu(z), s])


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def networks():
    """By the onnx package, whose evaluator has neither lengths, nor clips, nor other activations."""
    for op, gates in GATES.items():
        for direction in ["forward", "reverse", "bidirectional"]:
            for t, b, i, h, layout, bias, first, extra in [(5, 2, 3, 4, 0, True, True, 1), (1, 1, 2, 1, 1, False, False, 0),
                                                           (4, 3, 1, 5, 1, True, True, 0)]:
                d = 2 if direction == "bidirectional" else 1
                x = floats(b, t, i) if layout else floats(t, b, i)
                state = (b, d, h) if layout else (d, b, h)
                operands = [x, 0.5 * floats(d, gates * h, i), 0.5 * floats(d, gates * h, h),
                            floats(d, 2 * gates * h) if bias else None, None, floats(*state) if first else None]
                attributes = {"direction": direction, "hidden_size": h, "layout": layout}
                if op == "GRU":
                    attributes["linear_before_reset"] = extra
                if op == "LSTM":
                    operands += [floats(*state) if first else None, floats(d, 3 * h) if extra else None]
                by_onnx(op, attributes, *operands, results=3 if op == "LSTM" else 2, opset=22)


ACTIVATIONS = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "softplus": lambda x, a, b: softplus(x),
    "affine": lambda x, a, b: a * x + b,
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x),
    "thresholded_relu": lambda x, a, b: np.where(x > a, x, 0),
    "scaled_tanh": lambda x, a, b: a * np.tanh(b * x),
    "hard_sigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a, b: np.where(x > 0, x, a * np.expm1(x)),
}


def cell(op, acts, clip, extra, x, w, r, bias, h, c, p):
    """One step of one sequence, by the equations of the ONNX operators: the new h and c."""
    n, gates = len(h), GATES[op.upper()]
    act = lambda k, v: ACTIVATIONS[acts[k][0]](v if clip is None else np.clip(v, -clip, clip), acts[k][1], acts[k][2])
    wb, rb = np.split(bias, 2)
    part = lambda k: slice(k * n, (k + 1) * n)
    of_x = lambda k: w[part(k)] @ x + wb[part(k)]
    of_h = lambda k, state: r[part(k)] @ state + rb[part(k)]
    if op == "rnn":
        return act(0, of_x(0) + of_h(0, h)), c
    if op == "gru":
        z, reset = (act(0, of_x(k) + of_h(k, h)) for k in (0, 1))
        new = of_x(2) + (reset * of_h(2, h) if extra else of_h(2, reset * h))
        return (1 - z) * act(1, new) + z * h, c
    i = act(0, of_x(0) + of_h(0, h) + p[:n] * c)
    f = 1 - i if extra else act(0, of_x(2) + of_h(2, h) + p[2 * n:] * c)
    c = f * c + i * act(1, of_x(3) + of_h(3, h))
    o = act(0, of_x(1) + of_h(1, h) + p[n:2 * n] * c)
    return o * act(2, c), c


def cells():
    names = list(ACTIVATIONS)
    for op, per in [("rnn", 1), ("gru", 2), ("lstm", 3)]:
        for i in range(12):
            direction, extra = ["forward", "reverse", "bidirectional"][i % 3], i // 3 % 2
            d, clip, layout = (2 if direction == "bidirectional" else 1), [None, 0.4, 1.5][i // 2 % 3], i % 2
            t, b, width, h = [(5, 3, 2, 3), (4, 2, 3, 1), (7, 4, 1, 2)][i // 4]
            usual = [["tanh"], ["sigmoid", "tanh"], ["sigmoid", "tanh", "tanh"]][per - 1]
            words = usual * d if i % 4 == 0 else [names[(i + 3 * k) % 11] for k in range(per * d)]
            acts = [(word, 0.5 + 0.125 * k, 0.25) for k, word in enumerate(words)]
            gates = GATES[op.upper()]
            x = floats(b, t, width) if layout else floats(t, b, width)
            state = (b, d, h) if layout else (d, b, h)
            lens = DRAW.integers(0, t + 1, b).astype(np.int32)
            w, r = 0.5 * floats(d, gates * h, width), 0.5 * floats(d, gates * h, h)
            bias, h0 = floats(d, 2 * gates * h), floats(*state)
            c0, p = (floats(*state), floats(d, 3 * h)) if op == "lstm" else (None, None)
            y, last_h, last_c = np.zeros((t, d, b, h)), np.zeros((d, b, h)), np.zeros((d, b, h))
            for way in range(d):
                for n in range(b):
                    own = (n, way) if layout else (way, n)
                    hidden, of_c = wide(h0)[own], wide(c0)[own] if op == "lstm" else None
                    order = range(lens[n])
                    for at in (reversed(order) if direction == "reverse" or way else order):
                        step = wide(x)[(n, at) if layout else (at, n)]
                        hidden, of_c = cell(op, acts[way * per:], clip, extra, step, wide(w)[way], wide(r)[way],
                                            wide(bias)[way], hidden, of_c, wide(p)[way] if op == "lstm" else None)
                        y[at, way, n] = hidden
                    last_h[way, n] = hidden
                    last_c[way, n] = of_c if op == "lstm" else 0
            turn = (lambda v: v.swapaxes(0, 1)) if layout else (lambda v: v)
            y = y.transpose(2, 0, 1, 3) if layout else y
            attributes = {"direction": direction, "layout": layout, "extra": extra, "clip": clip or 0.0,
                          "activations": [list(act) for act in acts]}
            results = [y, turn(last_h)] + ([turn(last_c)] if op == "lstm" else [])
            add(op, attributes, [x, w, r, bias, lens, h0, c0, p], results)


for make in (convolutions, attention, gated_delta_nets, scans, dualities, networks, cells):
    make()
json.dump({"onnx": onnx.__version__, "numpy": np.__version__, "cases": CASES}, sys.stdout, separators=(",", ":"))
