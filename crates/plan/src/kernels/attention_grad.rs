//! Kernels of the gradients of attention: by queries, and by keys and values. No pair of a query and a key leaves them.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[AttentionGradQueries::DECL, AttentionGradKeys::DECL];

/// Declares a kernel that computes gradients of attention: both take the same operands, and have tiles alike.
macro_rules! gradient {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        results { args { $($args:tt)* } operands { $($operands:tt)* } }
        trip_count |$c:ident| $trip_count:expr;
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
            args {
                batches: u32, hq: u32, group: u32, sq: u32, sk: u32, d: u32, dv: u32,
                q { at, b, h, row: u32 }, k { at, b, h, row: u32 }, v { at, b, h, row: u32 }, dy { at, b, h, row: u32 },
                mask { at, b, h, row, col: u32 }, mask_len: u32,
                scale: f32, softcap: f32, left: i32, right: i32, kv_len: i32, len_b: u32,
                first_place: i32, first_place_b: u32, $($args)*
            }
            operands {
                q: read factor, k: read factor, v: read factor, dy: read factor, lse: read, delta: read, mask: read,
                lens: read, offsets: read, $($operands)*
            }
            slots 0;
            holes {}
            specs { vec = 0: 0, mask_kind = 1: 0, length = 2: 0, capped = 3: 0, round = 5: 0, place = 6: 0 }
            trip_count |$c| $trip_count;
            roles |c| tile(c.define("BR"), c.define("DP"));
            variants { $($variants)* }
        }
    };
}

gradient! {
    /// grad[b, h, i] = scale · sum over the keys j that query i sees of ds[i, j] · k[b, h / group, j]; ds = p · (dp -
    /// delta[b, h, i]) · (1 - t²), p = e^(s - lse[b, h, i]), dp = ⟨dy[b, h, i], v[b, h / group, j]⟩.
    ///
    /// s, which keys a query sees, `mask`, `length`, `place` and where rows lie: as of `attention_extended`; with
    /// `capped` 1, t is s over the cap before the mask is added, else 0. lse and delta are dense; an lse below every
    /// finite number counts as the smallest. Bits 0 to 3 of `vec`: q, k, v, dy have all offsets, strides and widths
    /// divisible by four; bits 4 and 5: d, dv are multiples of the tile's columns; bits 6 and 7: the results as bits 0
    /// to 3. Operands that nothing reads are q. ROLLED: drivers that compile for a CPU take long over straight code.
    pub struct AttentionGradQueries = "attention_grad_queries" in "attention/grad_queries.comp";
    grid "ceil(sq / BR) * ceil(d / DP) * hq * batches groups, folded";
    results { args { grad { b, h, row: u32 } } operands { grad: write } }
    trip_count |c| {
        let (br, bc, ch, cv) = (c.define("BR"), c.define("BC"), c.define("CH"), c.define("CV"));
        let threads = c.define("TX").saturating_mul(c.define("TY"));
        let staged = |rows: u64, width: u64| each(quotient(rows.saturating_mul(width), 4), threads);
        let chunk = after(after(staged(br, ch), staged(bc, ch)), each(ch, 4));
        let product = |width: u64| after(inside(each(width, ch), chunk), each(width, 128).saturating_mul(2));
        let sums = inside(each(bc, cv), after(staged(cv, c.define("DP")), each(cv, 1)));
        let step = after(after(product(c.d), product(c.dv)), sums);
        after(inside(each(c.sk, bc), step), pairs(each(c.sk, 128), 8).saturating_add(9))
    };
    variants {
        plain: zero { "BR": "16", "BC": "64", "TX": "16", "TY": "4", "DP": "128", "CH": "32", "CV": "16", "ROLLED": "1" };
        plain_w64: zero { "BR": "16", "BC": "64", "TX": "16", "TY": "4", "DP": "64", "CH": "32", "CV": "16", "ROLLED": "1" };
        r64_w32: zero needs [SharedMemory(34820)] {
            "BR": "64", "BC": "64", "TX": "8", "TY": "16", "DP": "32", "CH": "32", "CV": "32", "NATIVE_EXP": "1"
        };
        r64_w64: zero needs [SharedMemory(34820)] {
            "BR": "64", "BC": "64", "TX": "8", "TY": "16", "DP": "64", "CH": "32", "CV": "32", "NATIVE_EXP": "1"
        };
        r32_w128: zero { "BR": "32", "BC": "64", "TX": "16", "TY": "8", "DP": "128", "CH": "32", "CV": "32", "NATIVE_EXP": "1" }
    }
}

gradient! {
    /// grad[b, kh, j] = scale · sum over the queries i that see key j, of every head h with h / group = kh, of ds[i, j]
    /// · q[b, h, i]; v_grad[b, kh, j] = sum of p[i, j] · dy[b, h, i]. See `attention_grad_queries`.
    pub struct AttentionGradKeys = "attention_grad_keys" in "attention/grad_keys.comp";
    grid "ceil(sk / BR) * ceil(max(d, dv) / DP) * hq / group * batches groups, folded";
    results {
        args { grad { b, h, row: u32 }, v_grad { b, h, row: u32 } }
        operands { grad: write, v_grad: write }
    }
    trip_count |c| {
        let (br, bc, ch, cv) = (c.define("BR"), c.define("BC"), c.define("CH"), c.define("CV"));
        let threads = c.define("TX").saturating_mul(c.define("TY"));
        let staged = |rows: u64, width: u64| each(quotient(rows.saturating_mul(width), 4), threads);
        let chunk = after(after(staged(br, ch), staged(bc, ch)), each(ch, 4));
        let product = |width: u64| after(inside(each(width, ch), chunk), each(width, 128).saturating_mul(2));
        let sums = inside(each(bc, cv), after(staged(cv, c.define("DP")), each(cv, 1))).saturating_mul(2);
        let step = after(after(product(c.d), product(c.dv)), sums);
        let chains = each(c.group, 1).saturating_mul(each(c.sq, 128));
        after(inside(each(c.group, 1), inside(each(c.sq, bc), step)), pairs(chains, 8).saturating_add(9))
    };
    variants {
        plain: zero { "BR": "16", "BC": "64", "TX": "16", "TY": "4", "DP": "128", "CH": "32", "CV": "16", "ROLLED": "1" };
        plain_w64: zero { "BR": "16", "BC": "64", "TX": "16", "TY": "4", "DP": "64", "CH": "32", "CV": "16", "ROLLED": "1" };
        r64_w32: zero needs [SharedMemory(35332)] {
            "BR": "64", "BC": "64", "TX": "8", "TY": "16", "DP": "32", "CH": "32", "CV": "32", "NATIVE_EXP": "1"
        };
        r64_w64: zero needs [SharedMemory(35332)] {
            "BR": "64", "BC": "64", "TX": "8", "TY": "16", "DP": "64", "CH": "32", "CV": "32", "NATIVE_EXP": "1"
        };
        r32_w128: zero { "BR": "32", "BC": "64", "TX": "16", "TY": "8", "DP": "128", "CH": "32", "CV": "32", "NATIVE_EXP": "1" }
    }
}
