"""Random blocks of every scheme with the values that the public gguf package gives them.

usage: block_goldens.py OUT.txt        (crates/types/tests/blocks.txt)

Needs gguf and numpy. Three lines a scheme: name, blocks as hexadecimal bytes, bits of the values as hexadecimal words. Every
NaN is 7fc00000. The last block has ordinary scales, the others any bits.
"""
import sys

import gguf
import numpy as np
from gguf.quants import dequantize

SCHEMES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ4_NL": [0],
}  # scheme: first bytes of its f16 fields
BLOCKS = 3


def main():
    rng = np.random.default_rng(20261122)
    with open(sys.argv[1], "w", encoding="ascii") as out, np.errstate(all="ignore"):
        for name, halves in SCHEMES.items():
            scheme = gguf.GGMLQuantizationType[name]
            _, size = gguf.GGML_QUANT_SIZES[scheme]
            raw = rng.integers(0, 256, size=(BLOCKS, size), dtype=np.uint8)
            for at in halves:
                raw[-1, at : at + 2] = np.frombuffer(np.float16(rng.normal() / 64).tobytes(), dtype=np.uint8)
            values = dequantize(raw, scheme).astype(np.float32).reshape(-1)
            bits = np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))
            out.write(f"{name.lower()}\n{raw.tobytes().hex()}\n{''.join(f'{b:08x}' for b in bits)}\n")


main()
