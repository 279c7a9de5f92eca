"""The node cases of the onnx package (pin 1.23.2) whose op pumice has, as one table and one file of elements.

usage: onnx_nodes.py tests/data/onnx_nodes       (writes .json and .bin; needs onnx 1.23.2 and numpy 2)

A case is taken when it is one node of the default domain, all its inputs and outputs are tensors of ordinary types (f32,
f16, bf16, the integers of 8 to 64 bits, bool), and the importer has a rule for its op. Cases with subgraphs come last.

The table: name, op, opset, attributes (by kind: i, f, s, is, fs, ss, t, g), inputs and outputs by place (null where the
node leaves one out): dtype, shape, and where the elements begin in the file (little endian; equal tensors lie there
once). A subgraph (g) has names: of its inputs and outputs, of its initializers, and of what its nodes read and make.
"""
import json
import pathlib
import re
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

warnings.filterwarnings("ignore")
NAMES = {
    "FLOAT": "f32", "FLOAT16": "f16", "BFLOAT16": "bf16", "INT8": "i8", "UINT8": "u8", "INT16": "i16", "UINT16": "u16",
    "INT32": "i32", "UINT32": "u32", "INT64": "i64", "UINT64": "u64", "BOOL": "bool"}
RULES = pathlib.Path(__file__).parents[2] / "crates/import/src/onnx"
# Ops that the importer has a rule for.
RULED = {op for path in RULES.glob("*.rs") for op in re.findall(r'rule\(\s*"(\w+)"', path.read_text())}
ELEMENTS = bytearray()
PLACES = {}


def tensor(array, dtype):
    array = np.asarray(array)
    data = array.tobytes()
    if data not in PLACES:
        ELEMENTS.extend(b"\0" * (-len(ELEMENTS) % 8))
        PLACES[data] = len(ELEMENTS)
        ELEMENTS.extend(data)
    return {"dtype": dtype, "shape": list(array.shape), "at": PLACES[data]}


def from_proto(proto):
    return tensor(numpy_helper.to_array(proto), NAMES[TensorProto.DataType.Name(proto.data_type)])


def attribute(a):
    kinds = {a.INT: ("i", a.i), a.FLOAT: ("f", a.f), a.STRING: ("s", a.s.decode()), a.INTS: ("is", list(a.ints)),
             a.FLOATS: ("fs", list(a.floats)), a.STRINGS: ("ss", [s.decode() for s in a.strings])}
    if a.type == a.GRAPH:
        return {"g": subgraph(a.g)}
    kind, value = kinds[a.type] if a.type in kinds else ("t", from_proto(a.t))
    return {kind: value}


def subgraph(graph):
    nodes = [{"op": n.op_type, "attributes": {a.name: attribute(a) for a in n.attribute}, "inputs": list(n.input),
              "outputs": list(n.output)} for n in graph.node]
    return {"inputs": [i.name for i in graph.input], "outputs": [o.name for o in graph.output],
            "initializers": {t.name: from_proto(t) for t in graph.initializer}, "nodes": nodes}


def has_subgraphs(case):
    return any(a.type == a.GRAPH for n in case.model.graph.node for a in n.attribute)


def element_type(info):
    if not info.type.HasField("tensor_type"):
        return None
    return NAMES.get(TensorProto.DataType.Name(info.type.tensor_type.elem_type))


def taken(model):
    graph = model.graph
    node = graph.node[0]
    return (len(graph.node) == 1 and node.domain in ("", "ai.onnx") and node.op_type in RULED
            and all(element_type(info) for info in [*graph.input, *graph.output]))


def by_place(names, infos, values):
    known = {}
    for info, value in zip(infos, values):
        value = numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
        known[info.name] = tensor(value, element_type(info))
    return [known[name] if name else None for name in names]


cases = []
for case in sorted(collect_testcases(None), key=has_subgraphs):
    if not taken(case.model):
        continue
    graph, (inputs, outputs) = case.model.graph, case.data_sets[0]
    node = graph.node[0]
    cases.append({
        "name": case.name, "op": node.op_type, "opset": case.model.opset_import[0].version,
        "attributes": {a.name: attribute(a) for a in node.attribute},
        "inputs": by_place(node.input, graph.input, inputs), "outputs": by_place(node.output, graph.output, outputs)})

with open(sys.argv[1] + ".bin", "wb") as f:
    f.write(ELEMENTS)
with open(sys.argv[1] + ".json", "w") as f:
    f.write('{"onnx": "%s", "cases": [\n' % onnx.__version__)
    f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
    f.write("\n]}\n")
print(len(cases), "cases")
