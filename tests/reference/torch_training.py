"""PyTorch's times for the G13 cases of `cargo xtask bench`: a training step, eager and in a CUDA graph; the faster counts.

usage: torch_training.py OUT.jsonl [TEXT [bf16]]      (TEXT: only cases whose name contains it, "" all)

Needs torch and a CUDA device; without one small sizes show that everything runs. TF32 is off, optimizers are the fused
ones; bf16: under autocast. Bytes are the most that PyTorch had allocated at once, of the way that counts: weights,
moments, gradients and what the forward pass keeps.
"""
import sys

import torch
from torch import nn
from torch_clock import DEVICE, HAS_CUDA, Lines, graphed, times

ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
BF16 = len(sys.argv) > 3 and sys.argv[3] == "bf16"
TINY = not HAS_CUDA
OUT = Lines(sys.argv[1])


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


class Layer(nn.Module):
    """As BERT: norms after the sums."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.dense = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.output_norm = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (part(x).view(b, s, self.heads, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        h = nn.functional.scaled_dot_product_attention(q, k, v)
        x = self.norm(x + self.dense(h.transpose(1, 2).reshape(b, s, d)))
        return self.output_norm(x + self.down(nn.functional.gelu(self.up(x))))


class MiniLm(nn.Module):
    """all-MiniLM-L6-v2 over the first and the second texts of pairs: 20 times the cosines of each with each. Texts are
    as long as the batch, so nothing is masked."""

    def __init__(self, layers=6, width=384, heads=12, vocab=30522, positions=512):
        super().__init__()
        self.words, self.positions, self.types = (nn.Embedding(n, width) for n in (vocab, positions, 2))
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]] + self.types.weight[0])
        for layer in self.layers:
            x = layer(x)
        first, second = nn.functional.normalize(x.float().mean(1), dim=-1).chunk(2)
        return 20 * first @ second.T


def case(name, model, x, target, over=1):
    if ONLY not in name:
        return
    model = model().to(DEVICE).train()
    if "resnet" in name:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True, capturable=HAS_CUDA)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=BF16):
            loss = nn.functional.cross_entropy(model(x).float(), target)
        loss.backward()
        optimizer.step()

    ways = {}
    for way, made in (("eager", lambda: step), ("CUDA graph", lambda: graphed(step))):
        if HAS_CUDA:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        us = times(made(), over)
        peak = torch.cuda.max_memory_allocated() if HAS_CUDA else 0
        print(f"{name} {way}: {us[0]:.1f} us, {peak / 1e6:.1f} MB", flush=True)
        ways[way] = us, peak
    way = min(ways, key=lambda way: ways[way][0])
    us, peak = ways[way]
    OUT.write(name, us, way + (", bf16" if BF16 else ""), bytes=peak)


def classes(*shape, among):
    return torch.randint(0, among, shape, device=DEVICE)


if TINY:
    case("G13.gpt", lambda: Gpt(2, 64, 4, 300, 32), classes(2, 32, among=300), classes(64, among=300))
    case("G13.minilm", lambda: MiniLm(2, 48, 4, 300, 32), classes(8, 16, among=300), torch.arange(4))
    case("G13.mlp", mlp, torch.randn(8, 784), classes(8, among=10), over=2)
else:
    case("G13.gpt_b4_s512", Gpt, classes(4, 512, among=50257), classes(2048, among=50257))
    pairs = torch.arange(32, device=DEVICE)
    case("G13.minilm_p32_s128", MiniLm, classes(64, 128, among=30522), pairs)
    images = torch.randn(32, 3, 224, 224, device=DEVICE)
    case("G13.resnet50_b32", ResNet, images, classes(32, among=1000))
    case("G13.mlp", mlp, torch.randn(128, 784, device=DEVICE), classes(128, among=10), over=32)
