//! Every op of every sample is the same after its attributes are written and read.

use pumice_ir::{AttrReader, Op};

#[test]
fn attributes_round_trip() {
    let mut seen = 0;
    for name in Op::NAMES {
        for sample in Op::samples(name) {
            let graph = sample.graph.expect("samples build");
            for (_, node) in graph.nodes() {
                let attrs = node.op.attrs().into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
                let read = Op::read(node.op.name(), AttrReader::new(attrs)).expect("the op is in the list");
                assert_eq!(read.as_ref(), Ok(&node.op));
                seen += 1;
            }
        }
    }
    assert!(seen > 10_000, "{seen} nodes");
}
