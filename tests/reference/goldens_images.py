"""Values of norms of channels, pools and resampling by others' code: the onnx package's evaluator, and NumPy.

usage: goldens_images.py > tests/data/op_goldens_images.json       (needs onnx 1.23.2 and numpy 2)

As op_goldens.py, which says the form of a case.
"""
import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

import op_goldens as o
from op_goldens import add, by_onnx, floats, whole


def by_evaluator(op, attributes, operands, results, opset=24):
    """What the evaluator computes, without a case."""
    before = len(o.CASES)
    by_onnx(op, attributes, *operands, results=results, opset=opset)
    case = o.CASES.pop(before)
    dtypes = {name: dtype for dtype, name in o.NAMES.items()}
    number = lambda v: float(v) if isinstance(v, str) else v
    return [np.array([number(v) for v in y["elements"]], dtypes[y["dtype"]]).reshape(y["shape"]) for y in case["results"]]


def norms():
    for groups, channels in [(1, 4), (2, 4), (4, 4), (3, 6)]:
        for epsilon, shape in [(1e-5, (2, 5)), (0.125, (3, 2, 4)), (1e-5, ())]:
            x = floats(2, channels, *shape) if shape else floats(1, channels, 3, 2, 2)
            by_onnx("GroupNormalization", {"num_groups": groups, "epsilon": epsilon}, x, floats(channels), floats(channels))
    for epsilon in [1e-5, 0.25]:
        for shape in [(1, 1, 7), (2, 3, 5), (3, 2, 4, 3), (1, 2, 3, 2, 2)]:
            by_onnx("InstanceNormalization", {"epsilon": epsilon}, floats(*shape), floats(shape[1]), floats(shape[1]))
            x, gamma, beta = floats(*shape), floats(shape[1]), floats(shape[1])
            wide = x.astype(np.float64)
            column = [v.reshape(-1, *[1] * (len(shape) - 2)).astype(np.float64) for v in (gamma, beta)]
            root = np.sqrt(wide.var(1, keepdims=True) + np.float32(epsilon))
            y = (wide - wide.mean(1, keepdims=True)) / root * column[0] + column[1]
            add("layer_norm2d", {"epsilon": epsilon}, [x, gamma, beta], [y.astype(np.float32)])
    for epsilon, momentum in [(1e-5, 0.75), (0.5, 0.25)]:
        for shape in [(4, 3), (2, 3, 5), (3, 2, 4, 3), (1, 2, 1)]:
            for unbiased in [0, 1]:
                c = shape[1]
                operands = [floats(*shape), floats(c), floats(c), floats(c), positive(c)]
                attributes = {"epsilon": epsilon, "momentum": momentum, "training_mode": 1}
                y, mean, variance = by_evaluator("BatchNormalization", attributes, operands, 3)
                n = int(np.prod(shape)) // c
                if unbiased and n > 1:
                    kept = np.float32(momentum) * operands[4].astype(np.float64)
                    variance = (kept + (variance - kept) * n / (n - 1)).astype(np.float32)
                attributes = {"epsilon": epsilon, "momentum": momentum, "unbiased_running": unbiased}
                add("batch_norm_training", attributes, operands, [y, mean, variance])


def positive(*shape):
    return o.DRAW.uniform(0.25, 2.0, shape).astype(np.float32)


if __name__ == "__main__":
    for make in (norms,):
        make()
    o.write()
