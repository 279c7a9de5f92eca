//! Ten million words of random numbers: those of the device are the evaluator's, word by word, over steps and streams.

use pumice_compile::Options;
use pumice_cpu_ref::{EvalOptions, RefSession};
use pumice_ir::ops::random_numbers::{RandomKind, RandomNumbers};
use pumice_ir::{Graph, GraphBuilder};
use pumice_tests::Fixture;
use pumice_types::{Bindings, DimExpr};

/// Words of a stream in a run: no multiple of what a group makes.
const WORDS: u64 = 1_000_003;
const STREAMS: [u64; 2] = [1, 0xdead_beef];
const RUNS: usize = 5;

fn graph() -> Graph {
    let g = GraphBuilder::new("words");
    let source = g.random_source();
    for stream in STREAMS {
        let shape = vec![DimExpr::from(WORDS)];
        let op = RandomNumbers { shape, stream, kind: RandomKind::Words };
        g.output(&format!("w{stream}"), g.apply(op, &[source.seed_low, source.seed_high, source.step]));
    }
    g.build().expect("sound")
}

fn ten_million_are_the_evaluators(fixture: &Fixture) {
    assert!(WORDS as usize * STREAMS.len() * RUNS > 10_000_000);
    let graph = graph();
    let mut session = fixture.executable(&graph, &Options::default()).session().expect("a session");
    let mut reference = RefSession::new(&graph, &|_| None, EvalOptions::default()).expect("no params");
    for (name, value) in
        [("seed_low", 20_261_126u32), ("seed_high", 0x9e37_79b9), ("random_step", u32::MAX - 10)]
    {
        session.set_scalar(name, value).expect("a scalar");
        assert!(reference.set_scalar(name, f64::from(value)));
    }
    for run in 0..RUNS {
        session.execute(&[], &pumice_runtime::RunOptions::default()).expect("runs");
        let want = reference.run(&|_| None, &Bindings::new()).expect("has a value");
        for (i, want) in want.outputs.iter().enumerate() {
            let (got, want) = (session.read_output(i).expect("there"), want.to_tensor().expect("fits"));
            let other = got.bytes().chunks(4).zip(want.bytes().chunks(4)).position(|(a, b)| a != b);
            assert_eq!(other, None, "run {run}, stream {}", STREAMS[i]);
            assert_eq!(got.bytes().len() as u64, 4 * WORDS);
        }
    }
}

mod on_device {
    use super::*;

    #[test]
    fn ten_million_words() {
        ten_million_are_the_evaluators(&Fixture::vulkan());
    }
}
