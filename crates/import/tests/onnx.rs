//! ONNX nodes whose results are as long as the run finds: what must be known before is asked for by name.

use pumice_import::onnx::{self, OnnxError, OnnxInputs, OnnxNode};
use pumice_ir::{GraphBuilder, Value, tensor};
use pumice_types::{DType, Tensor};

/// Inputs of these types; some are constants.
struct Inputs {
    types: Vec<(DType, Vec<u64>)>,
    constants: Vec<Option<Tensor>>,
    largest: Option<u64>,
}

impl OnnxInputs for Inputs {
    fn count(&self) -> usize {
        self.types.len()
    }

    fn value(&mut self, g: &GraphBuilder, place: usize) -> Option<Value> {
        let (dtype, shape) = &self.types[place];
        Some(match &self.constants[place] {
            Some(data) => g.constant(data.clone()),
            None => g.input(&format!("x{place}"), tensor(*dtype, shape.iter().copied())),
        })
    }

    fn constant(&self, place: usize) -> Option<Tensor> {
        self.constants[place].clone()
    }

    fn largest_extent(&self) -> Option<u64> {
        self.largest
    }
}

fn range(dtype: DType, shape: &[u64], delta: Option<Tensor>, largest: Option<u64>) -> Inputs {
    let types = vec![(dtype, shape.to_vec()); 3];
    Inputs { types, constants: vec![None, None, delta], largest }
}

/// How many extents the run finds in the graph of one node.
fn found(op: &str, mut inputs: Inputs) -> Result<usize, OnnxError> {
    let g = GraphBuilder::new("node");
    let node = OnnxNode { op: op.to_owned(), opset: 24, outputs: vec![true], ..OnnxNode::default() };
    let y = onnx::build(&g, &node, &mut inputs)?[0];
    g.output("y", y);
    Ok(g.build().expect("a sound graph").symbols().found().count())
}

#[test]
fn ranges_of_values_have_a_largest_extent() {
    assert_eq!(found("Range", range(DType::I64, &[], None, Some(1000))), Ok(1));
    assert_eq!(found("Range", range(DType::F32, &[1], None, Some(1000))), Ok(1));
    assert_eq!(found("Range", range(DType::I16, &[], None, None)), Ok(1));
    let one = Tensor::new(&[1i64], &[]).expect("one");
    assert_eq!(found("Range", range(DType::I64, &[], Some(one.clone()), Some(9))), Ok(1));
    let refused = found("Range", range(DType::I64, &[], Some(one), None)).expect_err("no bound");
    assert_eq!(refused, OnnxError::NoLargestExtent { op: "Range" });
    assert!(refused.to_string().contains("largest_extent"), "{refused}");
}

#[test]
fn thresholds_are_constants() {
    let types = vec![
        (DType::F32, vec![1, 6, 4]),
        (DType::F32, vec![1, 2, 6]),
        (DType::I64, vec![1]),
        (DType::F32, vec![1]),
        (DType::F32, vec![1]),
    ];
    let most = Tensor::new(&[3i64], &[1]).expect("one");
    let share = Tensor::new(&[0.5f32], &[1]).expect("one");
    let known = [None, None, Some(most), Some(share.clone()), Some(share)];
    let inputs = |constants: &[Option<Tensor>]| Inputs {
        types: types.clone(),
        constants: constants.to_vec(),
        largest: None,
    };
    assert_eq!(found("NonMaxSuppression", inputs(&known)), Ok(1));
    for input in 2..5 {
        let mut constants = known.to_vec();
        constants[input] = None;
        let refused = found("NonMaxSuppression", inputs(&constants)).expect_err("it is not known");
        let is_named = matches!(refused, OnnxError::NotConstant { op: "NonMaxSuppression", input: named, .. } if named == input);
        assert!(is_named, "{refused}");
    }
}
