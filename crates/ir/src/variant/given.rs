//! Params as states that runs may write.

use super::Copy;
use crate::graph::Graph;
use crate::ops::{Cast, Op, State, StateRead};
use crate::shape::ValueType;
use pumice_types::DType;
use std::collections::BTreeSet;

impl Graph {
    /// The graph in which float params of these names are states of f32, given by name and read where the params were;
    /// those of 16 bits are rounded where they are read. Other names, and params in blocks, stay as they are. What was
    /// read is a value named `<param>.now`.
    ///
    /// ```
    /// use pumice_ir::{GraphBuilder, f16};
    /// let g = GraphBuilder::new("g");
    /// g.output("y", g.neg(g.param("w", f16([3]))));
    /// let graph = g.build()?.with_given_states(&["w"]);
    /// assert!(graph.params().is_empty() && graph.find("w.now").is_some());
    /// assert_eq!(graph.states().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    pub fn with_given_states(&self, params: &[&str]) -> Graph {
        let params: BTreeSet<&str> = params.iter().copied().collect();
        let mut copy = Copy::of(self);
        for (id, node) in self.nodes() {
            let value = self.value(node.output());
            let float = value.ty.encoding.plain().filter(|dtype| dtype.is_float());
            match (&node.op, float) {
                (Op::Param(_), Some(dtype)) if params.contains(&*value.name) => {
                    let ty = ValueType::new(DType::F32, value.ty.shape.clone());
                    let op = State { ty: ty.clone(), capacity_axis: None, given: true };
                    let state = copy.leaf(op, ty.clone(), &value.name);
                    let mut read = copy.add(StateRead {}, &[state], ty, format!("{}.now", value.name));
                    if dtype != DType::F32 {
                        let name = format!("{}.rounded", value.name);
                        read = copy.add(Cast { to: dtype }, &[read], value.ty.clone(), name);
                    }
                    copy.place[node.output().index()] = Some(read);
                }
                _ => copy.node(id, node.op.clone()),
            }
        }
        copy.finish(&(0..self.outputs.len()).collect::<Vec<_>>())
    }
}
