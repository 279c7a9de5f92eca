"""Values of products that are made of others, and of products by experts: the onnx package's evaluator, NumPy.

usage: goldens_products.py > tests/data/op_goldens_products.json       (needs onnx 1.23.2 and numpy 2)
"""
import numpy as np
from op_goldens import add, by_onnx, floats, whole, write


def gemms():
    for trans_a, trans_b in [(0, 0), (1, 0), (0, 1), (1, 1)]:
        for alpha, beta in [(1.0, 1.0), (0.5, -2.0), (3.0, 0.0)]:
            for c in [None, (), (5,), (3, 1), (1, 5), (3, 5)]:
                a = floats(*((4, 3) if trans_a else (3, 4)))
                b = floats(*((5, 4) if trans_b else (4, 5)))
                attributes = {"alpha": alpha, "beta": beta, "transA": trans_a, "transB": trans_b}
                by_onnx("Gemm", attributes, a, b, *([] if c is None else [np.asarray(floats(*c), np.float32)]))


def dots():
    letters = "abcdefgh"
    for lhs, rhs, batch, contracting in [
            ((3, 4), (4, 5), ([], []), ([1], [0])), ((3, 4), (5, 4), ([], []), ([-1], [-1])),
            ((2, 3, 4), (2, 4, 5), ([0], [0]), ([2], [1])), ((3, 2, 4), (4, 5, 2), ([1], [2]), ([2], [0])),
            ((2, 3, 4, 5), (5, 6, 3), ([], []), ([3, 1], [0, 2])),
            ((2, 3, 4, 5), (4, 5, 2, 3), ([0, 1], [2, 3]), ([2, 3], [0, 1])),
            ((2, 3, 4, 5), (3, 7, 2), ([1, 0], [0, 2]), ([], [])), ((3,), (4,), ([], []), ([], [])),
            ((6,), (6,), ([], []), ([0], [0])), ((2, 3, 2), (2, 2, 3), ([-1, 0], [1, 0]), ([1], [2]))]:
        of_lhs = list(letters[: len(lhs)])
        of_rhs = list(letters[len(lhs): len(lhs) + len(rhs)])
        for a, b in list(zip(*batch)) + list(zip(*contracting)):
            of_rhs[b] = of_lhs[a]
        along = [of_lhs[a] for a in batch[0]]
        summed = [of_lhs[a] for a in contracting[0]]
        free = [x for x in of_lhs + of_rhs if x not in along + summed]
        x, y = floats(*lhs), floats(*rhs)
        spec = f"{''.join(of_lhs)},{''.join(of_rhs)}->{''.join(along + free)}"
        z = np.einsum(spec, x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
        names = ["lhs_batch", "rhs_batch", "lhs_contracting", "rhs_contracting"]
        add("dot_general", dict(zip(names, batch + contracting)), [x, y], [z])


def adapters():
    for shape, n, rank in [((4,), 3, 1), ((2, 4), 5, 2), ((3, 2, 6), 4, 3), ((5, 8), 1, 8), ((2, 4), 3, 0)]:
        for alpha in [1.0, -4.0]:
            k = shape[-1]
            x, w, a, b = floats(*shape), floats(n, k), floats(rank, k), floats(n, rank)
            X, W, A, B = (v.astype(np.float64) for v in (x, w, a, b))
            y = X @ W.T + (alpha / max(rank, 1)) * (X @ A.T) @ B.T
            add("lora_matmul", {"alpha": alpha}, [x, w, a, b], [y.astype(np.float32)])


def experts():
    for rows, experts, k, n in [((7,), 3, 4, 5), ((1,), 4, 8, 3), ((9,), 1, 3, 2), ((5, 2), 6, 4, 3), ((3, 4), 9, 5, 4), ((0,), 2, 3, 3)]:
        for trans in [0, 1]:
            x, w = floats(rows[0], k), floats(experts, *((n, k) if trans else (k, n)))
            ids = whole(0, experts, rows, np.int32)
            W = w.astype(np.float64)
            of_row = np.swapaxes(W, 1, 2)[ids] if trans else W[ids]
            y = np.einsum("mk,mkn->mn" if len(rows) == 1 else "tk,tjkn->tjn", x.astype(np.float64), of_row)
            add("grouped_matmul", {"trans": trans}, [x, w, ids], [y.astype(np.float32)])


for make in (gemms, dots, adapters, experts):
    make()
write()
