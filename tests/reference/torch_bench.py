"""PyTorch's times for the S1, S2, F8 and D6 cases of `cargo xtask bench`, one JSON object per line: case, us, min, max, from.

usage: torch_bench.py OUT.jsonl [TEXT [FRESH.json]]      (TEXT: only cases whose name contains it, "" all; FRESH.json:
instead of the committed cases those that fresh_shapes.py drew)

Needs a CUDA device, torch, and for S2 transformers. TF32 is off. Times are CUDA events around the replay of a CUDA graph
of the work (short work several times over), the median of 15 after half a second of the work itself; random numbers.
"""
import json
import pathlib
import sys

import torch
from torch_clock import DEVICE, Lines, graphed, times

ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
OUT = Lines(sys.argv[1])


def write(case, measured, over, how):
    OUT.write(case, [t / over for t in measured], how)


def case(name, make, over=1, warm=0.5):
    """Times what `make` returns, `over` times over in one graph; where it returns several, the fastest."""
    if ONLY in name:
        works = make()
        works = works if isinstance(works, list) else [works]
        write(name, min(times(graphed(work, over), warm=warm) for work in works), over, "CUDA graph")
        torch.cuda.empty_cache()


def normal(*shape):
    return torch.randn(*shape, device=DEVICE)


def product(m, k, n, filled=False):
    def make():
        a, b = normal(m, k), normal(k, n) / k**0.5
        if not filled:
            return lambda: a @ b
        bias, residual = normal(n), normal(m, n)
        return lambda: torch.nn.functional.gelu(torch.addmm(bias, a, b)) + residual

    return make


def add():
    x, y, z = normal(1 << 28), normal(1 << 28), torch.empty(1 << 28, device=DEVICE)
    return lambda: torch.add(x, y, out=z)


def over_matrix(work):
    def make():
        x = normal(8192, 8192)
        return lambda: work(x)

    return make


def layer_norm():
    x, norm = normal(8192, 8192), torch.nn.LayerNorm(8192, device=DEVICE)
    return lambda: norm(x)


def chain():
    x, w = normal(1024), torch.rand(1024, device=DEVICE) * 0.1 + 0.9

    def work():
        c = x
        for i in range(2000):
            c = c + w if i % 2 == 0 else c * w
        return c

    return work


def joined(extents):
    return "x".join(str(n) for n in extents)


def data(file):
    with open(pathlib.Path(__file__).parent.parent / "data" / file, encoding="utf-8") as text:
        return json.load(text)


# Shapes instead of the committed ones, as fresh_shapes.py draws them.
FRESH = json.loads(pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")) if len(sys.argv) > 3 else None
SHAPES = FRESH or data("shapes.json")["full"]


def attend(batch, heads, key_heads, queries, keys, width):
    """Grouped heads in both ways that PyTorch has: its own option, and the heads of a group as queries."""

    def make():
        q = normal(batch, heads, queries, width)
        k, v = normal(batch, key_heads, keys, width), normal(batch, key_heads, keys, width)
        attention = torch.nn.functional.scaled_dot_product_attention
        if heads == key_heads:
            return lambda: attention(q, k, v)
        rows = q.view(batch, key_heads, heads // key_heads * queries, width)
        return [lambda: attention(q, k, v, enable_gqa=True), lambda: attention(rows, k, v)]

    return make


def shapes():
    for shape in SHAPES.get("softmax", []):
        name = f"rows_{joined(shape[:2])}" if shape[2] == 1 else f"inner_{joined(shape)}"
        shape_case(f"softmax_{name}", shape, lambda x: torch.softmax(x, 1))
    for shape, axes in SHAPES.get("sums", []):
        over = "_".join(str(a) for a in axes)
        shape_case(f"sum_{joined(shape)}_over_{over}", shape, lambda x, axes=axes: torch.sum(x, axes))
    for shape, perm in SHAPES.get("transposed", []):
        name = f"F8.add_{joined(shape)}_as_{''.join(str(a) for a in perm)}"

        def transposed(shape=shape, perm=perm):
            x = normal(*shape)
            y = normal(*(shape[a] for a in perm))
            z = torch.empty_like(y)
            return lambda: torch.add(x.permute(perm), y, out=z)

        case(name, transposed, over=4, warm=0.3)
    for n in SHAPES.get("odd", []):

        def odd(n=n):
            x, y, z = normal(n), normal(n), torch.empty(n - 1, device=DEVICE)
            return lambda: torch.add(x[1:], y[:-1], out=z)

        case(f"F8.odd_offset_{n}", odd, over=4, warm=0.3)
    for shape in SHAPES.get("attention", []):
        batch, heads, key_heads, queries, keys, width = shape
        name = f"F8.attention_{batch}x{heads}of{key_heads}_{queries}x{keys}x{width}"
        case(name, attend(*shape), over=4, warm=0.3)
    for along_k in (False, True):
        for m, k, n in SHAPES.get("products", []):

            def multiply(m=m, k=k, n=n, along_k=along_k):
                a, b = normal(m, k), normal(n, k).t() if along_k else normal(k, n)
                return lambda: a @ b

            what = "long_k" if k >= 16384 else "skinny"
            case(f"F8.{what}_{m}x{k}x{n}{'_t' if along_k else ''}", multiply, over=4, warm=0.3)

    ordered()
    images()
    signals()


def ordered():
    """Kinds that only fresh lists have."""
    for shape in SHAPES.get("sorts", []):
        shape_case(f"sort_{joined(shape)}", shape, lambda x: torch.sort(x, 1))
    for rows, n, k in SHAPES.get("largest", []):
        shape_case(f"top_{k}_of_{rows}x{n}", [rows, n], lambda x, k=k: torch.topk(x, k, 1))
    for shape in SHAPES.get("cumulated", []):
        shape_case(f"cumulated_{joined(shape)}", shape, lambda x: torch.cumsum(x, 1))
    for rows, width, updates in SHAPES.get("added", []):

        def add(rows=rows, width=width, updates=updates):
            x, index = normal(updates, width), torch.randint(rows, (updates,), device=DEVICE)
            return lambda: torch.zeros(rows, width, device=DEVICE).index_add_(0, index, x)

        case(f"F8.added_{updates}_rows_of_{width}_to_{rows}", add, over=4, warm=0.3)


def images():
    """Resized, mirrored and normalised ones, elements by index."""
    functional = torch.nn.functional
    for c in SHAPES.get("resized", []):
        mode, to = c["mode"], c["to"]
        how = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}[mode]
        more = {} if mode == "nearest" else {"align_corners": False}

        def work(x, to=to, how=how, more=more):
            return functional.interpolate(x, size=to, mode=how, **more)

        shape_case(f"resized_{mode}_{joined(c['shape'])}_to_{joined(to)}", c["shape"], work)
    for *shape, border in SHAPES.get("mirrored", []):

        def mirror(x, border=border):
            return functional.pad(x, (border,) * 4, mode="reflect")

        shape_case(f"mirrored_{joined(shape)}_by_{border}", shape, mirror)
    for c in SHAPES.get("normed", []):
        shape, groups = c["shape"], c["groups"]
        gamma, beta = (normal(shape[1] if groups else shape[-1]) for _ in range(2))
        if groups:
            work = lambda x, g=groups, a=gamma, b=beta: functional.group_norm(x, g, a, b)
            shape_case(f"group_norm_{joined(shape)}_by_{groups}", shape, work)
        else:
            work = lambda x, n=shape[-1], a=gamma, b=beta: functional.layer_norm(x, (n,), a, b)
            shape_case(f"layer_norm_{joined(shape)}", shape, work)
    for rows, n, k in SHAPES.get("gathered", []):

        def gather(rows=rows, n=n, k=k):
            x, index = normal(rows, n), torch.randint(n, (rows, k), device=DEVICE)
            return lambda: torch.gather(x, 1, index)

        case(f"F8.gathered_{k}_of_{rows}x{n}", gather, over=4, warm=0.3)


def signals():
    """Spectra, recurrent networks (cuDNN), random numbers."""
    for rows, n in SHAPES.get("spectra", []):

        def transform(rows=rows, n=n):
            x = torch.view_as_complex(normal(rows, n, 2))
            return lambda: torch.fft.fft(x)

        case(f"F8.fft_{rows}x{n}", transform, over=4, warm=0.3)
    for batch, samples, length, step in SHAPES.get("frames", []):

        def frames(batch=batch, samples=samples, length=length, step=step):
            x, window = normal(batch, samples), normal(length)
            return lambda: torch.stft(x, length, step, window=window, center=False, return_complex=True)

        case(f"F8.stft_{joined((batch, samples, length, step))}", frames, over=4, warm=0.3)
    for c in SHAPES.get("networks", []):
        steps, batch, width, hidden = c["extents"]

        def network(lstm=c["lstm"], steps=steps, batch=batch, width=width, hidden=hidden):
            layer = (torch.nn.LSTM if lstm else torch.nn.GRU)(width, hidden, bias=False, device=DEVICE)
            x = normal(steps, batch, width)
            return lambda: layer(x)

        case(f"F8.{'lstm' if c['lstm'] else 'gru'}_{joined(c['extents'])}", network, warm=0.3)
    for c in SHAPES.get("numbers", []):

        def numbers(n=c["n"], normally=c["normal"]):
            draw = torch.randn if normally else torch.rand
            return lambda: draw(n, device=DEVICE)

        case(f"F8.random_{'normal' if c['normal'] else 'uniform'}_{c['n']}", numbers, over=4, warm=0.3)


def shape_case(name, shape, work):
    def make():
        x = normal(*shape)
        return lambda: work(x)

    case(f"F8.{name}", make, over=4, warm=0.3)


def convolutions():
    """The D6 cases, and pools beside them."""
    drawn = FRESH.get("convolutions", []) if FRESH else data("convolutions.json")
    kinds = {
        False: [torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d],
        True: [torch.nn.functional.conv_transpose1d, torch.nn.functional.conv_transpose2d, torch.nn.functional.conv_transpose3d],
    }
    for c in drawn:

        def convolve(c=c):
            x = normal(c["batch"], c["channels"], *c["extents"])
            first, second = (c["channels"], c["outputs"]) if c["transposed"] else (c["outputs"], c["channels"])
            w = normal(first, second // c["groups"], *c["kernel"])
            work = kinds[c["transposed"]][len(c["extents"]) - 1]
            given = {"stride": c["strides"], "padding": c["pads"], "dilation": c["dilations"], "groups": c["groups"]}
            return lambda: work(x, w, **given)

        case(f"D6.{c['name']}", convolve, over=4, warm=0.2)
    if FRESH:
        return
    for name, pool, args in (("max_3x3_s2", torch.nn.functional.max_pool2d, (3, 2)), ("average_2x2", torch.nn.functional.avg_pool2d, (2, 2))):

        def pooled(pool=pool, args=args):
            x = normal(16, 64, 112, 112)
            return lambda: pool(x, *args)

        case(f"D6.{name}_16x64x112x112", pooled, over=4, warm=0.2)


def resnet(batch):
    """ResNet-50 with random weights, as torchvision builds it."""
    if ONLY not in f"D6.resnet50_b{batch}":
        return
    import torchvision

    model = torchvision.models.resnet50().eval().to(DEVICE)
    x = normal(batch, 3, 224, 224)
    case(f"D6.resnet50_b{batch}", lambda: lambda: model(x))


def minilm(batch):
    """Batch 1 as a CUDA graph; batch 32 as a graph or eager, whichever is faster."""
    name = f"S2.minilm_b{batch}_s128"
    if ONLY not in name:
        return
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    model = BertModel(config).eval().to(DEVICE)
    ids = torch.randint(1000, 30000, (batch, 128), device=DEVICE)
    found = []
    try:
        found.append((times(graphed(lambda: model(ids))), "CUDA graph"))
    except RuntimeError as error:
        print(f"{name}: no CUDA graph: {str(error)[:100]}", file=sys.stderr)
    found.append((times(lambda: model(ids)), "eager"))
    measured, how = min(found)
    write(name, measured, 1, how)


def committed():
    case("S1.gemm_4096", product(4096, 4096, 4096))
    case("S1.gemm_4095x4097x4093", product(4095, 4097, 4093))
    case("S1.gemm_1024", product(1024, 1024, 1024), over=8)
    case("S1.gemm_4096_epilogue", product(4096, 4096, 4096, filled=True))
    case("S1.add_256Mi", add)
    case("S1.softmax_8192", over_matrix(lambda x: torch.softmax(x, -1)), over=4)
    case("S1.layer_norm_8192", layer_norm, over=4)
    case("S1.column_sum_8192", over_matrix(lambda x: torch.sum(x, 0)), over=4)
    case("S1.gelu_chain_8192", over_matrix(lambda x: torch.nn.functional.gelu(x * 2 + 1) * x), over=4)
    for fusion in ("fused", "unfused"):
        case(f"S1.chain_2000_{fusion}", chain)
    shapes()
    convolutions()
    for size in (1, 32):
        resnet(size)
    for size in (1, 32):
        minilm(size)
    case("S1.gemm_4096.again", product(4096, 4096, 4096))


with torch.inference_mode():
    if FRESH:
        shapes()
        convolutions()
    else:
        committed()
