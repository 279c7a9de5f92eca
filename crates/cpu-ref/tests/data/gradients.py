#!/usr/bin/env python3
"""Gradients of PyTorch in f64, which `crates/cpu-ref/tests/gradients` holds rules against.

Writes gradients.json beside itself: for each case a graph as `.ir` text or the name of a method of the builder, its
operands, and the gradients of the sum of r*y by every float operand. Operands and r are drawn from numbers that the
test draws again (splitmix64, 24 bits each), or are written out. Attributes are f32 values on both sides.

    python gradients.py        # torch 2.15 (CPU), numpy
"""

import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F

MASK = (1 << 64) - 1
torch.set_default_dtype(torch.float64)


def numbers(seed, count):
    """Numbers of [0, 1) with 24 bits."""
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        out.append((z >> 40) / (1 << 24))
    return out


def f32(x):
    return float(numpy.float32(x))


class Drawn:
    """low + width*u, drawn."""

    def __init__(self, shape, low=-2.0, width=4.0):
        self.shape, self.low, self.width = list(shape), low, width


class Given:
    """Floats, or integers or bools by `dtype`."""

    def __init__(self, shape, values, dtype="f32"):
        self.shape, self.values, self.dtype = list(shape), list(values), dtype


def positive(*shape):
    return Drawn(shape, 0.25, 2.0)


def unit(*shape):
    return Drawn(shape, -0.75, 1.5)


def share(*shape):
    return Drawn(shape, 0.25, 0.5)


def any_(*shape):
    return Drawn(shape)


def ints(shape, values):
    return Given(shape, values, "i32")


CASES = []


def tensor(i, spec):
    if isinstance(spec, Drawn):
        count = math.prod(spec.shape)
        u = numbers(1000 * len(CASES) + i, count)
        return torch.tensor([spec.low + spec.width * v for v in u]).reshape(spec.shape).requires_grad_()
    if spec.dtype == "f32":
        return torch.tensor([float(v) for v in spec.values]).reshape(spec.shape).requires_grad_()
    dtype = torch.bool if spec.dtype == "bool" else torch.int64
    return torch.tensor(spec.values, dtype=dtype).reshape(spec.shape)


def ty(dtype, shape):
    return f"{dtype}[{', '.join(str(n) for n in shape)}]"


def text(expression, operands, results):
    lines = ["graph golden {"]
    for name, spec in operands.items():
        lines.append(f"  {name}: {ty(getattr(spec, 'dtype', 'f32'), spec.shape)} = input()")
    values = ", ".join(f"y{i}: {ty('f32', y.shape)}" for i, y in enumerate(results))
    lines.append(f"  {values} = {expression}")
    lines += [f"  output y{i} = y{i}" for i in range(len(results))]
    return "\n".join(lines + ["}", ""])


def short(v):
    """Twelve digits: 1e-12 of a number."""
    return float(f"{v:.12g}")


def case(name, expression, operands, f, method=False):
    """One case: `expression` is a node of `.ir` text over the operands, or the name of a method."""
    tensors = [tensor(i, spec) for i, spec in enumerate(operands.values())]
    results = f(*tensors)
    results = results if isinstance(results, tuple) else (results,)
    loss = torch.zeros(())
    for i, y in enumerate(results):
        r = torch.tensor([4 * u - 2 for u in numbers(1000 * len(CASES) + 500 + i, y.numel())])
        loss = loss + (r.reshape(y.shape) * y).sum()
    floats = [t for t in tensors if t.requires_grad]
    gradients = torch.autograd.grad(loss, floats)
    written = []
    for n, spec in operands.items():
        operand = {"name": n, "shape": spec.shape}
        if isinstance(spec, Drawn):
            operand |= {"low": spec.low, "width": spec.width}
        else:
            operand |= {"values": [int(v) for v in spec.values] if spec.dtype != "f32" else spec.values}
            operand |= {} if spec.dtype == "f32" else {"dtype": spec.dtype}
        written.append(operand)
    for g in gradients:
        assert torch.isfinite(g).all(), name
    CASES.append({
        "name": name,
        ("method" if method else "graph"): expression if method else text(expression, operands, results),
        "operands": written,
        "gradients": [[short(v) for v in g.flatten().tolist()] for g in gradients],
    })


def method(name, operands, f):
    case(name, name, operands, f, method=True)


def elementwise():
    smooth = {
        "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos,
        "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "atan": torch.atan, "asinh": torch.asinh,
        "erf": torch.erf, "sigmoid": torch.sigmoid, "softplus": lambda x: F.softplus(x, threshold=100),
        "log_sigmoid": F.logsigmoid, "mish": F.mish, "square": torch.square, "softsign": F.softsign,
    }
    for name, f in smooth.items():
        case(name, f"{name}(x)", {"x": any_(2, 5)}, f)
    within = {"tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh}
    for name, f in within.items():
        case(name, f"{name}(x)", {"x": unit(2, 5)}, f)
    above = {"log": torch.log, "log2": torch.log2, "log1p": torch.log1p, "sqrt": torch.sqrt,
             "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal}
    for name, f in above.items():
        case(name, f"{name}(x)", {"x": positive(2, 5)}, f)
    case("acosh", "acosh(x)", {"x": Drawn([2, 5], 1.25, 2.0)}, torch.acosh)
    case("gelu", "gelu(x)", {"x": any_(2, 5)}, F.gelu)
    case("gelu by tanh", 'gelu(x) {approximate = "tanh"}', {"x": any_(2, 5)},
         lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    case("swish", "swish(x) {alpha = 1.702}", {"x": any_(2, 5)}, lambda x: x * torch.sigmoid(f32(1.702) * x))
    case("pow_scalar", "pow_scalar(x) {exponent = 2.7}", {"x": positive(2, 5)}, lambda x: x ** f32(2.7))


def kinks():
    points = Given([7], [-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    at = lambda name, expression, f: case(name, expression, {"x": points}, f)
    at("relu at 0", "relu(x)", F.relu)
    at("leaky_relu at 0", "leaky_relu(x) {alpha = 0.1}", lambda x: F.leaky_relu(x, f32(0.1)))
    at("elu at 0", "elu(x) {alpha = 1.5}", lambda x: F.elu(x, 1.5))
    at("celu at 0", "celu(x) {alpha = 0.7}", lambda x: F.celu(x, f32(0.7)))
    at("selu at 0", f"selu(x) {{alpha = {f32(1.6732632423543772)!r}, gamma = {f32(1.0507009873554805)!r}}}",
       lambda x: f32(1.0507009873554805) * F.elu(x, f32(1.6732632423543772)))
    at("abs at 0", "abs(x)", torch.abs)
    sixth = f32(1 / 6)
    at("hard_swish at its ends", f"hard_swish(x) {{alpha = {sixth!r}, beta = 0.5}}",
       lambda x: x * inside(sixth * x + 0.5))
    at("thresholded_relu at its threshold", "thresholded_relu(x) {alpha = 0.5}",
       lambda x: F.threshold(x, 0.5, 0.0))
    at("shrink, hard", "shrink(x) {lambd = 0.5}", lambda x: F.hardshrink(x, 0.5))
    at("shrink, soft", "shrink(x) {lambd = 0.5, bias = 0.5}", lambda x: F.softshrink(x, 0.5))
    case("hard_sigmoid at its ends", "hard_sigmoid(x) {alpha = 0.25, beta = 0.5}",
         {"x": Given([5], [-3.0, -2.0, 0.0, 2.0, 3.0])},
         lambda x: inside(0.25 * x + 0.5))
    case("clip at its ends", "clip(x, low, high)",
         {"x": points, "low": Given([], [-1.0]), "high": Given([], [1.0])},
         lambda x, low, high: torch.where(x < low, low, torch.where(x > high, high, x)))
    case("p_relu", "p_relu(x, slope)", {"x": Given([2, 3], [-1.0, 0.0, 2.0, 3.0, -0.5, -2.0]), "slope": any_(3)},
         lambda x, slope: torch.where(x > 0, x, slope * x))
    ties = {"a": Given([5], [1.0, 2.0, 0.0, -1.0, 3.0]), "b": Given([5], [1.0, 0.5, 0.0, -1.0, 4.0])}
    case("max of equal ones", "max(a, b)", ties, torch.maximum)
    case("min of equal ones", "min(a, b)", ties, torch.minimum)
    three = ties | {"c": Given([5], [1.0, 2.0, -1.0, -1.0, 4.0])}
    case("max of three", "max(a, b, c)", three, lambda *xs: torch.stack(xs).amax(0))
    case("pow at its corners", "pow(a, b)",
         {"a": Given([5], [0.0, 0.0, 2.0, 0.0, 3.0]), "b": Given([5], [2.0, 1.0, 0.0, 3.0, -1.5])}, torch.pow)


def inside(t):
    """t within 0 and 1, which passes nothing at either end."""
    return torch.where((t > 0) & (t < 1), t, t.detach().clamp(0, 1))


def binary():
    pair = lambda: {"a": any_(2, 3), "b": any_(3)}
    case("add, stretched", "add(a, b)", {"a": any_(2, 1), "b": any_(3)}, torch.add)
    case("sub, stretched", "sub(a, b)", pair(), torch.sub)
    case("mul, stretched", "mul(a, b)", {"a": any_(2, 1, 3), "b": any_(4, 1)}, torch.mul)
    case("div, stretched", "div(a, b)", {"a": any_(2, 3), "b": positive(2, 1)}, torch.div)
    case("pow", "pow(a, b)", {"a": positive(2, 3), "b": any_(3)}, torch.pow)
    case("atan2", "atan2(a, b)", {"a": any_(2, 3), "b": positive(3)}, torch.atan2)
    case("mod, of the divisor's sign", "mod(a, b)", {"a": any_(2, 3), "b": positive(3)}, torch.remainder)
    case("mod, of the dividend's sign", "mod(a, b) {fmod = true}", {"a": any_(2, 3), "b": positive(3)}, torch.fmod)
    case("fma", "fma(a, b, c)", {"a": any_(2, 3), "b": any_(3), "c": any_(2, 1)}, lambda a, b, c: a * b + c)
    case("mean of several", "mean(a, b, c)", {"a": any_(2, 3), "b": any_(3), "c": any_(2, 1)},
         lambda a, b, c: (a + b + c) / 3)
    case("where", "where(c, a, b)", {"c": Given([3], [1, 0, 1], "bool")} | pair(), torch.where)
    case("affine", "affine(x) {mul = 1.3, add = -0.7}", {"x": any_(3)}, lambda x: f32(1.3) * x - f32(0.7))
    case("bias_add", "bias_add(x, b) {axis = 1}", {"x": any_(2, 3, 2), "b": any_(3)},
         lambda x, b: x + b[:, None])
    case("glu by swish", "glu(gate, value)", {"gate": any_(2, 3), "value": any_(2, 3)},
         lambda g, v: F.silu(g) * v)
    case("glu by gelu, halves", 'glu(x) {act = "gelu", packing = "concat"}', {"x": any_(2, 6)},
         lambda x: F.gelu(x[:, :3]) * x[:, 3:])
    case("cast", 'cast(x) {to = f32}', {"x": any_(3)}, lambda x: x * 1)


def reductions():
    x = lambda: {"x": any_(2, 3, 4)}
    case("reduce_sum", "reduce_sum(x) {axes = [0, 2]}", x(), lambda x: x.sum((0, 2), keepdim=True))
    case("reduce_mean", "reduce_mean(x) {axes = [1]}", x(), lambda x: x.mean(1, keepdim=True))
    tied = {"x": Given([2, 4], [1.0, 3.0, 3.0, 3.0, -1.0, -1.0, 2.0, 0.0])}
    case("reduce_max of equal ones", "reduce_max(x) {axes = [1]}", tied, lambda x: x.amax(1, keepdim=True))
    case("reduce_min of equal ones", "reduce_min(x) {axes = [1]}", tied, lambda x: x.amin(1, keepdim=True))
    zeros = {"x": Given([3, 4], [1.0, 2.0, 3.0, -1.0, 2.0, 0.0, 3.0, 0.5, 0.0, 1.5, 0.0, 2.0])}
    case("reduce_prod with zeros", "reduce_prod(x) {axes = [1]}", zeros, lambda x: x.prod(1, keepdim=True))
    case("reduce_prod of all", "reduce_prod(x) {axes = []}", {"x": any_(2, 3)}, lambda x: x.prod().reshape(1, 1))
    method("reduce_l1", {"x": Given([2, 3], [1.0, 0.0, -2.0, 0.5, -0.5, 0.0])}, lambda x: x.abs().sum(1))
    rows = {"x": Given([3, 3], [3.0, -4.0, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0, -2.0])}
    method("reduce_l2", rows, lambda x: torch.linalg.vector_norm(x, dim=1))
    method("reduce_log_sum_exp", x(), lambda x: x.logsumexp(1))
    method("reduce_log_sum", {"x": positive(2, 3)}, lambda x: x.sum(1).log())
    method("variance", x(), lambda x: x.var(1, correction=1))
    method("std_dev", {"x": Given([2, 3], [1.0, 2.0, 4.0, 5.0, 5.0, 5.0])}, lambda x: x.std(1, correction=0))
    case("cum_sum", "cum_sum(x) {axis = 1}", x(), lambda x: x.cumsum(1))
    case("cum_sum, reverse", "cum_sum(x) {axis = 2, reverse = true}", x(),
         lambda x: x.flip(2).cumsum(2).flip(2))
    case("cum_sum, exclusive", "cum_sum(x) {axis = 0, exclusive = true}", x(), lambda x: x.cumsum(0) - x)


def norms():
    gain = lambda *shape: {"gamma": any_(*shape), "beta": any_(*shape)}
    eps = f32(1e-5)
    case("softmax", "softmax(x) {axis = 1}", {"x": any_(2, 3, 2)}, lambda x: x.softmax(1))
    case("softmax of rows", "softmax(x)", {"x": any_(3, 5)}, lambda x: x.softmax(-1))
    case("log_softmax", "log_softmax(x) {axis = 1}", {"x": any_(2, 3, 2)}, lambda x: x.log_softmax(1))
    case("layer_norm", "layer_norm(x, gamma, beta)", {"x": any_(3, 5)} | gain(5),
         lambda x, g, b: F.layer_norm(x, [5], g, b, eps))
    case("layer_norm over two axes", "layer_norm(x, gamma, beta) {axis = 1, epsilon = 0.01}",
         {"x": any_(2, 3, 2)} | gain(3, 2), lambda x, g, b: F.layer_norm(x, [3, 2], g, b, f32(0.01)))
    case("layer_norm without shift", "layer_norm(x, gamma)", {"x": any_(3, 5), "gamma": any_(5)},
         lambda x, g: F.layer_norm(x, [5], g, None, eps))
    rms = lambda x, e: x / torch.sqrt((x * x).mean(-1, keepdim=True) + e)
    case("rms_norm", "rms_norm(x, gamma)", {"x": any_(3, 5), "gamma": any_(5)}, lambda x, g: rms(x, eps) * g)
    case("rms_norm, one plus", "rms_norm(x, gamma) {epsilon = 0.001, weight_offset = 1.0}",
         {"x": any_(3, 5), "gamma": any_(5)}, lambda x, g: rms(x, f32(0.001)) * (1 + g))
    case("group_norm", "group_norm(x, gamma, beta) {num_groups = 2}", {"x": any_(2, 4, 3)} | gain(4),
         lambda x, g, b: F.group_norm(x, 2, g, b, eps))
    case("instance_norm", "instance_norm(x, gamma, beta)", {"x": any_(2, 3, 4)} | gain(3),
         lambda x, g, b: F.instance_norm(x, weight=g, bias=b, eps=eps))
    case("batch_norm", "batch_norm(x, gamma, beta, mean, variance)",
         {"x": any_(2, 3, 2)} | gain(3) | {"mean": any_(3), "variance": positive(3)},
         lambda x, g, b, m, v: g[:, None] * (x - m[:, None]) / torch.sqrt(v[:, None] + eps) + b[:, None])
    case("lp_normalization", "lp_normalization(x)", {"x": any_(3, 4)}, lambda x: F.normalize(x, dim=-1))
    case("lp_normalization by sums", 'lp_normalization(x) {axis = 0, p = "l1"}', {"x": any_(3, 4)},
         lambda x: F.normalize(x, p=1, dim=0))


def products():
    case("matmul", "matmul(a, b)", {"a": any_(2, 3), "b": any_(3, 4)}, torch.matmul)
    case("matmul, batches stretched", "matmul(a, b)", {"a": any_(2, 1, 2, 3), "b": any_(3, 3, 2)}, torch.matmul)
    case("matmul, one batch", "matmul(a, b)", {"a": any_(2, 2, 3), "b": any_(3, 2)}, torch.matmul)
    case("matmul, left across", "matmul(a, b) {trans_a = true}", {"a": any_(3, 2), "b": any_(3, 4)},
         lambda a, b: a.T @ b)
    case("matmul, both across", "matmul(a, b) {trans_a = true, trans_b = true}",
         {"a": any_(2, 3, 2), "b": any_(2, 4, 3)}, lambda a, b: a.mT @ b.mT)
    case("linear", "linear(x, w, b)", {"x": any_(2, 2, 3), "w": any_(4, 3), "b": any_(4)}, F.linear)


def attend(q, k, v, allowed=None, scale=None, softcap=0.0, added=None):
    heads = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(heads, 1), v.repeat_interleave(heads, 1)
    s = q @ k.mT * (f32(1 / math.sqrt(q.shape[-1])) if scale is None else f32(scale))
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    if added is not None:
        s = s + added
    if allowed is not None:
        s = s.masked_fill(~allowed, -math.inf)
    return s.softmax(-1) @ v, s.logsumexp(-1)


def attention():
    qkv = lambda hq=1, hk=1, sq=3, sk=3: {"q": any_(1, hq, sq, 4), "k": any_(1, hk, sk, 4), "v": any_(1, hk, sk, 2)}
    place = lambda sq, sk: (torch.arange(sq)[:, None], torch.arange(sk)[None, :])
    case("attention", "attention(q, k, v)", qkv(), lambda q, k, v: attend(q, k, v)[0])
    case("attention, scale", "attention(q, k, v) {scale = 0.3}", qkv(), lambda q, k, v: attend(q, k, v, scale=0.3)[0])
    i, j = place(4, 4)
    case("attention, causal", "attention(q, k, v) {causal = true}", qkv(2, 2, 4, 4),
         lambda q, k, v: attend(q, k, v, j <= i)[0])
    case("attention, grouped heads", "attention(q, k, v) {causal = true}", qkv(4, 2, 4, 4),
         lambda q, k, v: attend(q, k, v, j <= i)[0])
    case("attention, a window", "attention(q, k, v) {left = 1, right = 0}", qkv(1, 1, 4, 4),
         lambda q, k, v: attend(q, k, v, (j <= i) & (j >= i - 1))[0])
    case("attention, softcap", "attention(q, k, v) {softcap = 1.5}", qkv(2, 1), lambda q, k, v: attend(q, k, v, softcap=1.5)[0])
    mask = [1, 0, 1, 1, 1, 1, 0, 0, 1]
    allowed = torch.tensor(mask, dtype=torch.bool).reshape(3, 3)
    case("attention, a mask", "attention(q, k, v, mask)", qkv(2, 1) | {"mask": Given([3, 3], mask, "bool")},
         lambda q, k, v, m: attend(q, k, v, m)[0])
    case("attention, numbers added", "attention(q, k, v, mask)", qkv(2, 2) | {"mask": any_(3, 3)},
         lambda q, k, v, m: attend(q, k, v, added=m)[0])
    case("attention, a mask of heads, softcap", "attention(q, k, v, mask) {softcap = 2.0}", qkv(2, 1) | {"mask": any_(1, 2, 1, 3)},
         lambda q, k, v, m: attend(q, k, v, added=m, softcap=2.0)[0])
    case("attention, more keys", "attention(q, k, v)", qkv(2, 1, 2, 5), lambda q, k, v: attend(q, k, v)[0])
    length = torch.arange(5) < 4
    case("attention, a length", "attention(q, k, v, _, length)", qkv(2, 1, 2, 5) | {"length": ints([], [4])},
         lambda q, k, v, n: attend(q, k, v, length.expand(2, 5))[0])
    case("attention, sums too", "attention(q, k, v) {lse = true}", qkv(2, 1), lambda q, k, v: attend(q, k, v))
    case("attention, heads inside", 'attention(q, k, v) {layout = "bshd"}',
         {"q": any_(1, 3, 2, 4), "k": any_(1, 3, 1, 4), "v": any_(1, 3, 1, 2)},
         lambda q, k, v: attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))[0].transpose(1, 2))
    angles = lambda n, pos: torch.tensor([[p * f32(10000.0) ** (-2 * i / n) for i in range(n // 2)] for p in pos])

    def rotated(x, n, pos, pairs):
        a = angles(n, pos)
        c, s = a.cos(), a.sin()
        first, second = (x[..., 0:n:2], x[..., 1:n:2]) if pairs else (x[..., : n // 2], x[..., n // 2 : n])
        low, high = c * first - s * second, s * first + c * second
        turned = torch.stack([low, high], -1).flatten(-2) if pairs else torch.cat([low, high], -1)
        return torch.cat([turned, x[..., n:]], -1)

    case("rotary", "rotary(x, pos)", {"x": any_(1, 2, 3, 4), "pos": ints([1, 3], [0, 2, 5])},
         lambda x, p: rotated(x, 4, [0, 2, 5], False))
    case("rotary, pairs beside, part", "rotary(x, pos) {interleaved = true, n_rot = 4}",
         {"x": any_(1, 1, 3, 6), "pos": ints([1, 3], [1, 2, 3])}, lambda x, p: rotated(x, 4, [1, 2, 3], True))


def convolutions():
    case("conv of one axis", "conv(x, w, b)", {"x": any_(2, 2, 5), "w": any_(3, 2, 2), "b": any_(3)}, F.conv1d)
    xw = lambda c=2, o=2, n=5, k=3: {"x": any_(1, c, n, n), "w": any_(o, c, k, k)}
    case("conv", "conv(x, w)", xw(), F.conv2d)
    case("conv, strides and pads", "conv(x, w) {strides = [2, 2], pads = [1, 1, 1, 1]}", xw(1, 2, 6),
         lambda x, w: F.conv2d(x, w, stride=2, padding=1))
    case("conv, strides with a remainder", "conv(x, w) {strides = [3, 2]}", xw(1, 2, 6, 2),
         lambda x, w: F.conv2d(x, w, stride=(3, 2)))
    case("conv, dilation", "conv(x, w) {dilations = [2, 1]}", xw(1, 2, 6, 2), lambda x, w: F.conv2d(x, w, dilation=(2, 1)))
    case("conv, unlike pads", "conv(x, w) {pads = [1, 0, 0, 2]}", xw(1, 1, 4, 2),
         lambda x, w: F.conv2d(F.pad(x, (0, 2, 1, 0)), w))
    case("conv, groups", "conv(x, w) {groups = 2}", {"x": any_(1, 4, 4, 3), "w": any_(2, 2, 2, 2)},
         lambda x, w: F.conv2d(x, w, groups=2))
    case("conv by channels", "conv(x, w) {groups = 3, strides = [2, 1]}", {"x": any_(1, 3, 4, 4), "w": any_(3, 1, 2, 3)},
         lambda x, w: F.conv2d(x, w, groups=3, stride=(2, 1)))
    case("conv of three axes", "conv(x, w)", {"x": any_(1, 1, 3, 3, 3), "w": any_(1, 1, 2, 2, 2)}, F.conv3d)
    case("conv_transpose", "conv_transpose(x, w, b)", {"x": any_(1, 2, 3, 3), "w": any_(2, 2, 2, 2), "b": any_(2)},
         F.conv_transpose2d)
    case("conv_transpose, strides, pads, more", "conv_transpose(x, w) {strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]}",
         {"x": any_(1, 1, 3, 3), "w": any_(1, 2, 3, 3)},
         lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1))
    case("conv_transpose, groups and dilation", "conv_transpose(x, w) {groups = 2, dilations = [2]}",
         {"x": any_(1, 4, 4), "w": any_(4, 1, 2)}, lambda x, w: F.conv_transpose1d(x, w, groups=2, dilation=2))


def pools():
    x = lambda n=5: {"x": any_(1, 2, n, n)}
    case("max_pool, overlapping", "max_pool(x) {kernel = [3, 3], strides = [1, 2]}", x(), lambda x: F.max_pool2d(x, 3, (1, 2)))
    case("max_pool, pads", "max_pool(x) {kernel = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]}", x(4),
         lambda x: F.max_pool2d(x, 2, 2, 1))
    case("max_pool of equal ones", "max_pool(x) {kernel = [2]}", {"x": Given([1, 1, 5], [1.0, 1.0, 0.0, 2.0, 2.0])},
         lambda x: F.max_pool1d(x, 2, 1))
    case("max_pool, dilation", "max_pool(x) {kernel = [2, 2], dilations = [2, 2]}", x(), lambda x: F.max_pool2d(x, 2, 1, 0, 2))
    case("average_pool", "average_pool(x) {kernel = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]}", x(4),
         lambda x: F.avg_pool2d(x, 2, 2, 1, count_include_pad=False))
    case("average_pool, pads counted", "average_pool(x) {kernel = [3, 3], pads = [1, 1, 1, 1], count_include_pad = true}", x(4),
         lambda x: F.avg_pool2d(x, 3, 1, 1))
    case("sum_pool", "sum_pool(x) {kernel = [3], strides = [2]}", {"x": any_(1, 2, 6)}, lambda x: 3 * F.avg_pool1d(x, 3, 2))
    case("min_pool", "min_pool(x) {kernel = [2, 2]}", x(4), lambda x: -F.max_pool2d(-x, 2, 1))
    method("lp_pool", {"x": any_(1, 2, 5)}, lambda x: (x * x).unfold(2, 2, 1).sum(-1).sqrt())


def movement():
    x = lambda: {"x": any_(2, 3, 4)}
    case("transpose", "transpose(x) {perm = [2, 0, 1]}", x(), lambda x: x.permute(2, 0, 1))
    case("reshape", "reshape(x) {shape = [4, 6]}", x(), lambda x: x.reshape(4, 6))
    case("expand", "expand(x) {shape = [2, 3, 4]}", {"x": any_(3, 1)}, lambda x: x.expand(2, 3, 4))
    case("slice, steps", "slice(x) {starts = [1, 0], ends = [3, 4], axes = [1, 2], steps = [1, 2]}", x(), lambda x: x[:, 1:3, ::2])
    case("slice, backward", f"slice(x) {{starts = [-1], ends = [{-(1 << 63)}], axes = [2], steps = [-1]}}", x(), lambda x: x.flip(2))
    case("pad by a value", "pad(x, value) {pads = [1, 0, 0, 2], axes = [1, 2]}", {"x": any_(2, 3, 2), "value": any_()},
         lambda x, v: torch.where(F.pad(torch.ones(2, 3, 2), (0, 2, 1, 0)) > 0, F.pad(x, (0, 2, 1, 0)), v))
    case("pad by reflection", 'pad(x) {mode = "reflect", pads = [2, 1], axes = [2]}', x(), lambda x: F.pad(x, (2, 1), "reflect"))
    case("pad by the edge", 'pad(x) {mode = "edge", pads = [2, 1], axes = [2]}', x(), lambda x: F.pad(x, (2, 1), "replicate"))
    case("pad around", 'pad(x) {mode = "wrap", pads = [2, 1], axes = [2]}', x(), lambda x: F.pad(x, (2, 1), "circular"))
    case("concat", "concat(a, b, c) {axis = 1}", {"a": any_(2, 1), "b": any_(2, 3), "c": any_(2, 2)},
         lambda a, b, c: torch.cat([a, b, c], 1))
    case("split", "split(x) {axis = 2, sizes = [1, 3]}", x(), lambda x: tuple(x.split([1, 3], 2)))
    case("gather, twice the same", "gather(x, i) {axis = 1}", {"x": any_(2, 4, 2), "i": ints([5], [1, 3, 1, -1, 0])},
         lambda x, i: x[:, i % 4])
    case("gather of rows", "gather(x, i) {axis = 0}", {"x": any_(4, 3), "i": ints([2, 2], [3, 3, 0, 3])}, lambda x, i: x[i])
    case("gather_elements", "gather_elements(x, i) {axis = 1}", {"x": any_(2, 4), "i": ints([2, 3], [0, 0, 3, 2, -1, 2])},
         lambda x, i: x.gather(1, i % 4))
    case("gather_nd", "gather_nd(x, i)", {"x": any_(3, 4, 2), "i": ints([3, 2], [0, 1, 2, 3, 0, 1])}, lambda x, i: x[i[:, 0], i[:, 1]])
    place = ints([2, 3], [0, 3, 0, 2, 1, 2])
    case("scatter_elements, added", 'scatter_elements(x, i, u) {axis = 1, reduction = "add"}',
         {"x": any_(2, 4), "i": place, "u": any_(2, 3)}, lambda x, i, u: x.scatter_add(1, i, u))
    case("scatter_elements, set", "scatter_elements(x, i, u) {axis = 1}",
         {"x": any_(2, 4), "i": ints([2, 2], [0, 3, 2, 1]), "u": any_(2, 2)}, lambda x, i, u: x.scatter(1, i, u))
    case("scatter_nd, added", 'scatter_nd(x, i, u) {reduction = "add"}', {"x": any_(4, 2), "i": ints([3, 1], [1, 3, 1]), "u": any_(3, 2)},
         lambda x, i, u: x.index_add(0, i[:, 0], u))
    case("scatter_nd, set", "scatter_nd(x, i, u)", {"x": any_(4, 2), "i": ints([2, 1], [1, 3]), "u": any_(2, 2)},
         lambda x, i, u: x.index_copy(0, i[:, 0], u))
    method("tile", {"x": any_(2, 3)}, lambda x: x.tile(2, 3))
    method("top_k values", {"x": any_(2, 6)}, lambda x: x.topk(3, 1).values)


def signals():
    pairs = torch.view_as_real
    case("fft of real values", "fft(x) {axis = 1, onesided = true}", {"x": any_(2, 6, 1)}, lambda x: pairs(torch.fft.rfft(x[..., 0], dim=1)))
    case("fft", "fft(x) {axis = 1}", {"x": any_(2, 5, 2)}, lambda x: pairs(torch.fft.fft(torch.view_as_complex(x), dim=1)))
    case("fft, inverse", "fft(x) {axis = 1, inverse = true}", {"x": any_(2, 4, 2)},
         lambda x: pairs(torch.fft.ifft(torch.view_as_complex(x), dim=1)))


def weighted(logp, t, w, ignored):
    """PyTorch's `nll_loss` passes weights nothing; in a graph they are an operand like any other."""
    kept = t != ignored
    applied = w[t] * kept
    loss = -(applied * logp.gather(1, t[:, None])[:, 0]).sum() / applied.sum()
    assert torch.isclose(loss, F.nll_loss(logp, t, w.detach(), ignore_index=ignored))
    return loss


def losses():
    pair = lambda: {"x": any_(2, 3), "t": any_(2, 3)}
    method("mse", pair(), F.mse_loss)
    method("l1", {"x": Given([4], [1.0, 0.0, 2.0, -1.0]), "t": Given([4], [0.5, 0.0, 3.0, -1.0])}, F.l1_loss)
    method("huber", pair(), lambda x, t: F.huber_loss(x, t, delta=0.75))
    method("kl_div", {"x": any_(2, 3), "t": share(2, 3)}, F.kl_div)
    method("binary_cross_entropy", {"x": share(2, 3), "t": share(2, 3)}, F.binary_cross_entropy)
    method("binary_cross_entropy_with_logits", {"x": any_(2, 3), "t": share(2, 3), "w": positive(3)},
           lambda x, t, w: (-w * t * F.logsigmoid(x) - (1 - t) * F.logsigmoid(-x)).mean())
    method("cross_entropy_dense", {"x": any_(3, 4), "t": share(3, 4)}, F.cross_entropy)
    classes = lambda *values: ints([len(values)], values)
    method("nll_loss, weights, one ignored", {"x": any_(4, 3), "t": classes(2, 0, 1, 2), "w": positive(3)},
           lambda x, t, w: weighted(x, t, w, 1))
    method("softmax_cross_entropy", {"x": any_(4, 3), "t": classes(2, 0, 1, 2)}, F.cross_entropy)
    method("softmax_cross_entropy, weights, one ignored", {"x": any_(4, 3), "t": classes(2, 0, 1, 2), "w": positive(3)},
           lambda x, t, w: weighted(x.log_softmax(1), t, w, 0))
    method("softmax_cross_entropy, sums of images", {"x": any_(2, 3, 2), "t": ints([2, 2], [0, 2, 1, 1])},
           lambda x, t: F.cross_entropy(x, t, reduction="sum"))
    rows = lambda: {"a": any_(3, 4), "b": any_(3, 4)}
    method("cosine_loss", rows(), lambda a, b: (1 - F.cosine_similarity(a, b)).mean())
    method("cosine_loss of similarities", rows() | {"y": unit(3)}, lambda a, b, y: ((F.cosine_similarity(a, b) - y) ** 2).mean())
    three = lambda: {"a": any_(4, 3), "p": any_(4, 3), "n": any_(4, 3)}
    method("triplet_loss", three(), lambda a, p, n: F.triplet_margin_loss(a, p, n, eps=0.0))
    method("triplet_loss, fourth powers", three(), lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=0.5, p=4, eps=0.0))
    method("in_batch_negatives", {"a": any_(3, 4), "p": any_(6, 4)},
           lambda a, p: F.cross_entropy(20 * F.normalize(a) @ F.normalize(p).T, torch.arange(3)))


for family in [elementwise, kinks, binary, reductions, norms, products, attention, convolutions, pools, movement,
               signals, losses]:
    family()
names = [c["name"] for c in CASES]
assert len(set(names)) == len(names)
path = pathlib.Path(__file__).with_suffix(".json")
body = ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES)
path.write_text(f'{{"torch":"{torch.__version__}","cases":[\n{body}\n]}}\n')
print(len(CASES), "cases,", path.stat().st_size // 1024, "KiB")
