//! A host step that is one op of a user: its operands go to the user's function as they lie, in natural bytes.

use crate::custom::{CustomCall, CustomOps, Registered};
use crate::graph::actual_type;
use pumice_ir::ops::Op;
use pumice_ir::{Graph, ValueId};
use pumice_runtime::HostError;
use pumice_types::{Bindings, DType, Tensor, TensorError, TensorView};
use std::sync::Arc;

/// Where an operand is.
enum Operand {
    /// Which input of the graph.
    Input(usize),
    /// Written in the graph.
    Constant(Arc<Tensor>),
}

/// The call of a user's function.
pub(super) struct Direct {
    op: Arc<Registered>,
    attributes: String,
    operands: Vec<Operand>,
    /// Types of the results are those of these values.
    results: Vec<ValueId>,
    /// Which result each output of the graph is.
    outputs: Vec<usize>,
}

impl Direct {
    /// The call, if the graph is one op of a user whose operands are inputs and constants.
    pub fn of(graph: &Graph, ops: &CustomOps) -> Option<Direct> {
        let mut computed = graph.nodes().map(|(_, node)| node).filter(|node| !node.op.is_leaf());
        let (node, None) = (computed.next()?, computed.next()) else { return None };
        let Op::Custom(custom) = &node.op else { return None };
        let outputs = graph.outputs().iter().map(|o| node.outputs.iter().position(|&v| v == o.value));
        Some(Direct {
            op: ops.get(&custom.name)?,
            attributes: custom.attributes.clone(),
            operands: node.inputs.iter().map(|&v| Operand::of(graph, v?)).collect::<Option<_>>()?,
            results: node.outputs.to_vec(),
            outputs: outputs.collect::<Option<_>>()?,
        })
    }

    /// Its results, in the order of the graph's outputs.
    pub fn call(
        &self,
        graph: &Graph,
        bindings: &Bindings,
        inputs: &[&[u8]],
    ) -> Result<Vec<Tensor>, HostError> {
        let types = types_of(graph, &graph.inputs(), bindings)?;
        if types.len() != inputs.len() {
            return Err(format!("{} operands, {} given", types.len(), inputs.len()).into());
        }
        let given: Vec<Given<'_>> = types.iter().zip(inputs.iter().copied()).collect();
        let operands = self.operands.iter().map(|operand| operand.view(&given));
        let operands = operands.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        let results = types_of(graph, &self.results, bindings)?;
        let made = self.op.run(&CustomCall {
            attributes: &self.attributes,
            operands: &operands,
            results: &results,
        })?;
        Ok(self.outputs.iter().map(|&i| made[i].clone()).collect())
    }
}

/// The type of an input in this run, and its bytes.
type Given<'a> = (&'a (DType, Vec<u64>), &'a [u8]);

impl Operand {
    fn of(graph: &Graph, v: ValueId) -> Option<Operand> {
        match &graph.def(v).op {
            Op::Constant(c) => Some(Operand::Constant(Arc::clone(&c.data))),
            _ => graph.inputs().iter().position(|&input| input == v).map(Operand::Input),
        }
    }

    fn view<'a>(&'a self, given: &[Given<'a>]) -> Result<TensorView<'a>, TensorError> {
        match self {
            Operand::Constant(tensor) => Ok(tensor.view()),
            Operand::Input(i) => {
                let ((dtype, shape), bytes) = given[*i];
                TensorView::new(*dtype, shape, bytes)
            }
        }
    }
}

fn types_of(
    graph: &Graph,
    values: &[ValueId],
    bindings: &Bindings,
) -> Result<Vec<(DType, Vec<u64>)>, HostError> {
    let ty = |&v| actual_type(graph, v, bindings).map_err(|e| e.to_string().into());
    values.iter().map(ty).collect()
}
