//! Every op of every sample is the same after its attributes are written and read.

use pumice_ir::{AttrReader, GraphBuilder, Op, f32};

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

/// The smallest integer has a meaning of its own as the end of a slice; its text was once read as the largest.
#[test]
fn the_smallest_integer_round_trips_in_text() {
    let g = GraphBuilder::new("backward");
    g.output("y", g.slice(g.input("x", f32([4])), &[-1], &[i64::MIN], &[0], &[-1]));
    let text = pumice_ir::text::print(&g.build().expect("sound"));
    let read = pumice_ir::text::read(&text).expect("reads");
    assert_eq!(pumice_ir::text::print(&read), text);
    let too_large = text.replace("-9223372036854775808", "9223372036854775808");
    assert!(pumice_ir::text::read(&too_large).is_err());
}
