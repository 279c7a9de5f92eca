//! Choices: one of a row at random, and the experts of a row.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[SampleSorted::DECL, MoeRouter::DECL];

/// Experts of a row at most.
pub const EXPERTS: u64 = 1024;

/// `gate` of the router: what becomes of logits.
pub mod gate {
    /// They are scores.
    pub const NONE: u32 = 0;
    /// Their soft-max.
    pub const SOFTMAX: u32 = 1;
    /// The logistic function.
    pub const SIGMOID: u32 = 2;
    /// The root of the soft-plus.
    pub const SQRT_SOFTPLUS: u32 = 3;
}

kernel! {
    /// One draw of each row r < rows: id[r] = ids[r, i] and logprob[r] = ln(weights[r, i] / sums[r, m - 1]), where m
    /// of the n weights, which lie in descending order, are left by the options, sums are cumulative, and i counts the
    /// sums of them that are at most u[r] * sums[r, m - 1]; each by bisection.
    ///
    /// `options` bit 0: there are temperatures, of which 0 leaves one weight; bit 1: top_k, where positive the most
    /// weights; bit 2: top_p, the share below which the sum of the weights before one is; bit 3: min_p, the share of
    /// the first weight that each is. Of what is not there bind `u` again. Bit k of `by_row`: option k has an element
    /// for each row. A row whose invalid word is not 0, whose first weight is 0, or of whose options one is negative
    /// (but top_k) or NaN raises BAD_DISTRIBUTION at r for op `op`; where the first weight is 0, i is 0.
    pub struct SampleSorted = "sample_sorted" in "choice/sample_sorted.comp";
    grid "rows groups of 32 threads, folded";
    args { rows: u32, n: u32, op: u32 }
    operands { weights: read, sums: read, ids: read, invalid: read, u: read, temperature: read, top_k: read,
        top_p: read, min_p: read, id: write, logprob: write, status: status }
    slots 0;
    holes {}
    specs { options = 0: 0, by_row = 1: 0 }
    trip_count |_| 2 * each(8, 1);
    variants { plain: zero }
}

kernel! {
    /// The `k` experts of each row r < rows of logits \[rows, experts\] that are chosen: ids\[r, j\], the largest
    /// choice first, and their weights w\[r, j\].
    ///
    /// Scores are a `gate` of the logits; a choice is a score and with `biased` 1 bias\[expert\]; without it bind
    /// `logits` again. Of equal choices the lower expert is first; NaN is above infinity. `groups` of neighbouring
    /// experts have as score the sum of their two largest choices; the `groups_kept` best take part. A weight is the
    /// expert's score; with `after` 1 the soft-max of the chosen ones' scores; with `normed` 1 divided by the sum of
    /// the chosen ones' + 1e-20; times `scale`.
    pub struct MoeRouter = "moe_router" in "choice/moe_router.comp";
    grid "rows groups of 256 threads, folded";
    args { rows: u32, experts: u32, k: u32, groups: u32, groups_kept: u32, scale: f32 }
    operands { logits: read, bias: read, w: write, ids: write }
    slots 0;
    holes {}
    specs { gate = 0: 0, after = 1: 0, normed = 2: 0, biased = 3: 0 }
    trip_count |c| {
        let mine = each(c.experts, 256);
        let ranks = inside(mine, each(c.experts, 1));
        let tree = halving(256).saturating_mul(4);
        let groups = after(each(c.groups, 256).saturating_mul(each(c.experts, 1)), each(c.groups, 1).saturating_mul(4));
        after(after(mine.saturating_mul(8), ranks), after(tree, groups))
    };
    variants { plain: zero }
}
