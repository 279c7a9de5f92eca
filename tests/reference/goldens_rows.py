"""Values of losses of rows and of smoothed cross-entropy, by PyTorch in f64.

usage: goldens_rows.py > tests/data/op_goldens_rows.json       (needs torch 2.15, numpy 2)

As op_goldens.py, which says the form of a case.
"""
import numpy as np
import torch
import torch.nn.functional as F

import op_goldens as o
from op_goldens import add, floats, whole


def results(terms, reduction):
    value = {"none": terms, "sum": terms.sum(), "mean": terms.mean()}[reduction]
    weight = terms.numel() if reduction == "mean" else 1
    return [value.numpy().astype(np.float32), np.array(weight, np.float32)]


def wide(x):
    return torch.from_numpy(x.astype(np.float64))


def losses_of_rows():
    for rows, width in [(1, 4), (3, 1), (5, 7), (4, 17)]:
        for reduction in ["none", "sum", "mean"]:
            a, b, c = (floats(rows, width) for _ in range(3))
            if rows == 5:
                a[2] = 0
            cosine = F.cosine_similarity(wide(a), wide(b), dim=1, eps=1e-300)
            y = floats(rows)
            add("cosine_loss", {"reduction": reduction}, [a, b], results(1 - cosine, reduction))
            add("cosine_loss", {"reduction": reduction}, [a, b, y], results((cosine - wide(y)) ** 2, reduction))
            for margin, p in [(1.0, 2.0), (0.25, 1.0), (2.0, 3.0)]:
                near, far = ((wide(a) - wide(other)).abs().pow(p).sum(1).pow(1 / p) for other in (b, c))
                add("triplet_loss", {"reduction": reduction, "margin": margin, "p": p}, [a, b, c],
                    results((near - far + margin).clamp(min=0), reduction))
            candidates = floats(2 * rows, width)
            for scale in [20.0, 3.5]:
                unit = [F.normalize(wide(v), dim=1, eps=1e-300) for v in (a, candidates)]
                scores = scale * unit[0] @ unit[1].T
                terms = F.cross_entropy(scores, torch.arange(rows), reduction="none")
                add("in_batch_negatives", {"reduction": reduction, "scale": scale}, [a, candidates], results(terms, reduction))


def smoothed():
    for shape in [(4, 3), (5, 9), (2, 6, 3), (1, 64)]:
        for reduction in ["none", "sum", "mean"]:
            for weighted in [False, True]:
                scores, target = 3 * floats(*shape), whole(0, shape[1], (shape[0],) + shape[2:], np.int64)
                w = np.abs(floats(shape[1])) + np.float32(0.25) if weighted else None
                smoothing = float(np.float32(0.4 if weighted else 0.1))
                terms = lambda how: F.cross_entropy(wide(scores), torch.from_numpy(target), None if w is None else wide(w),
                                                    label_smoothing=smoothing, reduction=how)
                applied = target.size if w is None else w.astype(np.float64)[target].sum()
                weight = np.array(applied if reduction == "mean" else 1, np.float32)
                add("smoothed_cross_entropy", {"reduction": reduction, "label_smoothing": smoothing}, [scores, target, w],
                    [terms(reduction).numpy().astype(np.float32), weight])


if __name__ == "__main__":
    losses_of_rows()
    smoothed()
    o.write()
