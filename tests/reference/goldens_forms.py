"""Values of forms of movement, of reductions, orders, losses and norms that are made of other ops, by others' code: the
onnx package's evaluator, NumPy and SciPy.

usage: goldens_forms.py > tests/data/op_goldens_forms.json       (needs onnx 1.23.2, numpy 2, scipy 1.17)

As op_goldens.py, which says the form of a case.
"""
import numpy as np
import scipy.special

import op_goldens as o
from op_goldens import add, by_onnx, coarse, floats, whole

o.NAMES |= {"float16": "f16"}


def movement():
    for shape, axis, count in [((), 0, 3), ((5,), 0, 2), ((5,), -1, 2), ((2, 3), 1, 3), ((2, 3), -1, 1), ((2, 0), 2, 2),
                               ((2, 3, 4), -2, 2), ((2, 3, 4), 0, 5)]:
        parts = [floats(*shape) for _ in range(count)]
        add("stack", {"axis": axis}, parts, [np.stack(parts, axis)])
    for shape, axes in [((5,), [0]), ((2, 3), [-1]), ((2, 3), [0, 1]), ((2, 3, 4), [1]), ((2, 3, 4), [0, -1]), ((1, 7), [1]),
                        ((0, 3), [0]), ((2, 3), [])]:
        x = floats(*shape)
        add("reverse", {"axes": axes}, [x], [np.flip(x, tuple(axes)) if axes else x])
    for shape, repeats, axis in [((4,), 3, 0), ((2, 3), 2, -1), ((2, 3), 2, 0), ((2, 3, 4), 5, 1), ((2, 3), 0, 1), ((2, 3), 1, 0),
                                 ((1, 1), 4, -2), ((3, 2, 2), 2, 2)]:
        x = floats(*shape)
        add("repeat_interleave", {"repeats": repeats, "axis": axis}, [x], [np.repeat(x, repeats, axis)])
    for start, limit, delta in [(0, 5, 1), (3, 20, 4), (5, -6, -3), (0, 0, 1), (-7, 7, 2), (10, 0, -1), (2, 3, 9), (0, 1000, 7)]:
        for dtype in [np.int32, np.int64]:
            add("range", {"start": start, "limit": limit, "delta": delta, "dtype": o.NAMES[np.dtype(dtype).name]}, [],
                [np.arange(start, limit, delta, dtype)])
    for shape in [[], [3], [2, 3], [0, 4], [1, 1, 5], [2, 3, 4], [7, 1], [300]]:
        value = floats()
        add("fill", {"shape": shape}, [np.array(value)], [np.full(shape, value, np.float32)])
        x = floats(*shape)
        add("size", {}, [x], [np.array(x.size, np.int64)])
        add("stop_gradient", {}, [x], [x])


def blocks():
    for shape, size in [((1, 8, 2, 3), 2), ((2, 9, 1, 2), 3), ((1, 4, 3, 3), 2), ((2, 5, 2, 2), 1), ((0, 4, 2, 2), 2),
                        ((1, 16, 1, 1), 4)]:
        for mode in ["DCR", "CRD"]:
            by_onnx("DepthToSpace", {"blocksize": size, "mode": mode}, floats(*shape))
    for shape, size in [((1, 2, 4, 6), 2), ((2, 1, 3, 6), 3), ((1, 4, 3, 3), 1), ((2, 3, 2, 2), 2), ((1, 1, 8, 4), 4),
                        ((3, 2, 6, 2), 2)]:
        by_onnx("SpaceToDepth", {"blocksize": size}, floats(*shape))
        o.CASES[-1] |= {"op": "space_to_depth", "attributes": {"blocksize": size, "order": "DCR"}}
        # PyTorch's pixel_unshuffle.
        x = floats(*shape)
        b, c, h, w = shape
        y = x.reshape(b, c, h // size, size, w // size, size).transpose(0, 1, 3, 5, 2, 4)
        add("space_to_depth", {"blocksize": size, "order": "CRD"}, [x], [y.reshape(b, c * size * size, h // size, w // size)])
    for shape in [(3, 3), (2, 5), (5, 2), (1, 1), (0, 4)]:
        for k in [-1, 0, 2, 9]:
            by_onnx("EyeLike", {"k": k, "dtype": [1, 6, 7, 10][k % 4]}, floats(*shape))


def norms():
    for shape, axis in [((3, 4), -1), ((3, 4), 0), ((2, 3, 4), 1), ((1, 7), 1), ((5, 1), -1), ((2, 2, 3, 2), 2)]:
        by_onnx("LpNormalization", {"axis": axis, "p": 2}, floats(*shape))
        # The evaluator adds signed elements for p = 1, and divides rows of zeros by 0.
        for p in [1, 2]:
            x = floats(*shape)
            x[(slice(None),) * (axis % len(shape)) + (slice(None),) + (0,) * (len(shape) - 1 - axis % len(shape))] = 0
            length = (np.abs(x.astype(np.float64)) ** p).sum(axis, keepdims=True) ** (1 / p)
            y = np.divide(x, length, out=np.zeros_like(x, np.float64), where=length > 0)
            add("LpNormalization", {"axis": axis, "p": p}, [x], [y.astype(np.float32)])
    for shape, axes in [((2, 3, 4, 5), [0, 2, 3]), ((2, 3, 4, 5), [1]), ((3, 8), [0]), ((3, 8), [1]), ((3, 8), [-1]),
                        ((2, 3, 5), [0, 2]), ((2, 3, 5), [0, 1, 2]), ((1, 2, 6, 6), [0, 2, 3])]:
        by_onnx("MeanVarianceNormalization", {"axes": axes}, floats(*shape))


SHAPES = [((5,), [0]), ((2, 3), [1]), ((2, 3), [0]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [-1]), ((1, 9), []), ((4, 300), [1])]


def reductions():
    for shape, axes in SHAPES:
        for keepdims in [0, 1]:
            over = tuple(axes) or None
            x, attributes = floats(*shape), {"axes": axes, "keepdims": keepdims}
            wide = x.astype(np.float64)
            positive = np.abs(x) + np.float32(0.1)
            add("reduce_log_sum", attributes, [positive],
                [np.log(positive.astype(np.float64).sum(over, keepdims=bool(keepdims))).astype(np.float32)])
            add("reduce_log_sum_exp", attributes, [x],
                [scipy.special.logsumexp(wide, over, keepdims=bool(keepdims)).astype(np.float32)])
            truth = o.DRAW.random(shape) < (0.2 if keepdims else 0.8)
            add("reduce_any", attributes, [truth], [truth.any(over, keepdims=bool(keepdims))])
            add("reduce_all", attributes, [truth], [truth.all(over, keepdims=bool(keepdims))])
            for correction in [0, 1]:
                if correction and np.prod(shape) == np.prod([n for i, n in enumerate(shape) if i not in axes]):
                    continue
                more = attributes | {"correction": correction}
                options = {"axis": over, "ddof": correction, "keepdims": bool(keepdims)}
                add("variance", more, [x], [wide.var(**options).astype(np.float32)])
                add("std_dev", more, [x], [wide.std(**options).astype(np.float32)])


def orders():
    for axis, shape in [(-1, (3, 9)), (0, (7, 2)), (1, (2, 5, 3)), (0, (2000,)), (0, (1,))]:
        for descending in [0, 1]:
            x = coarse(*shape)
            add("arg_sort", {"axis": axis, "descending": descending}, [x],
                [np.argsort(-x if descending else x, axis, kind="stable")])
    for n, k in [(2, 1), (5, 4), (9, 3), (40, 7)]:
        for _ in range(2):
            points = coarse(n, 3)
            d = ((points[:, None] - points[None]) ** 2).sum(-1)
            far = d.copy()
            np.fill_diagonal(far, np.inf)
            at = np.argsort(far, -1, kind="stable")[:, :k]
            add("knn_from_pairwise", {"k": k}, [d], [at.astype(np.int32), np.take_along_axis(d, at, -1)])


def reduced(terms, reduction):
    """The loss, and what a mean divides by."""
    if reduction == "none":
        return [terms.astype(np.float32), np.array(1, np.float32)]
    value = terms.mean() if reduction == "mean" else terms.sum()
    return [np.array(value, np.float32), np.array(terms.size if reduction == "mean" else 1, np.float32)]


def losses():
    for reduction in ["none", "sum", "mean"]:
        for shape in [(4, 3), (1, 7), (2, 5)]:
            x, t = floats(*shape), floats(*shape)
            wide, target = x.astype(np.float64), t.astype(np.float64)
            apart = np.abs(wide - target)
            add("mse", {"reduction": reduction}, [x, t], reduced(apart ** 2, reduction))
            add("l1", {"reduction": reduction}, [x, t], reduced(apart, reduction))
            for delta in [0.5, 1.0]:
                add("huber", {"reduction": reduction, "delta": delta}, [x, t],
                    reduced(scipy.special.huber(delta, apart), reduction))
            p = o.DRAW.uniform(0.02, 0.98, shape).astype(np.float32)
            happened = o.DRAW.random(shape).astype(np.float32)
            q, h = p.astype(np.float64), happened.astype(np.float64)
            cross = -scipy.special.xlogy(h, q) - scipy.special.xlog1py(1 - h, -q)
            add("binary_cross_entropy", {"reduction": reduction}, [p, happened], reduced(cross, reduction))
            for weight in [None, o.DRAW.uniform(0.5, 3, shape[1]).astype(np.float32)]:
                w = 1.0 if weight is None else weight.astype(np.float64)
                cross = -w * h * scipy.special.log_expit(wide) - (1 - h) * scipy.special.log_expit(-wide)
                add("binary_cross_entropy_with_logits", {"reduction": reduction}, [x, happened, weight],
                    reduced(cross, reduction))
            shares = scipy.special.softmax(target, 1).astype(np.float32)
            s = shares.astype(np.float64)
            add("cross_entropy_dense", {"reduction": reduction}, [x, shares],
                reduced(-(s * scipy.special.log_softmax(wide, 1)).sum(1), reduction))
            logs = scipy.special.log_softmax(wide, 1).astype(np.float32)
            add("kl_div", {"reduction": reduction}, [logs, shares],
                reduced(scipy.special.xlogy(s, s) - s * logs.astype(np.float64), reduction))


def searches():
    for m, shape in [(0, (3,)), (1, (5,)), (9, ()), (9, (2, 0)), (9, (2, 3)), (33, (4, 1, 5)), (300, (70,)), (2000, (40,))]:
        for right in [0, 1]:
            side = "right" if right else "left"
            x, values = np.sort(coarse(m)), coarse(*shape)
            if m > 9:
                x[-3:] = [np.inf, np.nan, np.nan]
                x[np.argmax(x == 0)] = -0.0
                values.ravel()[:4] = [np.nan, np.inf, -np.inf, -0.0]
            index = ["i32", "i64"][m % 2]
            add("search_sorted", {"right": right, "index_dtype": index}, [x, values],
                [np.searchsorted(x, values, side).astype(np.int32 if index == "i32" else np.int64)])
    for dtype in [np.int32, np.int64, np.uint8]:
        for right in [0, 1]:
            x, values = np.sort(whole(0, 20, 37, dtype)), whole(0, 22, (3, 7), dtype)
            if dtype == np.int64:
                # Numbers whose low words are in another order.
                x, values = x * 3_000_000_001 - 20_000_000_000, values * 3_000_000_001 - 20_000_000_000
            add("search_sorted", {"right": right, "index_dtype": "i32"}, [x, values],
                [np.searchsorted(x, values, "right" if right else "left").astype(np.int32)])


if __name__ == "__main__":
    for make in (movement, blocks, norms, reductions, orders, losses, searches):
        make()
    o.write()
