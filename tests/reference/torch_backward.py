"""PyTorch's times for the G15 cases of `cargo xtask bench`: the backward pass alone, of a cross-entropy both passes.

usage: torch_backward.py OUT.jsonl [TEXT]      (TEXT: only cases whose name contains it, "" all)

Needs torch and a CUDA device; without one the small list shows that everything runs. The forward pass is a CUDA graph
of its own that runs once before, so that what it keeps is there; the backward pass (autograd.grad) is a graph that is
replayed, or runs eagerly: the faster counts. The list is tests/data/backward_shapes.json, by backward_shapes.py.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch_clock import DEVICE, HAS_CUDA, Lines, graphed, times

ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
OUT = Lines(sys.argv[1])
OVER = 4
FILE = pathlib.Path(__file__).parent.parent / "data" / "backward_shapes.json"
DRAWN = json.loads(FILE.read_text(encoding="utf-8"))["full" if HAS_CUDA else "small"]


def wanted(*shape):
    return torch.randn(*shape, device=DEVICE, requires_grad=True)


def given(*shape):
    return torch.randn(*shape, device=DEVICE)


def classes(count, among):
    return torch.randint(among, (count,), device=DEVICE)


def product(c):
    make_a, make_b = (wanted, given) if c["kind"] == "nt" else (given, wanted)
    a, b = make_a(c["m"], c["k"]), make_b(c["k"], c["n"])
    return [(lambda: a @ b, [a if c["kind"] == "nt" else b])]


def attention(c):
    """Grouped heads in both ways that PyTorch has: its own option, and keys repeated for each head."""
    batch, heads, key_heads, tokens, width = (c[k] for k in ("batch", "heads", "key_heads", "tokens", "width"))
    q, k, v = wanted(batch, heads, tokens, width), *(wanted(batch, key_heads, tokens, width) for _ in range(2))
    attend, causal = F.scaled_dot_product_attention, c["causal"]
    if heads == key_heads:
        return [(lambda: attend(q, k, v, is_causal=causal), [q, k, v])]
    repeated = lambda x: x.repeat_interleave(heads // key_heads, 1)
    ways = [lambda: attend(q, k, v, is_causal=causal, enable_gqa=True),
            lambda: attend(q, repeated(k), repeated(v), is_causal=causal)]
    return [(way, [q, k, v]) for way in ways]


def rows(c):
    x, scale, shift = wanted(c["rows"], c["width"]), wanted(c["width"]), wanted(c["width"])
    if c["kind"] == "layer_norm":
        return [(lambda: F.layer_norm(x, (c["width"],), scale, shift), [x, scale, shift])]
    return [(lambda: F.rms_norm(x, (c["width"],), scale, 1e-5), [x, scale])]


def batch_norm(c):
    x, (scale, shift) = wanted(*c["shape"]), (wanted(c["shape"][1]) for _ in range(2))
    mean, variance = (torch.ones(c["shape"][1], device=DEVICE) for _ in range(2))
    return [(lambda: F.batch_norm(x, mean, variance, scale, shift, training=True), [x, scale, shift])]


def cross_entropy(c):
    x, target = wanted(c["rows"], c["classes"]), classes(c["rows"], c["classes"])
    return [(lambda: F.cross_entropy(x, target), [x])]


def embedding(c):
    table, ids = wanted(c["rows"], c["width"]), classes(c["tokens"], c["rows"])
    return [(lambda: F.embedding(ids, table), [table])]


def convolution(c):
    make_x, make_w = (wanted, given) if c["kind"] == "conv_input" else (given, wanted)
    x = make_x(c["batch"], c["channels"], *c["extents"])
    w = make_w(c["outputs"], c["channels"] // c["groups"], c["kernel"], c["kernel"])
    forward = lambda: F.conv2d(x, w, stride=c["stride"], padding=c["pad"], groups=c["groups"])
    return [(forward, [x if c["kind"] == "conv_input" else w])]


def pool(c):
    x, work = wanted(*c["shape"]), F.max_pool2d if c["kind"] == "max_pool" else F.avg_pool2d
    return [(lambda: work(x, c["kernel"], c["stride"]), [x])]


KINDS = {"nt": product, "tn": product, "attention": attention, "layer_norm": rows, "rms_norm": rows,
         "batch_norm": batch_norm, "cross_entropy": cross_entropy, "embedding": embedding, "conv_input": convolution,
         "conv_weight": convolution, "max_pool": pool, "average_pool": pool}


def whole(forward, operands):
    """Both passes."""
    return lambda: torch.autograd.grad(forward(), operands)


def alone(forward, operands):
    """The backward pass of a forward pass that ran."""
    y = forward()
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, operands, dy, retain_graph=True)


def alone_graphed(forward, operands):
    """The same, captured on the stream on which the forward pass was: autograd runs it there."""
    whole_once = lambda: torch.autograd.grad((y := forward()), operands, torch.ones_like(y))
    graphed(whole_once)()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        y = forward()
    first.replay()
    dy = torch.randn_like(y)
    torch.cuda.synchronize()
    with torch.cuda.graph(second, pool=first.pool()):
        for _ in range(OVER):
            torch.autograd.grad(y, operands, dy, retain_graph=True)

    def replay(kept=(first, y, dy)):
        second.replay()

    return replay


def measured(forward, operands, both):
    """Times (median, min and max) and ways, one after the other: what cannot be captured still has its eager times."""
    eager = whole if both else alone
    yield times(eager(forward, operands), OVER, warm=0.3), "eager"
    if HAS_CUDA:
        replay = graphed(whole(forward, operands), OVER) if both else alone_graphed(forward, operands)
        yield [us / OVER for us in times(replay, warm=0.3)], "CUDA graph"


def case(c):
    name = f"G15.{c['name']}"
    if ONLY not in name:
        return
    seen = []
    for forward, operands in KINDS[c["kind"]](c):
        try:
            for way in measured(forward, operands, c["kind"] == "cross_entropy"):
                seen.append(way)
        except RuntimeError as error:
            print(f"{name}: {str(error)[:200]}", file=sys.stderr)
    if seen:
        us, how = min((list(us), how) for us, how in seen)
        OUT.write(name, us, how)
    if HAS_CUDA:
        torch.cuda.empty_cache()


for drawn in DRAWN:
    case(drawn)
