//! Recurrences: states that are taken from step to step in one dispatch.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[LinearRecurrence::DECL, RecurrentLayer::DECL];

/// Hidden units that `recurrent_layer` keeps at most.
pub const MOST_HIDDEN: u64 = 2048;

/// How a state decays, the values of `decays`.
pub mod decay {
    /// Not at all.
    pub const NONE: u32 = 0;
    /// Each head by its own.
    pub const HEAD: u32 = 1;
    /// Each key by its own.
    pub const KEY: u32 = 2;
    /// By the head's times the key's rate.
    pub const RATES: u32 = 3;
}

kernel! {
    /// S = e^g S + k u', o = scale S' q for each of `steps`; u = v, with `delta` v - S' k of the decayed S; times beta.
    ///
    /// Dense operands: q [batches, steps, hq, keys], k [.., hk, keys], v [.., hv, values], decay [.., hv] (`decays` 1,
    /// 3) or [.., hv, keys] (2), rates [hv, keys] (3), beta [.., hv] (`betas` 1) or [.., 1] (2), o [.., heads, values]
    /// where heads is the larger of hq and hv. state and last are [batches, hv, keys, values], with `by_value`
    /// [batches, hv, values, keys]; without `given` S begins as 0. Head h reads head h hq / heads of q and has the
    /// state of head h hv / heads, that one head of k likewise. What is not read is `q` again. A thread keeps KEPT keys
    /// of a column, `lanes` of them all: the least power of two.
    pub struct LinearRecurrence = "linear_recurrence" in "recurrence/linear.comp";
    grid "ceil(batches * heads * values * lanes / 256) groups of 256 threads, folded";
    args { batches: u32, steps: u32, heads: u32, hq: u32, hk: u32, hv: u32, keys: u32, values: u32, scale: f32 }
    operands { q: read, k: read, v: read, decay: read, rates: read, beta: read, state: read, o: write, last: write }
    slots 0;
    holes {}
    specs { lanes = 0: 1, decays = 1: 0, delta = 2: 0, betas = 3: 0, given = 4: 0, by_value = 5: 0 }
    trip_count |c| {
        let sums = only(c.lanes > 1, halving(c.lanes).saturating_add(1).saturating_mul(2));
        inside(each(c.steps, 1), sums)
    };
    variants {
        plain: zero { "KEPT": "4" };
        plain_16: zero { "KEPT": "16" }
    }
}

kernel! {
    /// A cell taken from step to step (`recurrence/layer.comp`): what gates add up is xw + h R for each unit.
    ///
    /// Dense operands: xw [steps, batches, gates * hidden] with one gate (`cell` 0), three (1: z r h) or four (2: i o f
    /// c); r [hidden, gates * hidden], rb [hidden] with `biased` (added before the reset gate, `after` 1), p [3,
    /// hidden] with `peepholes`, lens [batches] with `lengths` (counted from step 0, of which the first here is
    /// `from`), h0 and c0 [batches, hidden] by bits 0 and 1 of `given`, else 0; y [steps, batches, hidden], 0 from a
    /// length on; last_h and last_c [batches, hidden], last_c that of cell 2, else last_h again. What is not read is xw
    /// again. `act_f` and others are activations by number, with alpha and beta; `clips` 1: what they are given is
    /// clipped to -clip and clip. Variants `kept` hold r in registers, KEPT terms of each sum in each of PARTS threads:
    /// ceil(hidden / KEPT) <= PARTS, and as many times hidden threads.
    pub struct RecurrentLayer = "recurrent_layer" in "recurrence/layer.comp";
    grid "batches groups of 256 threads (kept_16, kept_32: 512), folded";
    args { steps: u32, batches: u32, hidden: u32, from: u32, clip: f32, alpha_f: f32, beta_f: f32, alpha_g: f32,
        beta_g: f32, alpha_h: f32, beta_h: f32 }
    operands { xw: read, r: read, rb: read, p: read, lens: read, h0: read, c0: read, y: write, last_h: write,
        last_c: write }
    slots 0;
    holes {}
    specs { cell = 0: 0, reverse = 1: 0, after = 2: 0, coupled = 3: 0, act_f = 4: 1, act_g = 5: 1, act_h = 6: 1,
        clips = 7: 0, biased = 8: 0, peepholes = 9: 0, lengths = 10: 0, given = 11: 0 }
    trip_count |c| {
        let units = each(c.hidden, 256);
        let sums = each(c.hidden, 16).saturating_mul(4).saturating_add(4);
        let step = after(inside(units, sums), units.saturating_mul(2));
        after(inside(each(c.steps, 1), step), units.saturating_mul(2))
    };
    variants {
        plain: zero;
        kept_8: zero { "THREADS": "256", "KEPT": "8", "PARTS": "6" };
        kept_16: zero needs [Threads(512)] { "THREADS": "512", "KEPT": "16", "PARTS": "6" };
        kept_32: zero needs [Threads(512)] { "THREADS": "512", "KEPT": "32", "PARTS": "4" }
    }
}

impl RecurrentLayer {
    /// Variants that hold r in registers, from the least one on.
    pub const KEPT: [&'static str; 3] = [Self::kept_8, Self::kept_16, Self::kept_32];

    /// Whether a variant holds the weights of so many hidden units; `plain` need not.
    pub fn holds(variant: &str, hidden: u64) -> bool {
        let Some(variant) = Self::DECL.variant(variant) else { return false };
        let number =
            |name| variant.defines.iter().find(|d| d.0 == name).and_then(|d| d.1.parse::<u64>().ok());
        match ["THREADS", "KEPT", "PARTS"].map(number) {
            [Some(threads), Some(kept), Some(most)] => {
                let parts = hidden.div_ceil(kept);
                parts <= most && parts * hidden <= threads
            }
            _ => true,
        }
    }
}
