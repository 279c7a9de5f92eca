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


def windows(rng_shape, kernel, strides, pads, dilations):
    """For each position of a window, the places under it that are inside."""
    n = len(kernel)
    outs = [(rng_shape[i] + pads[i] + pads[n + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(n)]
    for p in np.ndindex(*outs):
        yield p, [tuple(p[i] * strides[i] + t[i] * dilations[i] - pads[i] for i in range(n)) for t in np.ndindex(*kernel)]


WINDOWS = [
    ((9,), (3,), (2,), (1, 0), (1,)),
    ((7, 8), (2, 3), (1, 2), (0, 1, 1, 1), (1, 2)),
    ((6, 6), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)),
    ((4, 5, 3), (2, 2, 2), (1, 2, 1), (1, 0, 0, 0, 1, 1), (1, 1, 1)),
    ((10,), (2,), (1,), (0, 0), (3,)),
]


def lp_pool(x, attributes):
    """The evaluator's sums of last windows that end outside are not sums: those are NumPy's."""
    if not attributes["ceil_mode"]:
        return by_onnx("LpPool", attributes, x)
    kernel, strides, pads, dilations = [attributes[k] for k in ("kernel_shape", "strides", "pads", "dilations")]
    n, power = len(kernel), attributes["p"]
    more = list(pads)
    for i in range(n):
        room = x.shape[2 + i] + pads[i] + pads[n + i] - dilations[i] * (kernel[i] - 1) - 1
        count = -(-room // strides[i]) + 1
        if (count - 1) * strides[i] >= x.shape[2 + i] + pads[i]:
            count -= 1
        more[n + i] += (count - 1) * strides[i] - room
    sums, outs = [], None
    for position, under in windows(x.shape[2:], kernel, strides, more, dilations):
        inside = [at for at in under if all(0 <= a < m for a, m in zip(at, x.shape[2:]))]
        terms = [np.abs(x[(slice(None), slice(None), *at)].astype(np.float64)) ** power for at in inside]
        sums.append(np.sum(terms, axis=0))
        outs = [a + 1 for a in position]
    y = np.stack(sums, -1).reshape(*x.shape[:2], *outs) ** (1 / power)
    add("LpPool", attributes, [x], [y.astype(np.float32)])


def pools():
    for spatial, kernel, strides, pads, dilations in WINDOWS:
        lists = {"kernel_shape": list(kernel), "strides": list(strides), "pads": list(pads), "dilations": list(dilations)}
        for ceil_mode in [0, 1]:
            for order in [0, 1]:
                x = o.coarse(2, 3, *spatial)
                by_onnx("MaxPool", lists | {"ceil_mode": ceil_mode, "storage_order": order}, x, results=2)
            for p in [1, 2, 3]:
                lp_pool(floats(1, 2, *spatial), lists | {"ceil_mode": ceil_mode, "p": p})
        x = floats(2, 2, *spatial)
        outs = None
        y, columns = {}, {}
        for position, under in windows(spatial, kernel, strides, pads, dilations):
            inside = [all(0 <= a < n for a, n in zip(at, spatial)) for at in under]
            taken = [x[(slice(None), slice(None), *at)] if i else None for at, i in zip(under, inside)]
            y[position] = np.prod([t.astype(np.float64) for t in taken if t is not None], axis=0)
            columns[position] = np.stack([np.zeros_like(x[..., 0].reshape(2, 2, -1)[..., 0]) if t is None else t for t in taken], 2)
            outs = [a + 1 for a in position]
        product = np.stack([y[p] for p in np.ndindex(*outs)], -1).reshape(2, 2, *outs).astype(np.float32)
        add("prod_pool", lists, [x], [product])
        add("prod_pool", lists, [x[:1]], [product[:1]])
        matrix = np.stack([columns[p] for p in np.ndindex(*outs)], -1)
        matrix = matrix.reshape(2, -1, matrix.shape[-1])
        add("im2col", lists | {"layout": "columns"}, [x], [matrix])
        add("im2col", lists | {"layout": "rows"}, [x], [matrix.transpose(0, 2, 1).reshape(-1, matrix.shape[1])])
        for channels in [1, 3]:
            c = floats(2, channels * int(np.prod(kernel)), int(np.prod(outs)))
            names = {"strides": list(strides), "pads": list(pads), "dilations": list(dilations)}
            by_onnx("Col2Im", names, c, np.array(spatial, np.int64), np.array(kernel, np.int64))
    for shape in [(2, 3, 5), (1, 2, 4, 3), (1, 2, 3, 2, 2)]:
        for p in [1, 2, 3]:
            x = floats(*shape)
            y = (np.abs(x.astype(np.float64)) ** p).sum(tuple(range(2, len(shape))), keepdims=True) ** (1 / p)
            add("global_lp_pool", {"p": p}, [x], [y.astype(np.float32)])
    for shape, output in [((10,), (4,)), ((7,), (7,)), ((3,), (7,)), ((6,), (3,)), ((10, 7), (4, 7)), ((5, 9), (1, 4)),
                          ((224,), (6,)), ((5, 6, 7), (2, 4, 3)), ((8, 8), (2, 4))]:
        x = floats(2, 3, *shape)
        y = x.astype(np.float64)
        for i, m in enumerate(output):
            n = shape[i]
            parts = [y.take(range(j * n // m, -(-(j + 1) * n // m)), i + 2).mean(i + 2) for j in range(m)]
            y = np.stack(parts, i + 2)
        add("adaptive_average_pool", {"output": list(output)}, [x], [y.astype(np.float32)])


MAPS = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
SHAPES = [
    ((1, 2, 4, 5), [2, 3], {"scales": [2.0, 1.5]}),
    ((2, 7), [1], {"sizes": [3]}),
    ((1, 1, 3, 4), [2, 3], {"sizes": [7, 1]}),
    ((5, 3), [0, 1], {"scales": [0.6, 0.75]}),
    ((2, 3, 4), [0, 2], {"sizes": [4, 9]}),
    ((3, 4), None, {"sizes": [5, 6]}),
]


def resize(x, attributes, axes, scales=None, sizes=None, roi=None):
    names = attributes | ({} if axes is None else {"axes": axes})
    operands = [x, None if roi is None else np.array(roi, np.float32),
                None if scales is None else np.array(scales, np.float32),
                None if sizes is None else np.array(sizes, np.int64)]
    while operands[-1] is None:
        operands.pop()
    result = by_evaluator("Resize", names, operands, 1)
    lists = {"axes": axes or [], "scales": scales or [], "sizes": sizes or [], "roi": roi or []}
    add("Resize", attributes | lists, [x], result)


def resizes():
    for coordinates in MAPS:
        for shape, axes, to in SHAPES:
            count = len(shape) if axes is None else len(axes)
            roi = None
            if coordinates == "tf_crop_and_resize":
                if "scales" in to:
                    continue
                roi = [0.125, -0.25, 0.0][:count] + [0.75, 1.25, 0.5][:count]
            # The evaluator counts fractions of elements where corners are aligned, and puts one element alone at -1/2.
            if coordinates == "align_corners" and "scales" in to:
                to = {"sizes": [int(shape[a] * s) for a, s in zip(axes, to["scales"])]}
            for mode in ["nearest", "linear", "cubic"]:
                if mode == "cubic" and coordinates == "pytorch_half_pixel" and 1 in to.get("sizes", []):
                    continue
                attributes = {"coordinate_transformation_mode": coordinates, "mode": mode}
                if roi is not None:
                    attributes["extrapolation_value"] = 0.0 if mode == "linear" else 2.5
                if mode == "nearest":
                    for rounding in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]:
                        resize(floats(*shape), attributes | {"nearest_mode": rounding}, axes, roi=roi, **to)
                elif mode == "cubic":
                    for a, outside in [(-0.75, 0), (-0.5, 1)]:
                        if outside and roi is not None:
                            continue
                        names = {"cubic_coeff_a": a, "exclude_outside": outside}
                        resize(floats(*shape), attributes | names, axes, roi=roi, **to)
                else:
                    resize(floats(*shape), attributes, axes, roi=roi, **to)
    for policy in ["not_larger", "not_smaller", "stretch"]:
        for shape, axes, sizes in [((1, 1, 4, 6), [2, 3], [7, 8]), ((3, 5), [0, 1], [2, 9]), ((3, 5), [1], [2])]:
            for mode in ["nearest", "linear"]:
                names = {"keep_aspect_ratio_policy": policy, "mode": mode}
                resize(floats(*shape), names, axes, sizes=sizes)
    for mode in ["nearest", "linear"]:
        for scales, shape in [([2.0, 3.0], (3, 4)), ([1.0, 1.5], (2, 6)), ([1.0, 1.0, 2.0, 2.0], (1, 2, 3, 3)), ([1.25], (4,))]:
            x = floats(*shape)
            # The evaluator's Upsample takes nearest with one whole scale alone; Resize is what replaced it.
            names = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            y = by_evaluator("Resize", names, [x, None, np.array(scales, np.float32)], 1)
            add("Upsample", {"mode": mode, "scales": scales}, [x], y)
    for shape in [(1, 1, 3), (2, 3, 2, 4), (1, 2, 2, 3, 2), (1, 1, 1, 1)]:
        for _ in range(2):
            x = floats(*shape)
            y = x
            for axis in range(2, len(shape)):
                y = y.repeat(2, axis)
            add("upsample_nearest_2x", {}, [x], [y])


def positive(*shape):
    return o.DRAW.uniform(0.25, 2.0, shape).astype(np.float32)


def shortened(tensors):
    """f32 in as few digits as tell it from its neighbours."""
    for t in tensors:
        if t["dtype"] == "f32":
            t["elements"] = [v if isinstance(v, str) else float(str(np.float32(v))) for v in t["elements"]]


if __name__ == "__main__":
    for make in (norms, pools, resizes):
        make()
    for case in o.CASES:
        shortened(case["operands"] + case["results"])
    o.write()
