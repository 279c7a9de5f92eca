"""PyTorch's times for the G13 cases of `cargo xtask bench`: a training step, eager and in a CUDA graph; the faster counts.

usage: torch_training.py OUT.jsonl [TEXT [bf16]]      (TEXT: only cases whose name contains it, "" all)

Needs a CUDA device and torch. TF32 is off, AdamW is the fused one; bf16: under autocast. Lines and times as torch_bench.py.
"""
import datetime
import json
import sys
import time

import torch
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
DEVICE = "cuda"
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
BF16 = len(sys.argv) > 3 and sys.argv[3] == "bf16"
OUT = open(sys.argv[1], "w", encoding="utf-8")


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2) for t in self.attn(self.ln_1(x)).split(d, -1))
        h = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(h.transpose(1, 2).reshape(b, s, d))
        return x + self.out(nn.functional.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """As GPT-2: the head is the embedding."""

    def __init__(self, layers=12, width=768, heads=12, vocab=50257, tokens=512):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(tokens, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe.weight
        for block in self.h:
            x = block(x)
        return (self.ln_f(x) @ self.wte.weight.T).flatten(0, 1)


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


class Residual(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        def conv(from_, to, kernel, stride):
            return [nn.Conv2d(from_, to, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(to)]
        self.body = nn.Sequential(
            *conv(channels, width, 1, 1), nn.ReLU(), *conv(width, width, 3, stride), nn.ReLU(), *conv(width, 4 * width, 1, 1)
        )
        plain = channels == 4 * width and stride == 1
        self.shortcut = nn.Identity() if plain else nn.Sequential(*conv(channels, 4 * width, 1, stride))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        channels = 64
        for stage, blocks in enumerate([3, 4, 6, 3]):
            for block in range(blocks):
                layers.append(Residual(channels, 64 << stage, 2 if stage and not block else 1))
                channels = 256 << stage
        self.body, self.fc = nn.Sequential(*layers), nn.Linear(2048, 1000)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


def times(work, over, samples=15, warm=0.5):
    begin = time.time()
    while time.time() - begin < warm:
        work()
        torch.cuda.synchronize()
    seen = []
    for _ in range(samples):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(over):
            work()
        end.record()
        end.synchronize()
        seen.append(start.elapsed_time(end) * 1e3 / over)
    seen.sort()
    return seen[len(seen) // 2], seen[0], seen[-1]


def graphed(work):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def case(name, model, x, target, over=1):
    if ONLY not in name:
        return
    model = model().to(DEVICE).train()
    if "resnet" in name:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True, capturable=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=BF16):
            loss = nn.functional.cross_entropy(model(x).float(), target)
        loss.backward()
        optimizer.step()

    ways = {"eager": times(step, over), "CUDA graph": times(graphed(step), over)}
    peak = torch.cuda.max_memory_allocated()
    for way, (us, low, high) in ways.items():
        print(f"{name} {way}: {us:.1f} us", flush=True)
    way = min(ways, key=lambda way: ways[way][0])
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    source = f"PyTorch {torch.__version__}, {way}{', bf16' if BF16 else ''}, {torch.cuda.get_device_name()}, {today}"
    us, low, high = ways[way]
    line = {"case": name, "us": us, "min": low, "max": high, "from": source, "bytes": peak}
    OUT.write(json.dumps(line) + "\n")
    OUT.flush()


ids = torch.randint(0, 50257, (4, 512), device=DEVICE)
case("G13.gpt_b4_s512", Gpt, ids, torch.randint(0, 50257, (2048,), device=DEVICE))
images, classes = torch.randn(32, 3, 224, 224, device=DEVICE), torch.randint(0, 1000, (32,), device=DEVICE)
case("G13.resnet50_b32", ResNet, images, classes)
case("G13.mlp", mlp, torch.randn(128, 784, device=DEVICE), torch.randint(0, 10, (128,), device=DEVICE), over=32)
