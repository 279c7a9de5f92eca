//! An `Attention` that drops probabilities, as the ops that it is made of.

use super::attention::Attention;
use super::attention_formula::{Formula, Given};
use crate::Graph;
use crate::builder::{GraphBuilder, Value};
use crate::ops::composed::composed;
use crate::{NodeId, Patch};
use pumice_types::DType;

/// Nodes of the composed form have it in their names, so that origins of steps say why there are so many.
pub(super) const REASON: &str = "composed_for_dropout";

/// y = (p·mask/(1 − dropout))·v, the mask of `Dropout` over p\[B, Hq, Sq, Sk\].
pub(super) fn expand(op: &Attention, graph: &Graph, id: NodeId) -> Option<Patch> {
    composed(graph, id, |g, operands| {
        let whole = g.composition("attention");
        let g = whole.composition(REASON);
        made(op, &g, operands).unwrap_or_default()
    })
}

/// The results.
fn made(op: &Attention, g: &GraphBuilder, operands: &[Option<Value>]) -> Option<Vec<Value>> {
    let given = Given::new(op, g, operands)?;
    let formula = Formula::new(given, !op.lse, |x| x);
    let sums = formula.sums(formula.scores().scores);
    let [kept, _] = given.dropout().dropping(g, formula.shares(&sums), given.source());
    let y = formula.heads(formula.product([formula.rows(kept), formula.v], false, false));
    let (y, dtype) = (given.in_order(y), given.ty(given.x(0)).dtype());
    let y = if dtype == DType::F32 { y } else { g.cast(y, dtype) };
    let lse = op.lse.then(|| g.squeeze(g.add(g.log(sums.sum), sums.largest), &[3]));
    Some(std::iter::once(y).chain(lse).collect())
}
