"""Values of ops by others' code: the reference evaluator of the onnx package, and NumPy where ONNX has no such op.

usage: op_goldens.py > tests/data/op_goldens.json       (needs onnx 1.23.2 and numpy 2)

Each case is an op by its ONNX name, or the name of the builder's method in lower case, with attributes, operands and
results: dtype, shape, elements in row-major order. Not-a-number and the infinities are words. Operands are small and
drawn by a fixed seed; every attribute has two values or more.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

DRAW = np.random.default_rng(20261126)
NAMES = {"float32": "f32", "int32": "i32", "int64": "i64", "bool": "bool", "uint8": "u8"}
CASES = []


def element(v):
    if isinstance(v, float):
        return v if np.isfinite(v) else ("nan" if np.isnan(v) else "inf" if v > 0 else "-inf")
    return v


def tensor(x):
    x = np.asarray(x)
    return {"dtype": NAMES[x.dtype.name], "shape": list(x.shape), "elements": [element(v) for v in x.ravel().tolist()]}


def add(op, attributes, operands, results):
    operands = [None if x is None else tensor(x) for x in operands]
    CASES.append({"op": op, "attributes": attributes, "operands": operands, "results": [tensor(y) for y in results]})


def by_onnx(op, attributes, *operands, results=1, opset=24):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(operands)]
    outputs = [f"y{i}" for i in range(results)]
    node = helper.make_node(op, names, outputs, **attributes)
    info = lambda n, x: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    graph = helper.make_graph(
        [node], "g", [info(n, x) for n, x in zip(names, operands) if x is not None],
        [helper.make_tensor_value_info(y, TensorProto.UNDEFINED, None) for y in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    feeds = {n: x for n, x in zip(names, operands) if x is not None}
    add(op, attributes, operands, ReferenceEvaluator(model).run(None, feeds))


def floats(*shape):
    return DRAW.standard_normal(shape).astype(np.float32)


def coarse(*shape):
    """Numbers of which several are equal."""
    return (DRAW.integers(-4, 5, shape) / 2).astype(np.float32)


def whole(low, high, shape, dtype=np.int64):
    return DRAW.integers(low, high, shape).astype(dtype)


def scatters():
    for reduction in ["none", "add", "mul", "max", "min"]:
        for axis, shape, taken in [(0, (5, 3), (7, 3)), (1, (3, 6), (3, 4)), (-1, (2, 3, 4), (2, 2, 9)), (0, (4,), (300,))]:
            places = whole(-shape[axis], shape[axis], taken)
            if reduction == "none":
                # ONNX leaves open which of several updates wins: none meet here.
                taken = tuple(min(t, s) for t, s in zip(taken, shape))
                order = [DRAW.permutation(shape[axis])[: taken[axis]] for _ in range(int(np.prod(taken)) // taken[axis])]
                places = np.moveaxis(np.array(order).reshape([t for i, t in enumerate(taken) if i != axis % len(shape)]
                                                             + [taken[axis]]), -1, axis).astype(np.int64)
            by_onnx("ScatterElements", {"axis": axis, "reduction": reduction}, coarse(*shape), places, coarse(*places.shape))
        for shape, tuples in [((4, 3), (2, 1)), ((4, 3), (5, 2)), ((2, 3, 4), (3, 2, 2)), ((6,), (200, 1))]:
            k = tuples[-1]
            indices = np.stack([whole(0, shape[i], tuples[:-1]) for i in range(k)], -1)
            if reduction == "none":
                flat = DRAW.permutation(int(np.prod(shape[:k])))[: int(np.prod(tuples[:-1]))]
                tuples = (len(flat), k)
                indices = np.stack(np.unravel_index(flat, shape[:k]), -1).astype(np.int64)
            by_onnx("ScatterND", {"reduction": reduction}, coarse(*shape), indices, coarse(*tuples[:-1], *shape[k:]))


def gathers():
    # onnx's evaluator refuses negative axes here.
    for axis, shape, taken in [(0, (5, 3), (7, 3)), (1, (3, 6), (3, 4)), (-1, (2, 3, 4), (2, 3, 9)), (2, (2, 3, 4), (2, 3, 2))]:
        for dtype in [np.int32, np.int64]:
            x, indices = floats(*shape), whole(-shape[axis], shape[axis], taken, dtype)
            add("GatherElements", {"axis": axis}, [x, indices], [np.take_along_axis(x, indices, axis)])
    for batch, shape, tuples in [(0, (4, 3), (5, 1)), (0, (4, 3), (2, 2)), (1, (2, 3, 4), (2, 3, 1)), (1, (2, 3, 4), (2, 2)),
                                 (2, (2, 3, 4), (2, 3, 1)), (0, (2, 3, 4), (3, 3)), (0, (2, 3), (2, 2, 1)), (1, (3, 5), (3, 1))]:
        k = tuples[-1]
        indices = np.stack([whole(0, shape[batch + i], tuples[:-1]) for i in range(k)], -1)
        by_onnx("GatherND", {"batch_dims": batch}, floats(*shape), indices)


def rows_and_pads():
    for mode in ["constant", "reflect", "edge", "wrap"]:
        for pads, shape in [((1, 2, 0, 1), (3, 4)), ((0, 2, 2, 1), (3, 4)), ((2, 1), (5,)), ((0, 1, 1, 1, 0, 0), (2, 3, 4))]:
            value = np.float32(1.5) if mode == "constant" else None
            operands = [floats(*shape), np.array(pads, np.int64)] + ([np.array(value)] if mode == "constant" else [])
            by_onnx("Pad", {"mode": mode}, *operands)
    for repeats, shape in [((2,), (3,)), ((1, 3), (2, 2)), ((2, 1, 2), (2, 1, 3)), ((0, 2), (2, 3)), ((3, 2), (1, 1)), ((1,), (4,)),
                           ((2, 2), (2, 2)), ((1, 1, 4), (2, 2, 1))]:
        by_onnx("Tile", {}, floats(*shape), np.array(repeats, np.int64))
    for axis in [-1, 0, 1]:
        for depth, indices in [(4, whole(-4, 4, (3,))), (3, whole(-5, 6, (2, 2))), (1, whole(0, 2, (4,)))]:
            by_onnx("OneHot", {"axis": axis}, indices, np.array(depth, np.int64), np.array([-1.0, 2.5], np.float32))
    for upper in [0, 1]:
        for k in [-2, 0, 1, 5]:
            by_onnx("Trilu", {"upper": upper}, floats(3, 4), np.array(k, np.int64))


def order():
    for axis, shape, k in [(-1, (3, 9), 4), (0, (7, 2), 7), (1, (2, 5, 3), 1), (-1, (4,), 0), (-1, (1, 300), 20)]:
        for largest in [0, 1]:
            # Equal elements: ONNX takes the smaller index; so do these, which have no NaN.
            x = coarse(*shape)
            kind = -x if largest else x
            places = np.argsort(kind, axis, kind="stable").take(range(k), axis)
            add("TopK", {"axis": axis, "largest": largest, "k": k}, [x], [np.take_along_axis(x, places, axis), places])
    for axis, shape in [(-1, (3, 9)), (0, (7, 2)), (1, (2, 5, 3)), (0, (2000,)), (0, (1,))]:
        x = coarse(*shape)
        places = np.argsort(x, axis, kind="stable")
        add("sort", {"axis": axis, "descending": 0}, [x], [np.take_along_axis(x, places, axis), places])
        places = np.argsort(-x, axis, kind="stable")
        add("sort", {"axis": axis, "descending": 1}, [x], [np.take_along_axis(x, places, axis), places])
    for exclusive in [0, 1]:
        for reverse in [0, 1]:
            for axis, shape in [(0, (5,)), (1, (2, 7)), (0, (3, 4)), (-2, (2, 3, 2))]:
                by_onnx("CumSum", {"exclusive": exclusive, "reverse": reverse}, coarse(*shape), np.array(axis, np.int64))
                x = (DRAW.integers(-2, 3, shape) / 2).astype(np.float32)
                walk = np.flip(x, axis) if reverse else x
                y = np.cumprod(walk, axis, dtype=np.float32)
                if exclusive:
                    one = np.ones_like(y.take([0], axis))
                    y = np.concatenate([one, y.take(range(shape[axis] - 1), axis)], axis)
                add("cum_prod", {"exclusive": exclusive, "reverse": reverse, "axis": axis}, [x],
                    [np.flip(y, axis) if reverse else y])


def losses():
    for reduction in ["none", "sum", "mean"]:
        for ignored in [None, 1, -100]:
            for shape, weighted in [((4, 3), False), ((4, 3), True), ((2, 5, 3), True), ((2, 3, 2, 2), False)]:
                scores = floats(*shape)
                target = whole(0, shape[1], (shape[0], *shape[2:]))
                if ignored is not None:
                    target.flat[0] = ignored
                operands = [scores, target] + ([DRAW.uniform(0.25, 2.0, shape[1]).astype(np.float32)] if weighted else [])
                attributes = {"reduction": reduction} | ({} if ignored is None else {"ignore_index": ignored})
                by_onnx("NegativeLogLikelihoodLoss", attributes, *operands, opset=13)
                by_onnx("SoftmaxCrossEntropyLoss", attributes, *operands, opset=13)


def rows():
    for rows, width, updates in [(4, 3, 7), (1, 2, 5), (50, 1, 300), (3, 4, 0)]:
        for dtype in [np.int32, np.int64]:
            u, i = coarse(updates, width), whole(0, rows, (updates,), dtype)
            y = np.zeros((rows, width), np.float32)
            np.add.at(y, i, u)
            add("scatter_add", {"rows": rows}, [u, i], [y])
    for mode in ["linear", "circular"]:
        for axis, shape, rows in [(-2, (2, 3, 8, 2), 3), (1, (2, 6, 2), 1), (-2, (1, 5, 2), 5), (2, (2, 2, 4), 2)]:
            cache, update = floats(*shape), None
            axis_at = axis % len(shape)
            update = floats(*[rows if a == axis_at else n for a, n in enumerate(shape)])
            most = shape[axis_at] - rows if mode == "linear" else 2 * shape[axis_at]
            pos = whole(0, most + 1, (shape[0],))
            y = cache.copy()
            for b in range(shape[0]):
                for t in range(rows):
                    place = (pos[b] + t) % shape[axis_at]
                    at = [b] + [slice(None)] * (len(shape) - 1)
                    to, source = list(at), list(at)
                    to[axis_at], source[axis_at] = place, t
                    y[tuple(to)] = update[tuple(source)]
            add("tensor_scatter", {"axis": axis, "mode": mode}, [cache, update, pos], [y])
    for metric in ["squared_euclidean", "euclidean", "manhattan", "cosine"]:
        for n, m, d in [(3, 4, 2), (1, 1, 5)]:
            x, y = floats(n, d), floats(m, d)
            wide = [v.astype(np.float64) for v in (x, y)]
            apart = wide[0][:, None, :] - wide[1][None, :, :]
            if metric == "cosine":
                z = 1 - wide[0] @ wide[1].T / np.outer(*[np.linalg.norm(v, axis=1) for v in wide])
            else:
                z = np.abs(apart).sum(-1) if metric == "manhattan" else (apart ** 2).sum(-1)
                z = np.sqrt(z) if metric == "euclidean" else z
            add("pairwise_distance", {"metric": metric}, [x, y], [z.astype(np.float32)])


def write():
    json.dump({"onnx": onnx.__version__, "numpy": np.__version__, "cases": CASES}, sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    for make in (scatters, gathers, rows_and_pads, order, losses, rows):
        make()
    write()
