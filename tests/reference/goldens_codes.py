"""Values of DequantizeLinear by others' code: the onnx package's evaluator over ml_dtypes, and NumPy for what it refuses.

usage: goldens_codes.py > tests/data/op_goldens_codes.json       (needs onnx 1.23.2, ml_dtypes and numpy 2)

A case is as those of op_goldens.py; elements of codes are their bits. Operands are q, scale and, where there is one, the
zero point.
"""
import json

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

DRAW = np.random.default_rng(20261127)
CODES = {
    "i8": (np.int8, 8), "u8": (np.uint8, 8), "i16": (np.int16, 16), "i32": (np.int32, 32), "i4": (ml_dtypes.int4, 4),
    "u4": (ml_dtypes.uint4, 4), "f8e4m3fn": (ml_dtypes.float8_e4m3fn, 8), "f8e5m2": (ml_dtypes.float8_e5m2, 8),
    "f4e2m1": (ml_dtypes.float4_e2m1fn, 4), "f8e8m0": (ml_dtypes.float8_e8m0fnu, 8),
}
FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
ONNX = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
INTEGERS = ["i8", "u8", "i16", "i4", "u4"]
CASES = []


def element(v):
    v = float(v)
    return v if np.isfinite(v) else ("nan" if np.isnan(v) else "inf" if v > 0 else "-inf")


def codes(name, shape):
    """Random codes: their values, and their bits."""
    dtype, bits = CODES[name]
    if name in ("i16", "i32"):
        x = DRAW.integers(-30_000, 30_000, shape).astype(dtype)
        return x, [int(v) for v in x.ravel()]
    raw = DRAW.integers(0, 1 << bits, shape)
    if name == "f8e8m0":
        raw = DRAW.integers(120, 134, shape)
    if name == "i4":
        x = ((raw ^ 8) - 8).astype(dtype)
    elif name == "i8":
        x = raw.astype(np.uint8).view(np.int8)
        return x, [int(v) for v in x.ravel()]
    elif name in ("u4", "u8"):
        x = raw.astype(dtype)
    else:
        x = raw.astype(np.uint8).view(dtype)
    return x, [int(v) for v in raw.ravel()]


def case(code, shape, axis, block, scales="f32", output=None, zero=False, whole=False):
    scale_shape = list(shape)
    if whole:
        scale_shape = []
    elif block == 0:
        scale_shape = [shape[axis]]
    else:
        scale_shape[axis] = -(-shape[axis] // block)
    q, q_bits = codes(code, shape)
    if scales in FLOATS:
        scale = DRAW.uniform(-2, 2, scale_shape).astype(FLOATS[scales])
        scale_elements = [element(v) for v in scale.astype(np.float64).ravel()]
    else:
        scale, scale_elements = codes(scales, scale_shape)
    operands = [(code, q, q_bits), (scales, scale, scale_elements)]
    if zero:
        z, bits = codes(code, scale_shape)
        operands.append((code, z, bits))
    y = evaluated(operands, axis, block, output)
    attributes = {"axis": axis, "block_size": block, "output_dtype": output or "none"}
    shown = [{"dtype": name, "shape": list(x.shape), "elements": elements} for name, x, elements in operands]
    dtype = output or (scales if scales in FLOATS else "f32")
    result = {"dtype": dtype, "shape": list(y.shape), "elements": [element(v) for v in y.astype(np.float64).ravel()]}
    CASES.append({"op": "DequantizeLinear", "attributes": attributes, "operands": shown, "results": [result]})


def evaluated(operands, axis, block, output):
    values = [x for _, x, _ in operands]
    by_hand = operands[1][0] not in FLOATS or (block and values[0].shape[axis] % block)
    if by_hand:
        # Scales of f8e8m0 and blocks that do not fill the axis are no input of the evaluator.
        at = np.arange(values[0].shape[axis]) // block
        spread = lambda v: np.take(v.astype(np.float32), at, axis)
        zero = spread(values[2]) if len(values) > 2 else np.float32(0)
        y = (values[0].astype(np.float32) - zero) * spread(values[1])
        return y.astype(FLOATS[output or (operands[1][0] if operands[1][0] in FLOATS else "f32")])
    attributes = {"axis": axis, "block_size": block}
    if output:
        attributes["output_dtype"] = ONNX[output]
    names = [f"x{i}" for i in range(len(values))]
    node = helper.make_node("DequantizeLinear", names, ["y"], **attributes)
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, values)]
    graph = helper.make_graph([node], "g", info, [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, values)))[0]


for name in CODES:
    if name == "f8e8m0":
        continue
    zero = name in INTEGERS
    case(name, (3, 5), 1, 0, whole=True)
    case(name, (3, 5), 1, 0, zero=zero)
    case(name, (4, 3, 2), 0, 0)
    case(name, (3, 16), 1, 4, zero=zero)
    case(name, (6, 5), 0, 2, scales="f16")
    case(name, (3, 7), 1, 3, zero=zero)
    case(name, (3, 8), -1, 4, scales="bf16")
    case(name, (2, 9, 3), 1, 4, scales="f8e8m0")
    case(name, (3, 8), 1, 2, output="f16")
    case(name, (3, 8), 1, 8, output="bf16", zero=zero)
print(json.dumps({"onnx": onnx.__version__, "numpy": np.__version__, "cases": CASES}, separators=(",", ":")))
