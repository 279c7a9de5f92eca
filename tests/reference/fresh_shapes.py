"""Shapes that nobody tuned for, drawn by a seed: for `bench --fresh FILE` and `torch_bench.py OUT "" FILE`.

usage: fresh_shapes.py SEED [forward] > FILE       (forward: 80 shapes of sorts, sums, movement, norms, images, spectra,
recurrent networks and random numbers, instead of convolutions, soft-max, attention and products)

Extents are drawn evenly by their logarithm, so that small, odd and large ones meet; what would take more than 2 GiB of
operands or some 50 ms of arithmetic is drawn again.
"""
import json
import math
import random
import sys

BYTES, OPERATIONS = 1 << 31, 1 << 40


def extent(draw, low, high):
    """Mostly any number; one in three a multiple of 32, as models have them."""
    n = int(round(math.exp(draw.uniform(math.log(low), math.log(high)))))
    return max(low, n // 32 * 32) if n >= 64 and draw.random() < 0.33 else n


def fits(operands, operations=0):
    return 4 * sum(math.prod(shape) for shape in operands) <= BYTES and operations <= OPERATIONS


def convolution(draw):
    axes = draw.choice([1, 2, 2, 2, 3])
    most = {1: 20000, 2: 256, 3: 48}[axes]
    transposed = draw.random() < 0.2
    kernel = [draw.choice([1, 2, 3, 3, 3, 4, 5, 7]) for _ in range(axes)]
    strides = [draw.choice([1, 1, 2, 3])] * axes
    dilations = [1 if transposed else draw.choice([1, 1, 1, 2, 3])] * axes
    groups = draw.choice([1, 1, 1, 2, 4, 0])
    channels, outputs = extent(draw, 1, 1024), extent(draw, 1, 1024)
    if groups == 0:
        groups = outputs = channels
    channels, outputs = max(groups, channels // groups * groups), max(groups, outputs // groups * groups)
    pads = [(k - 1) // 2 for k in kernel]
    extents = [extent(draw, k * d + 1, most) for k, d in zip(kernel, dilations)]
    batch = draw.choice([1, 2, 8, 16])
    name = f"{'transposed' if transposed else 'conv'}_b{batch}_{channels}x{'x'.join(map(str, extents))}_to_{outputs}"
    name += f"_k{'x'.join(map(str, kernel))}_s{strides[0]}_d{dilations[0]}_g{groups}"
    up = math.prod(strides) if transposed else 1 / math.prod(strides)
    positions = math.prod(extents) * up
    operations = 2 * batch * positions * math.prod(kernel) * channels * outputs / groups
    shapes = [[batch, channels, *extents], [outputs, channels // groups, *kernel], [batch, outputs, int(positions) + 1]]
    case = {"name": name, "batch": batch, "channels": channels, "outputs": outputs, "extents": extents, "kernel": kernel,
            "strides": strides, "pads": pads, "dilations": dilations, "groups": groups, "transposed": transposed}
    return case if fits(shapes, operations) else None


def softmax(draw):
    shape = [extent(draw, 1, 4096), extent(draw, 2, 100000), extent(draw, 1, 64) if draw.random() < 0.4 else 1]
    return shape if fits([shape, shape]) else None


def some(draw):
    rank = draw.choice([2, 3, 4])
    return [extent(draw, 2, {2: 16384, 3: 2048, 4: 256}[rank]) for _ in range(rank)]


def total(draw):
    shape = some(draw)
    axes = sorted(draw.sample(range(len(shape)), draw.randint(1, len(shape) - 1)))
    return [shape, axes] if fits([shape]) else None


def transposed(draw):
    shape = some(draw)
    perm = list(range(len(shape)))
    draw.shuffle(perm)
    return [shape, perm] if fits([shape] * 3) else None


def attention(draw):
    key_heads = draw.choice([1, 2, 4, 8, 12])
    heads = key_heads * draw.choice([1, 1, 2, 4])
    keys = extent(draw, 16, 8192)
    queries = draw.choice([1, keys, extent(draw, 2, 512)])
    batch, width = draw.choice([1, 2, 8]), draw.choice([32, 64, 80, 96, 128])
    shapes = [[batch, heads, queries, width], [batch, key_heads, keys, 2 * width], [batch, heads, queries, keys // 64 + 1]]
    return [batch, heads, key_heads, queries, keys, width] if fits(shapes, 4 * batch * heads * queries * keys * width) else None


def product(draw):
    m, k, n = extent(draw, 1, 4096), extent(draw, 8, 32768), extent(draw, 1, 8192)
    return [m, k, n] if fits([[m, k], [k, n], [m, n]], 2 * m * k * n) else None


def lines(draw):
    """Lines along an axis: rows mostly, columns of a matrix else."""
    shape = [extent(draw, 1, 4096), extent(draw, 2, 1 << 20), extent(draw, 2, 256) if draw.random() < 0.3 else 1]
    return shape if fits([shape] * 16) else None


def largest(draw):
    shape = [extent(draw, 1, 1024), extent(draw, 16, 1 << 18)]
    return [*shape, min(shape[1], draw.choice([1, 5, 40, 64, 200, 1000]))] if fits([shape] * 16) else None


def added(draw):
    rows, width, updates = extent(draw, 1, 1 << 17), extent(draw, 1, 1024), extent(draw, 16, 1 << 17)
    return [rows, width, updates] if fits([[rows, width], [updates, width]] * 4) else None


def resized(draw):
    shape = [draw.choice([1, 2, 8]), extent(draw, 1, 256), extent(draw, 4, 512), extent(draw, 4, 512)]
    to = [extent(draw, 4, 1024), extent(draw, 4, 1024)]
    case = {"shape": shape, "to": to, "mode": draw.choice(["nearest", "linear", "cubic"])}
    return case if fits([shape, shape[:2] + to] * 8) else None


def spectrum(draw):
    """Powers of two, products of small primes, any number."""
    n = draw.choice([1 << draw.randint(6, 20), 2 ** draw.randint(2, 6) * 3 ** draw.randint(0, 4) * 5 ** draw.randint(0, 3),
                     extent(draw, 16, 1 << 16)])
    shape = [extent(draw, 1, 4096), n]
    return shape if fits([shape] * 32) and math.prod(shape) * n.bit_length() < 1 << 32 else None


def frames(draw):
    length = draw.choice([256, 400, 512, 1024, extent(draw, 64, 2048)])
    shape = [draw.choice([1, 4, 16]), extent(draw, 4000, 480000), length, draw.choice([length // 4, length // 2, 160])]
    return shape if fits([[shape[0], shape[1], 2 * length // shape[3] + 1]] * 8) else None


def network(draw):
    extents = [extent(draw, 8, 512), draw.choice([1, 4, 16, 64]), extent(draw, 16, 512), extent(draw, 16, 1024)]
    case = {"lstm": draw.random() < 0.5, "extents": extents}
    return case if 8 * math.prod(extents[:2]) * extents[3] * sum(extents[2:]) < 1 << 38 else None


def normed(draw):
    if draw.random() < 0.5:
        shape = [extent(draw, 1, 16384), extent(draw, 8, 16384)]
        return {"shape": shape, "groups": 0} if fits([shape] * 4) else None
    groups = draw.choice([1, 4, 8, 32])
    shape = [draw.choice([1, 2, 8]), groups * extent(draw, 1, 32), extent(draw, 4, 256), extent(draw, 4, 256)]
    return {"shape": shape, "groups": groups} if fits([shape] * 4) else None


def gathered(draw):
    rows, n, k = extent(draw, 1, 8192), extent(draw, 2, 1 << 16), extent(draw, 1, 4096)
    return [rows, n, k] if fits([[rows, n], [rows, k]] * 4) else None


def mirrored(draw):
    shape = [extent(draw, 1, 512), extent(draw, 16, 512), extent(draw, 16, 512), draw.randint(1, 8)]
    return shape if fits([shape[:3]] * 4) else None


def numbers(draw):
    return {"n": extent(draw, 1000, 1 << 26), "normal": draw.random() < 0.5}


def drawn(draw, make, count):
    cases = []
    while len(cases) < count:
        case = make(draw)
        if case is not None and case not in cases:
            cases.append(case)
    return cases


KINDS = {"convolutions": (convolution, 40), "softmax": (softmax, 12), "sums": (total, 12), "transposed": (transposed, 10),
         "attention": (attention, 12), "products": (product, 16), "sorts": (lines, 10), "largest": (largest, 10),
         "cumulated": (lines, 10), "added": (added, 10)}
FORWARD = {"sorts": (lines, 7), "largest": (largest, 7), "cumulated": (lines, 7), "added": (added, 6), "gathered": (gathered, 6),
           "transposed": (transposed, 5), "mirrored": (mirrored, 4), "sums": (total, 6), "normed": (normed, 6),
           "resized": (resized, 8), "spectra": (spectrum, 6), "frames": (frames, 4), "networks": (network, 5), "numbers": (numbers, 3)}


def main():
    draw = random.Random(int(sys.argv[1]))
    kinds = FORWARD if sys.argv[2:] == ["forward"] else KINDS
    cases = {kind: drawn(draw, make, count) for kind, (make, count) in kinds.items()}
    json.dump(cases | {"odd": []}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
