//! All outputs, a subset in the asked order, twice the same, none; into the caller's memory; rows of one.

use crate::{floats, numbers};
use pumice_compile::Options;
use pumice_ir::{GraphBuilder, f32, sym};
use pumice_runtime::{OutputBuffer, RuntimeError, Session};
use pumice_tests::{Lab, on_every_device};
use pumice_types::{DType, TensorView};

on_every_device!(subsets_in_the_asked_order, partial_reads, leaves_and_casts_as_outputs);

/// y = 2x, z = x + 1 (twice an output), n = x in f16; x is f32[rows, 3], rows 1 to 6.
fn session(lab: &Lab) -> Session {
    let g = GraphBuilder::new("outputs");
    let x = g.input("x", f32([sym("rows", 1..=6), 3.into()]));
    let y = g.mul(x, g.constant_scalar(DType::F32, 2.0));
    let z = g.add(x, g.constant_scalar(DType::F32, 1.0));
    g.output("y", y);
    g.output("z", z);
    g.output("again", z);
    g.output("n", g.cast(x, DType::F16));
    lab.executable(&g.build().expect("sound"), &Options::default()).session().expect("a session")
}

fn subsets_in_the_asked_order(lab: &Lab) {
    let mut s = session(lab);
    assert!(matches!(s.outputs(), Err(RuntimeError::NoResults)));
    let x = numbers(12, 1);
    let inputs = [("x", TensorView::f32(&x, [4, 3]))];
    let doubled: Vec<f32> = x.iter().map(|v| 2.0 * v).collect();
    let plus: Vec<f32> = x.iter().map(|v| v + 1.0).collect();
    let out = s.run(&inputs).expect("runs");
    assert_eq!(out.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["y", "z", "again", "n"]);
    assert_eq!(
        (floats(out.at(0).expect("y")), floats(out.get("again").expect("z"))),
        (doubled.clone(), plus.clone())
    );
    assert_eq!(out.get("n").expect("n").shape(), [4, 3]);
    let asked = s.run_read(&inputs, &[2, 0, 2]).expect("runs");
    assert_eq!(asked.iter().map(floats).collect::<Vec<_>>(), [plus.clone(), doubled.clone(), plus.clone()]);
    assert!(s.run_read(&inputs, &[]).expect("runs").is_empty());
    assert!(matches!(s.run_read(&inputs, &[0, 4]), Err(RuntimeError::OutputIndex { index: 4, count: 4 })));
    let (mut y, mut z) = (vec![0f32; 12], vec![0f32; 12]);
    s.run_into(&inputs, &mut [OutputBuffer::numbers(1, &mut z), OutputBuffer::numbers(0, &mut y)])
        .expect("runs");
    assert_eq!((y, z), (doubled, plus));
    let mut short = vec![0f32; 11];
    let wrong = s.run_into(&inputs, &mut [OutputBuffer::numbers(0, &mut short)]);
    assert!(matches!(wrong, Err(RuntimeError::Length { expected: 48, given: 44, .. })));
}

fn partial_reads(lab: &Lab) {
    let mut s = session(lab);
    for rows in [6u64, 1, 4] {
        let x = numbers(3 * rows as usize, rows);
        s.execute(&[("x", TensorView::f32(&x, [rows, 3]))], &Default::default()).expect("runs");
        let z: Vec<f32> = x.iter().map(|v| v + 1.0).collect();
        assert_eq!(s.output_shape(1).expect("there"), [rows, 3]);
        assert_eq!(floats(&s.output_row("z", rows - 1).expect("last")), z[z.len() - 3..]);
        assert_eq!(floats(&s.output_range("z", 0, 0..rows).expect("all")), z);
        let columns = s.output_range("z", 1, 1..3).expect("two columns");
        assert_eq!(columns.shape(), [rows, 2]);
        let expected: Vec<f32> = z.chunks(3).flat_map(|r| r[1..].to_vec()).collect();
        assert_eq!(floats(&columns), expected);
        assert!(
            matches!(s.output_row("z", rows), Err(RuntimeError::Rows { .. })),
            "trimmed to the actual rows"
        );
        let twice = s.read_outputs(&[1, 1]).expect("there");
        assert_eq!(twice[0], twice[1]);
    }
}

/// An input, a param and a state are outputs too; a boundary cast converts.
fn leaves_and_casts_as_outputs(lab: &Lab) {
    let g = GraphBuilder::new("leaves");
    let x = g.input("x", f32([2u64]));
    let p = g.param("p", f32([2u64]));
    let s = g.state("s", f32([2u64]));
    let old = g.state_read(s);
    g.state_write(s, g.add(old, x));
    g.output("x", x);
    g.output("p", p);
    g.output("old", old);
    g.output("half", g.cast(g.identity(x), DType::F16));
    let exe = lab.executable(&g.build().expect("sound"), &Options::default());
    exe.set_param("p", &[7.0, 8.0]).expect("set");
    let mut session = exe.session().expect("a session");
    for k in 0..3u16 {
        let out = session.run(&[("x", TensorView::f32(&[1.0, 2.0], [2]))]).expect("runs");
        assert_eq!(floats(out.get("x").expect("there")), [1.0, 2.0]);
        assert_eq!(floats(out.get("p").expect("there")), [7.0, 8.0]);
        assert_eq!(floats(out.get("old").expect("there")), [f32::from(k), 2.0 * f32::from(k)]);
        let half = out.get("half").expect("there").to_vec::<half::f16>().expect("f16");
        assert_eq!(half, [half::f16::from_f32(1.0), half::f16::from_f32(2.0)]);
    }
}
