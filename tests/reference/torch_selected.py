"""PyTorch's times for the C5 cases of `cargo xtask bench`: results of as many rows as are found, by the host's clock.

usage: torch_selected.py OUT.jsonl

Needs torch and a CUDA device, for boxes torchvision too; without a device small sizes show that everything runs.
"""
import sys
import time

import torch
from torch_clock import DEVICE, HAS_CUDA, Lines, spread

OUT = Lines(sys.argv[1])
MANY, BOXES = (1 << 20, 4096) if HAS_CUDA else (300, 40)


def host(work):
    """Wall time of the work and of the wait for it."""
    seen = []
    begin = time.time()
    while time.time() - begin < 0.5 or len(seen) < 55:
        start = time.perf_counter()
        work()
        if HAS_CUDA:
            torch.cuda.synchronize()
        seen.append((time.perf_counter() - start) * 1e6)
    return spread(seen[-55:])


def uniform(*shape, low=-1.0):
    return low + (1 - low) * torch.rand(*shape, device=DEVICE)


def boxes(n):
    corner, side = uniform(n, 2, low=0.0), uniform(n, 2, low=0.0)
    return torch.cat([corner, corner + 0.1 * side], 1)


x, mask = uniform(MANY, 64), uniform(MANY)
OUT.write(f"C5.compress_{MANY}x64", host(lambda: x[mask > 0].sum()), "host")
sparse = uniform(MANY)
sparse = torch.where(sparse > 0.5, sparse, 0)
OUT.write(f"C5.non_zero_{MANY}", host(lambda: sparse.nonzero().float().sum()), "host")
values = (1000 * uniform(MANY, low=0.0)).floor()
OUT.write(f"C5.unique_{MANY}", host(lambda: values.unique().sum()), "host")
try:
    from torchvision.ops import nms
except ImportError:
    print("no torchvision: no time of boxes", file=sys.stderr)
else:
    corners, scores = boxes(BOXES), uniform(BOXES, low=0.0)
    OUT.write(f"C5.suppressed_{BOXES}", host(lambda: nms(corners, scores, 0.5).float().sum()), "host")
