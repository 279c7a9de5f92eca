"""Random blocks of every scheme of the table with the values that the public gguf package gives them.

usage: block_goldens.py OUT.txt        (crates/types/tests/blocks.txt)

Needs gguf and numpy. Schemes and the kinds of their fields are read from the table (crates/types/src/encoding/scheme.rs); a
scheme that GGUF files do not have is left out. Three lines a scheme: name, blocks as hexadecimal bytes, bits of the values
as hexadecimal words. Every NaN is 7fc00000. Two blocks have any bits, one has ordinary scales, and the last four have such
scales over codes of one byte: 00, ff, 80, 7f.
"""
import pathlib
import re
import sys

import gguf
import numpy as np
from gguf.quants import dequantize

TABLE = pathlib.Path(__file__).parents[2] / "crates/types/src/encoding/scheme.rs"
ROW = re.compile(r'= "(\w+)", id \d+, \d+ elements, gguf \d+: ([^;]*);')
KINDS = {"Bits": 1, "F16": 2, "E8M0": 1, "UE4M3": 1}  # kind: bytes of one
EDGES = [0x00, 0xFF, 0x80, 0x7F]
BLOCKS = 3


def fields(row):
    """Kind, first byte and bytes of each field."""
    words, at = row.split(), 0
    for kind, count in zip(words[1::3], words[2::3]):
        yield kind, at, KINDS[kind] * int(count)
        at += KINDS[kind] * int(count)


def scales(rng, kind, size):
    """Ordinary numbers of that kind."""
    if kind == "F16":
        return (rng.normal(size=size // 2) / 64).astype(np.float16).view(np.uint8)
    if kind == "UE4M3":
        return rng.integers(32, 72, size=size, dtype=np.uint8)
    return rng.integers(119, 123, size=size, dtype=np.uint8)


def blocks(rng, row, size):
    raw = rng.integers(0, 256, size=(BLOCKS + len(EDGES), size), dtype=np.uint8)
    for block, edge in zip(raw[BLOCKS:], EDGES):
        block[:] = edge
    for block in raw[BLOCKS - 1 :]:
        for kind, at, length in fields(row):
            if kind != "Bits":
                block[at : at + length] = scales(rng, kind, length)
    return raw


def main():
    rng = np.random.default_rng(20261122)
    with open(sys.argv[1], "w", encoding="ascii") as out, np.errstate(all="ignore"):
        for name, row in ROW.findall(TABLE.read_text(encoding="utf-8")):
            scheme = gguf.GGMLQuantizationType[name.upper()]
            _, size = gguf.GGML_QUANT_SIZES[scheme]
            raw = blocks(rng, row, size)
            values = dequantize(raw, scheme).astype(np.float32).reshape(-1)
            bits = np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))
            out.write(f"{name}\n{raw.tobytes().hex()}\n{''.join(f'{b:08x}' for b in bits)}\n")


main()
