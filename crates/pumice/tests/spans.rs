//! The feature `tracing`: compiling, loading, preparing and running are spans, in this order.

use pumice::{Device, GraphBuilder, Options, TensorView, f32};
use std::sync::{Arc, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Remembers the names of spans of the target `pumice`.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<&'static str>>>);

impl Subscriber for Names {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "pumice"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut names = self.0.lock().expect("one thread");
        names.push(span.metadata().name());
        Id::from_u64(names.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn the_stages_are_spans() {
    let names = Names::default();
    tracing::subscriber::with_default(names.clone(), || {
        let g = GraphBuilder::new("g");
        g.output("y", g.relu(g.input("x", f32([2]))));
        let graph = g.build().expect("sound");
        let exe = pumice::compile(&graph, &Device::cpu(), &Options::default()).expect("compiles");
        exe.prepare().expect("prepares");
        let x = TensorView::f32(&[1.0, -1.0], [2]);
        exe.session().and_then(|mut s| s.run(&[("x", x)]).map(drop)).expect("runs");
    });
    assert_eq!(*names.0.lock().expect("one thread"), ["compile", "load", "prepare", "run"]);
}
