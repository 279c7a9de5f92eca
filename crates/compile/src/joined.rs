//! Weights side by side: params that meet in one concatenation along their outermost axis lie one after the other, so
//! that what reads all of them reads one weight, with no copy and no step.
//!
//! In: the graph that all runs share. Out: sets of params, decided once; each param is in one set at most. A second,
//! different concatenation of the same param copies.

use crate::cx::{LowerCx, LowerResult};
use crate::unplaced::{PlacedView, StorageClass};
use pumice_ir::{Graph, Node, ValueId};
use pumice_plan::View;
use pumice_types::slots::LOAD_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// The sets, by the params' numbers, in the order of their bytes. `bytes` are those of a param.
pub fn sets(graph: &Graph, bytes: impl Fn(&u32) -> u64) -> Vec<Vec<u32>> {
    let numbers: BTreeMap<ValueId, u32> = graph.params().into_iter().zip(0..).collect();
    let mut taken: BTreeSet<u32> = BTreeSet::new();
    let mut sets: Vec<Vec<u32>> = Vec::new();
    for (_, node) in graph.nodes().filter(|(_, node)| node.op.is_joining(&graph.ty(node.output()).shape)) {
        let Some(params) = params_of(graph, node, &numbers) else { continue };
        let fits =
            params.len() > 1 && params.iter().all(|i| bytes(i).is_multiple_of(LOAD_BYTES) && bytes(i) > 0);
        let distinct: BTreeSet<u32> = params.iter().copied().collect();
        if fits && distinct.len() == params.len() && distinct.is_disjoint(&taken) {
            taken.extend(distinct);
            sets.push(params);
        }
    }
    sets
}

/// The params that a node joins, through decoding; `None` if it joins anything else, or params of several encodings.
fn params_of(graph: &Graph, node: &Node, numbers: &BTreeMap<ValueId, u32>) -> Option<Vec<u32>> {
    let source = |v: ValueId| {
        let def = graph.def(v);
        def.input(0).filter(|x| def.op.is_decoding(graph.ty(*x).encoding)).unwrap_or(v)
    };
    let sources: Vec<ValueId> = node.operands().map(source).collect();
    let encoding = graph.ty(*sources.first()?).encoding;
    let same = sources.iter().all(|v| graph.ty(*v).encoding == encoding);
    let params = sources.iter().map(|v| numbers.get(v).copied()).collect::<Option<Vec<u32>>>()?;
    same.then_some(params)
}

impl LowerCx<'_> {
    /// Why values that are joined are copied: of stored params, why they do not lie side by side for it.
    pub fn why_apart(&self, operands: &[ValueId], outermost: bool) -> String {
        let param = |v: &ValueId| match self.stored(*v).map(|at| self.unplaced.buffer_of(at.version).class) {
            Ok(StorageClass::Param(i)) => Some(i),
            _ => None,
        };
        let Some(params) = operands.iter().map(param).collect::<Option<Vec<u32>>>() else {
            return "values are made apart, and joined they lie side by side".to_owned();
        };
        let leaves = self.graph.params();
        let name = |i: u32| leaves.get(i as usize).map_or("?", |v| &*self.graph.value(*v).name);
        let beside = |i: u32| self.joined.iter().find(|j| j.params.contains(&i));
        let distinct: BTreeSet<&u32> = params.iter().collect();
        if !outermost {
            return "params lie side by side along the outermost axis alone".to_owned();
        }
        if distinct.len() < params.len() {
            return "a param cannot lie beside itself".to_owned();
        }
        if let Some((&first, other)) = params.iter().find_map(|i| Some((i, beside(*i)?))) {
            let others = other.params.iter().filter(|&&i| i != first);
            let others: Vec<String> = others.map(|&i| format!("`{}`", name(i))).collect();
            return format!("`{}` lies beside {} already", name(first), others.join(", "));
        }
        "params of one encoding and of whole pieces of 16 bytes alone lie side by side".to_owned()
    }

    /// The place of a value that joins others along the outermost axis, if they lie side by side as they are stored.
    pub fn side_by_side(&mut self, operands: &[ValueId], result: ValueId) -> LowerResult<Option<PlacedView>> {
        let mut params = Vec::new();
        let mut first = None;
        for &v in operands {
            let at = self.stored(v)?;
            match self.unplaced.buffer_of(at.version).class {
                StorageClass::Param(i) if at.view.is_dense() && at.part.is_none() => params.push(i),
                _ => return Ok(None),
            }
            first.get_or_insert(at);
        }
        let Some(first) = first else { return Ok(None) };
        let Some(set) = self.joined.iter().position(|j| j.params == params) else { return Ok(None) };
        let shape = self.graph.ty(result).shape.clone();
        let version = self.joined_version(set as u32, first.version, &shape);
        Ok(Some(PlacedView {
            version,
            part: None,
            view: View::dense(first.view.dtype, first.view.storage, &shape).into(),
        }))
    }
}
