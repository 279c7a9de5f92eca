"""The gradients that G15 measures: tests/data/backward_shapes.json, drawn once, before any kernel was tuned for them.

usage: backward_shapes.py > tests/data/backward_shapes.json

The rule. 40 cases of the kinds below, drawn by Python's Random(23): extents evenly by their logarithm, one in three of
the larger ones a multiple of 32 (fresh_shapes.extent); what would take more than 2 GiB of operands or some 5 ms of
arithmetic is drawn again. `small`: the same rule by Random(24) with extents of at most SMALL, for devices that are not
judged.

y is what the forward op gives and dy its gradient, which is drawn:
  nt, tn                      of y[m, n] = a[m, k] b[k, n] the gradient by a, dy bT, and by b, aT dy
  attention                   by queries, keys and values
  layer_norm, rms_norm        by x[rows, width], scale (and shift)
  batch_norm                  by x[batch, channels, height, width], scale and shift, of the batch's statistics
  cross_entropy               the mean's gradient by scores[rows, classes], together with the loss
  embedding                   by the table[rows, width] of so many tokens
  conv_input, conv_weight     by one of the operands; groups = channels: depthwise
  max_pool, average_pool      by x, no padding
"""
import json
import random

from fresh_shapes import extent, fits

OPERATIONS, SMALL = 1 << 37, 12
COUNTS = {"nt": 5, "tn": 5, "attention": 6, "layer_norm": 3, "rms_norm": 3, "batch_norm": 2, "cross_entropy": 3,
          "embedding": 3, "conv_input": 2, "conv_weight": 2, "depthwise_input": 1, "depthwise_weight": 1, "max_pool": 2,
          "average_pool": 2}


class Draw:
    def __init__(self, seed, most):
        self.random, self.most = random.Random(seed), most

    def extent(self, low, high):
        return extent(self.random, min(low, self.most // 4), min(high, self.most))

    def choice(self, among):
        return self.random.choice([n for n in among if n <= self.most] or [min(among)])


def affordable(operands, operations=0):
    return fits(operands) and operations <= OPERATIONS


def product(draw, kind):
    m, k, n = draw.extent(64, 16384), draw.extent(32, 8192), draw.extent(32, 8192)
    return {"m": m, "k": k, "n": n} if affordable([[m, k], [k, n], [m, n]], 2 * m * k * n) else None


def attention(draw, kind):
    key_heads, group = draw.choice([1, 2, 4, 8, 12]), draw.choice([1, 1, 2, 4])
    batch, width, tokens = draw.choice([1, 2, 4, 8]), draw.choice([32, 64, 80, 96, 128]), draw.extent(128, 4096)
    heads, causal = key_heads * group, draw.random.random() < 0.5
    case = {"batch": batch, "heads": heads, "key_heads": key_heads, "tokens": tokens, "width": width, "causal": causal}
    scores = [batch, heads, tokens, tokens]
    return case if affordable([scores] * 4, 10 * batch * heads * tokens**2 * width) else None


def rows(draw, kind):
    case = {"rows": draw.extent(256, 32768), "width": draw.extent(64, 8192)}
    return case if affordable([list(case.values())] * 4) else None


def batch_norm(draw, kind):
    shape = [draw.choice([2, 8, 16, 32]), draw.extent(16, 512), *[draw.extent(7, 128)] * 2]
    return {"shape": shape} if affordable([shape] * 4) else None


def cross_entropy(draw, kind):
    case = {"rows": draw.extent(256, 16384), "classes": draw.extent(16, 131072)}
    return case if affordable([list(case.values())] * 3) else None


def embedding(draw, kind):
    case = {"rows": draw.extent(256, 131072), "width": draw.extent(64, 2048), "tokens": draw.extent(256, 65536)}
    tables = [[case["rows"], case["width"]], [case["tokens"], case["width"]]]
    return case if affordable(tables * 2) else None


def convolution(draw, kind):
    channels, outputs = draw.extent(3, 1024), draw.extent(16, 1024)
    kernel, stride = draw.choice([1, 3, 3, 5, 7]), draw.choice([1, 1, 2])
    extents, batch = [max(kernel, draw.extent(7, 224)) for _ in range(2)], draw.choice([1, 4, 16, 32])
    groups = channels if kind.startswith("depthwise") else 1
    outputs = channels if groups > 1 else outputs
    case = {"batch": batch, "channels": channels, "outputs": outputs, "extents": extents, "kernel": kernel,
            "stride": stride, "pad": kernel // 2, "groups": groups}
    positions = batch * extents[0] * extents[1] // stride**2
    shapes = [[batch, channels, *extents], [outputs, channels // groups, kernel, kernel], [outputs, positions]]
    return case if affordable(shapes * 2, 2 * positions * kernel**2 * channels * outputs // groups) else None


def pool(draw, kind):
    kernel = draw.choice([2, 3])
    extents = [max(kernel, draw.extent(14, 256)) for _ in range(2)]
    shape = [draw.choice([1, 8, 32]), draw.extent(16, 512), *extents]
    case = {"shape": shape, "kernel": kernel, "stride": draw.choice([2, 2, 1])}
    return case if affordable([case["shape"]] * 3) else None


RULES = {"nt": product, "tn": product, "attention": attention, "layer_norm": rows, "rms_norm": rows,
         "batch_norm": batch_norm, "cross_entropy": cross_entropy, "embedding": embedding, "conv_input": convolution,
         "conv_weight": convolution, "depthwise_input": convolution, "depthwise_weight": convolution, "max_pool": pool,
         "average_pool": pool}


def joined(numbers):
    return "x".join(map(str, numbers))


def name(kind, c):
    if kind in ("nt", "tn"):
        return f"{kind}_{joined(c.values())}"
    if kind == "attention":
        heads = f"{c['batch']}x{c['heads']}of{c['key_heads']}_{c['tokens']}x{c['width']}"
        return f"{kind}_{heads}{'_causal' if c['causal'] else ''}"
    if "groups" in c:
        shape = f"b{c['batch']}_{c['channels']}x{joined(c['extents'])}_to_{c['outputs']}"
        return f"{kind}_{shape}_k{c['kernel']}_s{c['stride']}"
    if "kernel" in c:
        return f"{kind}_{joined(c['shape'])}_k{c['kernel']}_s{c['stride']}"
    return f"{kind}_{joined(c['shape'] if 'shape' in c else c.values())}"


def drawn(draw, count):
    cases, names = [], set()
    for kind in COUNTS:
        left = count(kind)
        while left:
            case = RULES[kind](draw, kind)
            if case is None or name(kind, case) in names:
                continue
            names.add(name(kind, case))
            of = kind.replace("depthwise", "conv")
            cases.append({"name": name(kind, case), "kind": of, **case})
            left -= 1
    return cases


def main():
    small = drawn(Draw(24, SMALL), lambda kind: min(2, COUNTS[kind]))
    lists = {"full": drawn(Draw(23, 1 << 20), COUNTS.get), "small": small}
    lines = lambda cases: ",\n".join("  " + json.dumps(c) for c in cases)
    print("{\n" + ",\n".join(f' "{size}": [\n{lines(cases)}\n ]' for size, cases in lists.items()) + "\n}")


if __name__ == "__main__":
    main()
