//! Values by others' code (`tests/reference/goldens_codes.py`), on the interpreter and the device: of params, as codes
//! must be.

use pumice_ir::ops::DequantizeLinear;
use pumice_tests::goldens::{CASES, Golden, Near, Suite, given};
use pumice_tests::op_suite::Runner;
use std::collections::BTreeMap;

const SUITE: Suite = Suite {
    texts: &[include_str!("../../data/op_goldens_codes.json")],
    data: |case| case.operands.len(),
    build: |case, g, x| {
        let zero = x.get(2).copied().flatten();
        vec![g.dequantize_linear(given(x, 0), given(x, 1), zero, op(case))]
    },
    // The file's digits name an f32, which is the result to the bit.
    near: |_, _| Near { share: 3e-8, floor: 0.0 },
    are_params: true,
};

fn op(case: &Golden) -> DequantizeLinear {
    let (axis, block_size) = (case.int("axis"), case.int("block_size") as u64);
    DequantizeLinear { axis, block_size, output_dtype: case.word("output_dtype").parse().ok() }
}

#[test]
fn the_interpreter_agrees() {
    SUITE.by_runner(&Runner::interpreter(1 << 16));
}

mod on_device {
    #[test]
    fn the_device_agrees() {
        let device = pumice_tests::device::open(&pumice_vulkan::DeviceOptions::default());
        super::SUITE.by_device(&super::Runner::new(device, 1 << 16));
    }
}

/// At least eight cases of each type of codes, too.
#[test]
fn attributes_vary() {
    SUITE.attributes_vary();
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for case in SUITE.cases() {
        *types.entry(case.operand(0).encoding().to_string()).or_default() += 1;
    }
    assert!(types.len() == 9 && types.values().all(|n| *n >= CASES), "{types:?}");
}
