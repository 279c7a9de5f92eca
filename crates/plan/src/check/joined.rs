//! Params that lie side by side: their bytes follow one another, and nothing else is claimed of them.

use super::error::{Fault, Findings};
use crate::plan::{JoinedParams, ParamSlot, Plan};
use crate::region::{SLOT_ALIGNMENT, Span};
use crate::stream::Residence;
use pumice_types::Bytes;

/// What kernels load at once at most: a param that is not the first of its set may begin at any multiple of it.
const LOAD: u64 = 16;

/// For each param, what its first byte is a multiple of.
pub(super) fn alignments(plan: &Plan) -> Vec<u64> {
    let mut alignments = vec![SLOT_ALIGNMENT; plan.params.len()];
    for &later in plan.joined.iter().flat_map(|j| j.params.get(1..).unwrap_or_default()) {
        if let Some(a) = alignments.get_mut(later as usize) {
            *a = LOAD;
        }
    }
    alignments
}

/// Checks every set.
pub(super) fn check(plan: &Plan, findings: &mut Findings) {
    let mut used = vec![false; plan.params.len()];
    for joined in &plan.joined {
        if let Some(why) = fault(plan, joined, &mut used) {
            findings.add(Fault::Slot { what: "joined params".to_owned(), span: joined.span, why });
        }
    }
}

fn fault(plan: &Plan, joined: &JoinedParams, used: &mut [bool]) -> Option<&'static str> {
    let param = |&i: &u32| plan.params.get(i as usize);
    let Some(params) = joined.params.iter().map(param).collect::<Option<Vec<&ParamSlot>>>() else {
        return Some("one of them is no param");
    };
    let [first, .., last] = params[..] else { return Some("a set has two params at least") };
    if joined.params.iter().any(|&i| std::mem::replace(&mut used[i as usize], true)) {
        return Some("a param is in two sets, or twice in one");
    }
    if params.iter().any(|p| p.residence() == Residence::Streamed) {
        return Some("one of them does not stay");
    }
    if params.iter().any(|p| p.encoding != first.encoding) {
        return Some("they differ in encoding");
    }
    // Overlap and places of each are looked at with the slots.
    let follows = |pair: &[&ParamSlot]| end(pair[0].span) == Some(pair[1].span.offset);
    if !params.windows(2).all(follows) {
        return Some("they do not follow one another");
    }
    let same_end = end(joined.span) == end(last.span) && end(last.span).is_some();
    let whole =
        joined.span.region == first.span.region && joined.span.offset == first.span.offset && same_end;
    (!whole).then_some("their bytes are others")
}

fn end(span: Span) -> Option<Bytes> {
    span.offset.0.checked_add(span.len.0).map(Bytes)
}
