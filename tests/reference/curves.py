"""Curves of training: a perceptron and a CNN with batch norm on scikit-learn's digits, a GPT of characters on
tests/data/text/shakespeare.txt, 200 steps each; a MiniLM on pairs that are made here, 60 steps; in PyTorch.

python curves.py ../data [NAME ..]      (torch 2.15, scikit-learn 1.9, numpy; NAME: mlp, cnn, gpt, minilm, else all)

Writes into curves/: digits.bin, and for each model a .json (its tensors, losses in f64, how far four curves in f32
lie from them, how far f32's gradients lie from f64's) and a .bin (gradients before the first step: f64's as f32; of
tensors of more elements than are kept every k-th element, k by `every`). Gradients that are 0 by algebra (`zero`) are
in neither.

First values and batches are words of Philox4x32-10 with the seed SEED (pumice_types::philox): tensor number i is
middle + reach * (2 u - 1) with u the uniform numbers of stream i, step 0; the batch of step t takes the words of
stream 1000, step t, modulo the number of places. Four curves in f32: two orders of the batch, oneDNN and plain
kernels of one thread: what is summed in other orders.
"""

import json
import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits

SEED, ROWS = 23, 1024
BATCH = 1000
OUT = pathlib.Path(sys.argv[1]) / "curves"


def words(stream, step, count):
    """The first words of a stream at a step."""
    n = (count + 3) // 4
    low = np.arange(n, dtype=np.uint64)
    a, b = low & 0xFFFFFFFF, low >> 32
    c, d = np.full(n, stream, np.uint64), np.full(n, step, np.uint64)
    k0, k1 = SEED, 0
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (q >> 32) ^ b ^ k0, q & 0xFFFFFFFF, (p >> 32) ^ d ^ k1, p & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([a, b, c, d], 1).reshape(-1)[:count]


def first_values(tensors):
    made = {}
    for i, (name, shape, middle, reach) in enumerate(tensors):
        u = (words(i, 0, math.prod(shape)) >> np.uint64(8)).astype(np.float64) / 2**24
        made[name] = (middle + reach * (2 * u - 1)).astype(np.float32).reshape(shape)
    return made


def linear(name, out, of, bias=True):
    reach = 1 / math.sqrt(of)
    weight = [(f"{name}.weight", [out, of], 0.0, reach)]
    return weight + ([(f"{name}.bias", [out], 0.0, reach)] if bias else [])


def norm(name, width):
    return [(f"{name}.weight", [width], 1.0, 0.1), (f"{name}.bias", [width], 0.0, 0.1)]


class Model:
    """What a model may say otherwise: how long it is trained, how much of a gradient is kept, which are exactly 0."""

    steps, kept, zero = 200, 4096, ()


class Digits(Model):
    def __init__(self):
        digits = load_digits()
        self.images, self.classes = digits.data[:ROWS].astype(np.uint8), digits.target[:ROWS].astype(np.uint8)

    def batch(self, step, rows):
        at = words(BATCH, step, rows) % ROWS
        x = torch.tensor(self.images[at].astype(np.float32) / 16)
        return x, torch.tensor(self.classes[at].astype(np.int64))


class Mlp(Digits):
    name, rows = "mlp", 64
    tensors = linear("fc1", 128, 64) + linear("fc2", 10, 128)

    def loss(self, p, batch):
        x, y = batch
        h = F.relu(F.linear(x, p["fc1.weight"], p["fc1.bias"]))
        return F.cross_entropy(F.linear(h, p["fc2.weight"], p["fc2.bias"]), y)

    def optimizer(self, params):
        return torch.optim.AdamW(params, lr=1e-3, weight_decay=0.01), lambda n: 1e-3, None


class Cnn(Digits):
    name, rows = "cnn", 32
    tensors = (
        [("conv1.weight", [8, 1, 3, 3], 0.0, 1 / 3)]
        + norm("norm1", 8)
        + [("conv2.weight", [16, 8, 3, 3], 0.0, 1 / math.sqrt(72))]
        + norm("norm2", 16)
        + linear("fc", 10, 256)
    )

    def loss(self, p, batch):
        x, y = batch
        x = x.reshape(-1, 1, 8, 8)
        for i in (1, 2):
            x = F.conv2d(x, p[f"conv{i}.weight"], padding=1)
            x = F.relu(F.batch_norm(x, None, None, p[f"norm{i}.weight"], p[f"norm{i}.bias"], training=True))
        x = F.max_pool2d(x, 2).flatten(1)
        return F.cross_entropy(F.linear(x, p["fc.weight"], p["fc.bias"]), y)

    def optimizer(self, params):
        return torch.optim.SGD(params, lr=0.02, momentum=0.9), lambda n: 0.02, None


class Gpt(Model):
    name, rows, width, heads, context, layers = "gpt", 4, 64, 4, 64, 2

    def __init__(self):
        text = (pathlib.Path(sys.argv[1]) / "text" / "shakespeare.txt").read_text()
        letters = sorted(set(text))
        self.letters = "".join(letters)
        self.text = np.array([letters.index(c) for c in text])
        w = self.width
        self.tensors = [("tokens", [len(letters), w], 0.0, 0.05), ("places", [self.context, w], 0.0, 0.05)]
        for i in range(self.layers):
            self.tensors += norm(f"{i}.norm1", w) + linear(f"{i}.qkv", 3 * w, w, bias=False)
            self.tensors += linear(f"{i}.out", w, w) + norm(f"{i}.norm2", w)
            self.tensors += linear(f"{i}.up", 4 * w, w) + linear(f"{i}.down", w, 4 * w)
        self.tensors += norm("norm", w)

    def batch(self, step, rows):
        at = words(BATCH, step, rows) % (len(self.text) - self.context)
        take = lambda by: np.stack([self.text[int(a) + by : int(a) + by + self.context] for a in at])
        return torch.tensor(take(0)), torch.tensor(take(1))

    def loss(self, p, batch):
        ids, next_ids = batch
        x = F.embedding(ids, p["tokens"]) + p["places"]
        b, t, w = x.shape
        for i in range(self.layers):
            n = lambda name, v: F.layer_norm(v, (w,), p[f"{i}.{name}.weight"], p[f"{i}.{name}.bias"])
            l = lambda name, v: F.linear(v, p[f"{i}.{name}.weight"], p.get(f"{i}.{name}.bias"))
            q, k, v = l("qkv", n("norm1", x)).reshape(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-1, -2) / math.sqrt(w // self.heads)
            past = torch.ones(t, t, dtype=torch.bool).tril()
            seen = scores.masked_fill(~past, -math.inf).softmax(-1) @ v
            x = x + l("out", seen.transpose(1, 2).reshape(b, t, w))
            x = x + l("down", F.gelu(l("up", n("norm2", x))))
        x = F.layer_norm(x, (w,), p["norm.weight"], p["norm.bias"])
        return F.cross_entropy((x @ p["tokens"].T).flatten(0, 1), next_ids.flatten())

    def optimizer(self, params):
        # Warm-up over 20 updates, then a cosine to 0 at 200.
        rate = lambda n: 3e-3 * ((n + 1) / 20 if n < 20 else (1 + math.cos(math.pi * (n - 20) / 180)) / 2)
        return torch.optim.AdamW(params, lr=1, weight_decay=0.01), rate, 1.0


class MiniLm(Model):
    """all-MiniLM-L6-v2 with fewer words and a narrower stream, as crates/models builds it: six layers of twelve heads,
    norms after the sums, a mean over the tokens that a row has, length 1. Its loss is that of pairs in a batch.

    The words of a batch: for each row (the pairs' first texts, then the second) one for its length and one for each
    token; then one for the topic of the first pair, after which the others' follow. Three tokens of four are one of
    their topic's eight words, the others any word."""

    name, rows, steps, kept = "minilm", 8, 60, 512
    width, heads, layers, wide, vocab, positions, tokens = 96, 12, 6, 384, 256, 32, 16
    topics, shortest, scale = 16, 4, 20.0
    zero = tuple(f"encoder.layer.{i}.attention.self.key.bias" for i in range(layers))

    def __init__(self):
        w, rows = self.width, dict(word=self.vocab, position=self.positions, token_type=2)
        self.tensors = [(f"embeddings.{n}_embeddings.weight", [r, w], 0.0, 0.05) for n, r in rows.items()]
        self.tensors += norm("embeddings.LayerNorm", w)
        for i in range(self.layers):
            at = f"encoder.layer.{i}."
            for part in ("query", "key", "value"):
                self.tensors += linear(f"{at}attention.self.{part}", w, w)
            self.tensors += linear(f"{at}attention.output.dense", w, w) + norm(f"{at}attention.output.LayerNorm", w)
            self.tensors += linear(f"{at}intermediate.dense", self.wide, w) + linear(f"{at}output.dense", w, self.wide)
            self.tensors += norm(f"{at}output.LayerNorm", w)

    def batch(self, step, rows):
        drawn = words(BATCH, step, 2 * rows * (self.tokens + 1) + 1).astype(np.int64)
        texts, topics = drawn[:-1].reshape(2 * rows, -1), (drawn[-1] + np.arange(rows)) % self.topics
        lengths = self.shortest + texts[:, 0] % (self.tokens - self.shortest + 1)
        of_topic = np.tile(topics, 2)[:, None] * 8 + (texts[:, 1:] >> 2) % 8
        ids = np.where(texts[:, 1:] % 4 > 0, of_topic, (texts[:, 1:] >> 2) % self.vocab)
        ids[np.arange(self.tokens) >= lengths[:, None]] = 0
        return [torch.tensor(x) for x in (ids[:rows], lengths[:rows], ids[rows:], lengths[rows:])]

    def embed(self, p, ids, lengths):
        affine = lambda name: (p[f"{name}.weight"], p[f"{name}.bias"])
        normed = lambda name, v: F.layer_norm(v, (self.width,), *affine(name), eps=1e-12)
        b, t = ids.shape
        word, position, kind = (p[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type"))
        x = normed("embeddings.LayerNorm", F.embedding(ids, word) + position[:t] + kind[0])
        there = torch.arange(t) < lengths[:, None]
        for i in range(self.layers):
            at = f"encoder.layer.{i}."
            part = lambda n: F.linear(x, *affine(f"{at}attention.self.{n}")).reshape(b, t, self.heads, -1)
            heads = lambda n: part(n).transpose(1, 2)
            scores = heads("query") @ heads("key").transpose(-1, -2) / math.sqrt(self.width // self.heads)
            seen = scores.masked_fill(~there[:, None, None], -math.inf).softmax(-1) @ heads("value")
            seen = F.linear(seen.transpose(1, 2).reshape(b, t, -1), *affine(f"{at}attention.output.dense"))
            x = normed(f"{at}attention.output.LayerNorm", seen + x)
            h = F.linear(F.gelu(F.linear(x, *affine(f"{at}intermediate.dense"))), *affine(f"{at}output.dense"))
            x = normed(f"{at}output.LayerNorm", h + x)
        return F.normalize((x * there[..., None]).sum(1) / lengths[:, None], dim=-1)

    def loss(self, p, batch):
        a, b = self.embed(p, *batch[:2]), self.embed(p, *batch[2:])
        return F.cross_entropy(self.scale * a @ b.T, torch.arange(len(a)))

    def optimizer(self, params):
        # Warm-up over 10 updates.
        return torch.optim.AdamW(params, lr=1, weight_decay=0.01), lambda n: 3e-4 * min(1, (n + 1) / 10), 1.0


def train(model, dtype, reverse=False):
    """Gradients before the first step, and the loss of every step."""
    params = {n: torch.nn.Parameter(torch.tensor(v, dtype=dtype)) for n, v in first_values(model.tensors).items()}
    optimizer, rate, clip = model.optimizer(params.values())
    losses, first = [], None
    for step in range(model.steps):
        batch = model.batch(step, model.rows)
        batch = [x.to(dtype) if x.is_floating_point() else x for x in batch]
        batch = [x.flip(0) for x in batch] if reverse else batch
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.zero_grad()
        loss = model.loss(params, batch)
        loss.backward()
        losses.append(loss.item())
        if first is None:
            first = {n: p.grad.detach().double().numpy().flatten() for n, p in params.items()}
        if clip:
            torch.nn.utils.clip_grad_norm_(params.values(), clip)
        optimizer.step()
    return first, losses


def every(count, kept):
    """Of a tensor of so many elements one of so many is kept: an odd number, so that no axis is left out."""
    k = -(-count // kept)
    return k + 1 - k % 2 if k > 1 else 1


def largest(curves, losses, steps):
    return max(abs(a - b) for curve in curves for a, b in zip(curve[:steps], losses))


def write(model):
    gradients, losses = train(model, torch.float64)
    runs = []
    for reverse in (False, True):
        for fast in (True, False):
            torch.set_num_threads(2 if fast else 1)
            with torch.backends.mkldnn.flags(enabled=fast):
                runs.append(train(model, torch.float32, reverse))
    l2 = lambda x: math.sqrt((x * x).sum())
    gradients = {n: v for n, v in gradients.items() if n not in model.zero}
    every_of = [every(g.size, model.kept) for g in gradients.values()]
    apart = {n: max(l2(g[n] - v) / l2(v) for g, _ in runs) for n, v in gradients.items()}
    curves = [c for _, c in runs]
    made = dict(
        torch=torch.__version__,
        rows=model.rows,
        seed=SEED,
        tensors=model.tensors,
        every=every_of,
        gradients_apart=[float(f"{v:.3g}") for v in apart.values()],
        first_10_apart=largest(curves, losses, 10),
        apart=largest(curves, losses, model.steps),
        losses=losses,
    )
    if hasattr(model, "letters"):
        made["letters"] = model.letters
    if model.zero:
        made["zero"] = model.zero
    (OUT / f"{model.name}.json").write_text(json.dumps(made, indent=None).replace("], ", "],\n") + "\n")
    kept = np.concatenate([g[::k] for g, k in zip(gradients.values(), every_of)])
    (OUT / f"{model.name}.bin").write_bytes(kept.astype("<f4").tobytes())
    print(model.name, losses[0], losses[-1], made["first_10_apart"], made["apart"], max(apart.values()), kept.size)


OUT.mkdir(exist_ok=True)
wanted = sys.argv[2:]
digits = Digits()
(OUT / "digits.bin").write_bytes(digits.images.tobytes() + digits.classes.tobytes())
for one in (Mlp(), Cnn(), Gpt(), MiniLm()):
    if not wanted or one.name in wanted:
        write(one)
