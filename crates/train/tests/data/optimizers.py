"""Goldens of optimizers and schedules: PyTorch in f64, hyperparameters as f32 has them.

python optimizers.py > optimizers.json      (torch 2.15, numpy)

Gradients are a formula of the step and the element, so that nothing but results is kept.
"""

import json
import math
import struct

import torch

torch.set_default_dtype(torch.float64)
SHAPES = {"a.weight": [2, 3], "a.bias": [3], "b.weight": [4]}
KEPT = [1, 2, 8, 50, 100]


def f(x):
    """x as f32 has it."""
    return struct.unpack("f", struct.pack("f", x))[0]


def count(shape):
    return math.prod(shape)


def tensors(of):
    """One tensor for each param, of a function of the number of an element among all."""
    made, first = {}, 0
    for name, shape in SHAPES.items():
        made[name] = torch.tensor([of(first + i) for i in range(count(shape))]).reshape(shape)
        first += count(shape)
    return made


def gradients(step):
    return tensors(lambda i: math.sin(0.37 * step + 1.1 * i + 0.1 * step * i) * 10.0 ** (i % 3 - 1))


class Lion(torch.optim.Optimizer):
    """By its formula; PyTorch has none."""

    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                way = torch.sign(b1 * m + (1 - b1) * p.grad)
                p.sub_(group["lr"] * (way + group["weight_decay"] * p))
                m.mul_(b2).add_((1 - b2) * p.grad)


def run(make, groups=None, clip=None, skipped=(), start=0, rate=lambda n: 0.05):
    params = {n: torch.nn.Parameter(t) for n, t in tensors(lambda i: math.cos(0.5 * i)).items()}
    first = [dict(params=list(params.values()))]
    optimizer = make(groups(params) if groups else first)
    factors = [group.pop("factor", 1.0) for group in optimizer.param_groups]
    if start:
        for p in params.values():
            optimizer.state[p] = {
                "step": torch.tensor(float(start)),
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
    kept, done = {}, start
    for step in range(1, 101):
        if step not in skipped:
            for group, factor in zip(optimizer.param_groups, factors):
                group["lr"] = rate(done) * factor
            for name, g in gradients(step).items():
                params[name].grad = g
            if clip:
                torch.nn.utils.clip_grad_norm_(params.values(), clip)
            optimizer.step()
            done += 1
        if step in KEPT:
            kept[step] = {name: p.detach().flatten().tolist() for name, p in params.items()}
    return kept


def split(params):
    """Biases without decay, at twice the rate."""
    biases = [p for n, p in params.items() if n.endswith(".bias")]
    others = [p for n, p in params.items() if not n.endswith(".bias")]
    return [dict(params=others), dict(params=biases, weight_decay=0.0, factor=2.0)]


def cosine(n):
    if n < 10:
        return 0.05 * (n + 1) / 10
    return 0.05 * (1 + math.cos(math.pi * min(n - 10, 90) / 90)) / 2


o = torch.optim
b = (f(0.9), f(0.999))
CASES = {
    "sgd": run(lambda p: o.SGD(p, lr=1, weight_decay=f(0.1))),
    "momentum": run(lambda p: o.SGD(p, lr=1, momentum=f(0.9), dampening=0.3, weight_decay=f(0.1))),
    "nesterov": run(lambda p: o.SGD(p, lr=1, momentum=f(0.9), nesterov=True)),
    "adam": run(lambda p: o.Adam(p, lr=1, betas=b, eps=f(1e-8), weight_decay=f(0.1))),
    "adamw": run(lambda p: o.AdamW(p, lr=1, betas=b, eps=f(1e-8), weight_decay=f(0.1))),
    "adagrad": run(lambda p: o.Adagrad(p, lr=1, lr_decay=0.01, eps=f(1e-10), weight_decay=f(0.1))),
    "rms_prop": run(lambda p: o.RMSprop(p, lr=1, alpha=f(0.99), eps=f(1e-8), weight_decay=f(0.1))),
    "rms_prop_centred": run(
        lambda p: o.RMSprop(p, lr=1, alpha=f(0.99), eps=f(1e-8), centered=True, momentum=f(0.8))
    ),
    "lion": run(lambda p: Lion(p, lr=1, betas=(f(0.9), f(0.99)), weight_decay=f(0.1)), rate=lambda n: 0.01),
    "adafactor": run(
        lambda p: o.Adafactor(p, lr=1, beta2_decay=-0.8, eps=(f(1e-15), f(1e-3)), d=1.0, weight_decay=f(0.1))
    ),
    "clipped": run(lambda p: o.AdamW(p, lr=1, betas=b, eps=f(1e-8), weight_decay=f(0.1)), clip=1.0),
    "groups": run(
        lambda p: o.AdamW(p, lr=1, betas=b, eps=f(1e-8), weight_decay=f(0.1)),
        groups=split,
        clip=1.0,
        skipped=(7,),
        rate=cosine,
    ),
    "late": run(lambda p: o.Adam(p, lr=1, betas=b, eps=f(1e-8)), start=1_000_000),
}


def rates(make, updates):
    optimizer = o.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.05)
    schedule, seen = make(optimizer), []
    for _ in range(updates):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return seen


s = o.lr_scheduler
SCHEDULES = {
    "warmup": rates(lambda x: s.LinearLR(x, start_factor=0.1, end_factor=1.0, total_iters=9), 15),
    "linear": rates(lambda x: s.LinearLR(x, start_factor=1.0, end_factor=0.2, total_iters=40), 50),
    "cosine": rates(lambda x: s.CosineAnnealingLR(x, T_max=40, eta_min=0.001), 41),
    "polynomial": rates(lambda x: s.PolynomialLR(x, total_iters=40, power=2.0), 50),
    "step": rates(lambda x: s.StepLR(x, step_size=7, gamma=0.5), 50),
    "one_cycle": rates(lambda x: s.OneCycleLR(x, max_lr=0.05, total_steps=40, cycle_momentum=False), 39),
}
made = {"torch": torch.__version__, "optimizers": CASES, "schedules": SCHEDULES}
# A line for each list.
print(json.dumps(made).replace("], ", "],\n").replace("}, ", "},\n"))
