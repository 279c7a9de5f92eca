"""Values of ops whose results are as long as a run finds: the onnx package's evaluator, and NumPy.

usage: goldens_found.py > tests/data/op_goldens_found.json       (needs onnx 1.23.2 and numpy 2)

As op_goldens.py, which says the form of a case.
"""
import math
from fractions import Fraction

import numpy as np

from op_goldens import DRAW, add, by_onnx, coarse, floats, whole, write


def unlike(x, axis, ascending):
    """NumPy's are ascending. The evaluator of the onnx package takes those in order of their first places along axis 0."""
    y, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not ascending:
        order = np.argsort(first)
        y = np.take(y, order, 0 if axis is None else axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    add("Unique", {"sorted": int(ascending)} | ({} if axis is None else {"axis": axis}), [x],
        [y, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)])


def uniques():
    few = DRAW.integers(0, 2, (9, 3)).astype(np.float32)
    nan = np.array([np.nan, 1, np.inf, np.nan, -np.inf, 1, -2, np.nan], np.float32)
    for ascending in [True, False]:
        for x in [coarse(40), coarse(3, 4, 5), floats(17), floats(0), coarse(1), nan, whole(-3, 4, (30,)),
                  whole(0, 250, (70,), np.uint8), DRAW.integers(0, 2, 12) > 0, whole(-9, 9, (2, 9), np.int32)]:
            unlike(x, None, ascending)
        for x, axis in [(few, 0), (few, 1), (few.reshape(3, 3, 3), 1), (few.reshape(3, 9), -1), (few[:, :1], 0),
                        (whole(0, 2, (2, 8, 2)), 1)]:
            unlike(x, axis, ascending)


def suppressions():
    number = lambda v, dtype: np.array([v], dtype)
    for centred in [0, 1]:
        for b, c, n, most, share, score in [(1, 1, 12, 12, 0.3, None), (2, 3, 20, 4, 0.3, 0.25), (1, 2, 30, 30, 0.0, None),
                                            (1, 2, 9, 0, 0.5, None), (3, 1, 15, 2, 0.7, -0.5), (1, 1, 5, 9, 1.0, 2.0),
                                            (2, 2, 1, 1, 0.5, None), (1, 4, 40, 100, 0.2, 0.0)]:
            boxes, scores = DRAW.random((b, n, 4)).astype(np.float32), coarse(b, c, n)
            operands = [boxes, scores, number(most, np.int64), number(share, np.float32)]
            operands += [] if score is None else [number(score, np.float32)]
            by_onnx("NonMaxSuppression", {"center_point_box": centred}, *operands)


def ranges():
    """How many there are is that of exact quotients; a difference of floats is rounded first."""
    cases = [(np.int64, 0, 7, 2), (np.int64, 7, -8, -3), (np.int64, -5, 5, 1), (np.int64, 3, 3, 1), (np.int64, 9, 3, 4),
             (np.int64, 2**62, 2**62 + 10**15, 10**13), (np.int64, -2**63, 2**63 - 1, 2**58), (np.int64, 2**63 - 1, -2**63, -2**63),
             (np.int32, -2**31, 2**31 - 1, 2**27), (np.int32, 5, 60, 5), (np.uint8, 250, 0, 7), (np.uint8, 3, 250, 100)]
    for start, limit, delta in [(0, 1, 0.1), (0, 0.3, 0.1), (0.1, 1.1, 0.1), (-2.5, 40, 0.75), (1, -1, -0.25), (3, 1, 0.5),
                                (0, 5, 7), (1e20, 3e20, 1e19), (0, 1e-30, 1e-31), (1, 2, 1e30), (10, 0, -3), (0, 1, 1 / 3)]:
        cases.append((np.float32, start, limit, delta))
    for largest in [100, 1000]:
        for dtype, *numbers in cases:
            start, limit, delta = [np.array(v, dtype) for v in numbers]
            exact = dtype is not np.float32
            span = Fraction(int(limit) - int(start)) if exact else Fraction(float(limit - start))
            step = Fraction(int(delta) if exact else float(delta))
            count = max(math.ceil(span / step), 0)
            y = [int(start) + i * int(delta) if exact else float(start) + i * float(delta) for i in range(count)]
            add("range_of_values", {"largest": largest}, [start, limit, delta], [np.array(y, dtype)])


for make in (uniques, suppressions, ranges):
    make()
write()
