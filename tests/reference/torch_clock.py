"""How PyTorch's times are taken: CUDA events around the work, CUDA graphs of it, and a line of JSON for each case (case,
us, min, max, from). In: work, a function without arguments. Never here: what is timed.

TF32 is off. Where there is no CUDA device work runs on the CPU under its wall clock, a few times, which shows that it
runs and nothing else.
"""
import datetime
import json
import time

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
HAS_CUDA = torch.cuda.is_available()
DEVICE = "cuda" if HAS_CUDA else "cpu"


def times(work, over=1, samples=15, warm=0.5):
    """Median, min and max in microseconds of one of `over` times; the work itself holds the clocks up first."""
    if not HAS_CUDA:
        return spread([wall(work) for _ in range(2)])
    begin = time.time()
    while time.time() - begin < warm:
        work()
        torch.cuda.synchronize()
    return spread([sample(work, over) for _ in range(samples)])


def sample(work, over):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(over):
        work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / over


def wall(work):
    begin = time.time()
    work()
    return (time.time() - begin) * 1e6


def spread(seen):
    seen = sorted(seen)
    return seen[len(seen) // 2], seen[0], seen[-1]


def graphed(work, over=1):
    """The work as a CUDA graph, so many times over."""
    if not HAS_CUDA:
        return work
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(over):
            work()
    return graph.replay


class Lines:
    """The file of lines."""

    def __init__(self, path):
        self.out = open(path, "w", encoding="utf-8")

    def write(self, case, measured, how, **more):
        """A case's median, min and max in microseconds, and whose they are."""
        median, low, high = measured
        device = torch.cuda.get_device_name() if HAS_CUDA else "CPU, no figure"
        today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        source = f"PyTorch {torch.__version__}, {how}, {device}, {today}"
        line = json.dumps({"case": case, "us": median, "min": low, "max": high, "from": source, **more})
        print(line, flush=True)
        self.out.write(line + "\n")
        self.out.flush()
