"""Mean squared errors of the public quantizers, which pumice's are compared with.

usage: quantizer_errors.py [MODEL.gguf]

Needs gguf 0.19.0, numpy and xllamacpp 2026.10.11549 (its library has `ggml_quantize_chunk`). Prints `name error` for
16,384 normal numbers (crates/import/src/encode/tests.rs makes the same and has these figures), then for every sixteenth
block of the ffn weights of a model: q8_0, q5_0 and q4_0 by the gguf package, K encodings by ggml without an importance
matrix.
"""
import ctypes
import sys

import gguf
import numpy as np
import xllamacpp.xllamacpp as library
from gguf.quants import dequantize, quantize

BY_GGUF = ["q8_0", "q5_0", "q4_0"]
BY_GGML = ["q6_k", "q5_k", "q4_k"]
COUNT = 64 * 256


def normal(count):
    """Box and Muller's numbers of pairs of SplitMix64's."""
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    u = ((z >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    radius, angle = np.sqrt(-2 * np.log(u[0::2])), 2 * np.pi * u[1::2]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1).astype(np.float32)


def by_ggml(rows, kind):
    library_ = ctypes.CDLL(library.__file__)
    chunk = library_.ggml_quantize_chunk
    chunk.restype = ctypes.c_size_t
    chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros(rows.size // elements * size, np.uint8)
    chunk(int(kind), rows.ctypes.data, out.ctypes.data, 0, rows.shape[0], rows.shape[1], None)
    return out.reshape(rows.shape[0], -1)


def errors(rows):
    rows = np.ascontiguousarray(rows, np.float32)
    for name in BY_GGUF + BY_GGML:
        kind = gguf.GGMLQuantizationType[name.upper()]
        blocks = quantize(rows, kind) if name in BY_GGUF else by_ggml(rows, kind)
        print(name, f"{np.mean((dequantize(blocks, kind).astype(np.float64) - rows) ** 2):.6e}", flush=True)


def main():
    errors(normal(COUNT).reshape(-1, 256))
    for path in sys.argv[1:]:
        tensors = [t for t in gguf.GGUFReader(path).tensors if ".ffn_" in t.name and "norm" not in t.name]
        flat = [dequantize(t.data, t.tensor_type).reshape(-1) for t in tensors]
        errors(np.concatenate(flat).reshape(-1, 256)[::16])


if __name__ == "__main__":
    main()
