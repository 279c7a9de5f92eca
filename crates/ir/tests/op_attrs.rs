//! Every op of every sample is the same after its attributes are written and read.

use pumice_ir::ops::{Affine, Attention, Constant, Conv};
use pumice_ir::{AttrReader, GraphBuilder, Op, f32, sym};
use pumice_types::Tensor;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

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

/// A condition that symbols decide names its node, which may be named by its op, and with a number.
#[test]
fn a_graph_with_conditions_is_the_graph_of_its_text() {
    let g = GraphBuilder::new("window");
    let x = g.input("x", f32([1.into(), 1.into(), sym("d", 1..=2)]));
    for i in 0..2 {
        let w = g.input(&format!("w{i}"), f32([1, 1, 4 - i]));
        let pads = vec![0, 2 - i];
        g.output(&format!("y{i}"), g.conv(x, w, None, Conv { pads, ..Conv::default() }));
    }
    let graph = g.build().expect("sound");
    let text = pumice_ir::text::print(&graph);
    let read = pumice_ir::text::read(&text).expect("reads");
    assert_eq!(read.constraints(), graph.constraints(), "{text}");
    assert_eq!(read, graph, "{text}");
}

fn hash(op: &Op) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    op.hash(&mut hasher);
    hasher.finish()
}

/// Every op of every sample: what prints alike is equal and hashes alike, what does not is not equal.
#[test]
fn ops_are_equal_where_their_text_is() {
    let mut known: BTreeMap<String, Op> = BTreeMap::new();
    for name in Op::NAMES {
        for sample in Op::samples(name) {
            let graph = sample.graph.expect("samples build");
            for (_, node) in graph.nodes() {
                let text = format!("{:?}", node.op);
                let twin = known.entry(text).or_insert_with(|| node.op.clone());
                assert_eq!((&*twin, hash(twin)), (&node.op, hash(&node.op)));
            }
        }
    }
    let mut last: BTreeMap<&str, &Op> = BTreeMap::new();
    for (text, op) in &known {
        let other = last.insert(op.name(), op);
        assert!(other.is_none_or(|other| other != op), "{text} is equal to {other:?}");
    }
    assert!(known.len() > 1_000, "{} ops", known.len());
}

/// As attributes −0 is not +0 and one NaN is every NaN, also inside options; a left-out attribute is the default to the
/// bit.
#[test]
fn floats_are_compared_by_their_bits() {
    let affine = |add: f32| Op::from(Affine { mul: 1.0, add });
    let scaled = |scale: Option<f32>| Op::from(Attention { scale, ..Attention::default() });
    assert_ne!(affine(0.0), affine(-0.0));
    assert_ne!(scaled(Some(0.0)), scaled(Some(-0.0)));
    assert_ne!(scaled(None), scaled(Some(0.0)));
    let (nan, other) = (affine(f32::NAN), affine(f32::from_bits(0xffc0_0001)));
    assert_eq!((&nan, hash(&nan)), (&other, hash(&other)));
    assert!(affine(0.0).attrs().is_empty());
    assert_eq!(affine(-0.0).attrs().len(), 1, "−0 is not the default 0, and was once left out of the text");
}

/// Constants are equal where dtype, extents and bytes are, however often their digests were asked for.
#[test]
fn constants_are_compared_by_their_bytes() {
    let constant = |values: &[f32], shape: &[u64]| {
        Op::from(Constant { data: Arc::new(Tensor::new(values, shape).expect("lengths agree")) })
    };
    let (a, b) = (constant(&[1.0, 2.0], &[2]), constant(&[1.0, 2.0], &[2]));
    assert_eq!((&a, hash(&a)), (&b, hash(&b)));
    for other in [constant(&[1.0, 2.5], &[2]), constant(&[1.0, 2.0], &[2, 1]), constant(&[1.0], &[1])] {
        assert_ne!(a, other);
        assert_ne!(hash(&a), hash(&other));
        assert_ne!(a, other);
    }
}
