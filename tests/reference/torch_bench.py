"""PyTorch's times for the S1 and S2 cases of `cargo xtask bench`, one JSON object per line: case, us, min, max, from.

usage: torch_bench.py OUT.jsonl [TEXT]      (TEXT: only cases whose name contains it)

Needs a CUDA device, torch, and for S2 transformers. TF32 is off. Times are CUDA events around the replay of a CUDA graph
of the work (short work several times over), the median of 15 after half a second of the work itself; random numbers.
"""
import datetime
import json
import sys
import time

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
DEVICE = "cuda"
TODAY = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
OUT = open(sys.argv[1], "w", encoding="utf-8")


def times(work, samples=15):
    """Median, min and max in microseconds; the work itself holds the clocks up first."""
    begin = time.time()
    while time.time() - begin < 0.5:
        work()
        torch.cuda.synchronize()
    seen = []
    for _ in range(samples):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        seen.append(start.elapsed_time(end) * 1e3)
    seen.sort()
    return seen[len(seen) // 2], seen[0], seen[-1]


def graphed(work, times_over=1):
    """The work as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times_over):
            work()
    return graph.replay


def write(case, measured, over, how):
    median, low, high = (t / over for t in measured)
    source = f"PyTorch {torch.__version__}, {how}, {torch.cuda.get_device_name()}, {TODAY}"
    line = json.dumps({"case": case, "us": median, "min": low, "max": high, "from": source})
    print(line, flush=True)
    OUT.write(line + "\n")
    OUT.flush()


def case(name, make, over=1):
    """Times what `make` returns, `over` times over in one graph."""
    if ONLY in name:
        write(name, times(graphed(make(), over)), over, "CUDA graph")
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


with torch.inference_mode():
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
    for size in (1, 32):
        minilm(size)
    case("S1.gemm_4096.again", product(4096, 4096, 4096))
