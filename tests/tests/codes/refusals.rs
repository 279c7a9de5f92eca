//! Codes go into `dequantize_linear` alone: everything else refuses them by name.

use pumice_ir::ops::DequantizeLinear;
use pumice_ir::{GraphBuilder, Value, f32, tensor};
use pumice_types::{Code, DType, Encoding, Tensor, TensorError};

/// The mistakes of what this builds.
fn told(build: impl FnOnce(&GraphBuilder)) -> String {
    let g = GraphBuilder::new("codes");
    build(&g);
    match g.build() {
        Ok(_) => panic!("it was built"),
        Err(e) => e.to_string(),
    }
}

fn of_codes(code: Code, build: impl FnOnce(&GraphBuilder, Value)) -> String {
    told(|g| build(g, g.param("w", tensor(code, [4u64, 8]))))
}

#[test]
fn every_other_op_refuses_codes_by_name() {
    for code in Code::ALL {
        let refused = [
            ("add", of_codes(code, |g, w| g.output("y", g.add(w, w)))),
            ("linear", of_codes(code, |g, w| g.output("y", g.linear(g.input("x", f32([2, 8])), w, None)))),
            ("cast", of_codes(code, |g, w| g.output("y", g.cast(w, DType::F32)))),
            ("slice", of_codes(code, |g, w| g.output("y", g.narrow(w, 0, 0u64, 2u64)))),
            ("dequantize", of_codes(code, |g, w| g.output("y", g.dequantize(w)))),
            ("reshape", of_codes(code, |g, w| g.output("y", g.reshape(w, &[32])))),
            ("logsumexp", of_codes(code, |g, w| g.output("y", g.mse(w, w, Default::default()).0))),
        ];
        for (op, text) in refused {
            let named = text.contains(code.name()) && text.contains("dequantize_linear");
            assert!(named, "{op} of {code:?}: {text}");
        }
        let output = of_codes(code, |g, w| g.output("y", w));
        assert!(output.contains(code.name()) && output.contains("`y`"), "{output}");
    }
}

#[test]
fn inputs_constants_and_states_are_no_codes() {
    for code in Code::ALL {
        let data = Tensor::from_bytes(code, &[4], vec![0; (4 * code.bits() / 8) as usize]).expect("codes");
        let op = DequantizeLinear::default;
        let one = |g: &GraphBuilder| g.param("s", tensor::<u64>(DType::F32, []));
        let all = [
            told(|g| {
                let q = g.input("q", tensor(code, [4u64]));
                g.output("y", g.dequantize_linear(q, one(g), None, op()));
            }),
            told(|g| {
                let q = g.constant(data.clone());
                g.output("y", g.dequantize_linear(q, one(g), None, op()));
            }),
            told(|g| {
                let q = g.state("q", tensor(code, [4u64]));
                g.output("y", g.dequantize_linear(q, one(g), None, op()));
            }),
        ];
        for text in all {
            assert!(text.contains(code.name()), "{text}");
        }
    }
}

fn applied(
    q: Encoding,
    shape: &[u64],
    scale: (Encoding, &[u64]),
    zero: Option<(Encoding, &[u64])>,
    op: DequantizeLinear,
) -> String {
    told(|g| {
        let param = |name: &str, ty: (Encoding, &[u64])| g.param(name, tensor(ty.0, ty.1.iter().copied()));
        let (q, s) = (param("q", (q, shape)), param("s", scale));
        g.output("y", g.dequantize_linear(q, s, zero.map(|z| param("z", z)), op));
    })
}

#[test]
fn operands_that_do_not_fit_are_told() {
    let (i8, f, i4) = (Encoding::Plain(DType::I8), Encoding::Plain(DType::F32), Encoding::Codes(Code::I4));
    let op = |axis, block_size| DequantizeLinear { axis, block_size, ..DequantizeLinear::default() };
    let e4m3 = Encoding::Codes(Code::F8E4M3Fn);
    for (text, words) in [
        (applied(f, &[4, 8], (f, &[]), None, op(1, 0)), "f32"),
        (applied(Encoding::Codes(Code::F8E8M0), &[4, 8], (f, &[]), None, op(1, 0)), "f8e8m0"),
        (applied(DType::U32.into(), &[4, 8], (f, &[]), None, op(1, 0)), "u32"),
        (applied(i8, &[4, 8], (e4m3, &[]), None, op(1, 0)), "f8e4m3fn"),
        (applied(i8, &[4, 8], (i8, &[]), None, op(1, 0)), "i8"),
        (applied(i8, &[4, 8], (f, &[7]), None, op(1, 0)), "the axis of `q`"),
        (applied(i8, &[4, 8], (f, &[4]), None, op(2, 0)), "2"),
        (applied(i8, &[4, 8], (f, &[4, 8]), None, op(1, 0)), "scale"),
        (applied(i4, &[4, 8], (f, &[4, 3]), None, op(1, 4)), "blocks"),
        (applied(i4, &[4, 9], (f, &[4, 2]), None, op(1, 4)), "blocks"),
        (applied(i4, &[4, 8], (f, &[2]), None, op(1, 4)), "blocks"),
        (applied(i4, &[4, 8], (f, &[4, 2]), Some((i8, &[4, 2])), op(1, 4)), "i4"),
        (applied(i4, &[4, 8], (f, &[4, 2]), Some((i4, &[4, 1])), op(1, 4)), "zero point"),
        (applied(e4m3, &[4, 8], (f, &[4, 2]), Some((e4m3, &[4, 2])), op(1, 4)), "no zero point"),
        (
            applied(DType::I32.into(), &[8], (f, &[]), Some((DType::I32.into(), &[])), op(0, 0)),
            "no zero point",
        ),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let ints = DequantizeLinear { output_dtype: Some(DType::I32), ..DequantizeLinear::default() };
    assert!(applied(i8, &[4, 8], (f, &[]), None, ints).contains("output_dtype"));
}

/// The last byte of an odd number of codes is filled.
#[test]
fn bytes_are_those_of_packed_codes() {
    assert!(Tensor::from_bytes(Code::U4, &[3, 5], vec![0; 8]).is_ok());
    let short = Tensor::from_bytes(Code::U4, &[3, 5], vec![0; 7]);
    assert!(matches!(short, Err(TensorError::Length { expected: 8, given: 7, .. })), "{short:?}");
}
