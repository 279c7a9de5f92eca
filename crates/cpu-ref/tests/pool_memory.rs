//! A pool's windows together see many times the elements that there are: 8,191 windows over 4,096 elements took
//! 128 MiB of offsets. Memory is measured, so this is a process of its own.

use pumice_cpu_ref::{Array, RefEval};
use pumice_ir::ops::AveragePool;
use pumice_ir::{ConstEval, GraphBuilder};
use pumice_types::Tensor;

const ELEMENTS: u64 = 1 << 12;
/// KiB that evaluating may add to the peak.
const ALLOWED: u64 = 32 << 10;

#[test]
fn windows_are_walked_one_by_one() {
    let g = GraphBuilder::new("wide windows");
    let x = g.constant(Tensor::new(&vec![1.0f32; ELEMENTS as usize], &[1, 1, ELEMENTS]).expect("a tensor"));
    let pads = vec![ELEMENTS - 1; 2];
    g.output("y", g.average_pool(x, AveragePool { kernel: vec![ELEMENTS], pads, ..AveragePool::default() }));
    let graph = g.build().expect("the graph is right");
    let before = peak();
    let y = Array::from_tensor(&RefEval.eval(&graph).expect("it has a value")[0]);
    assert!(y.len() as u64 == 2 * ELEMENTS - 1 && y.to_f64().iter().all(|mean| *mean == 1.0));
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after - before < ALLOWED, "the peak grew by {} KiB", after - before);
    }
}

/// Peak resident memory of this process in KiB, where the system tells it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
