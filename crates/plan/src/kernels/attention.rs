//! Attention kernels.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[AttentionF32::DECL, AttentionF32Decode::DECL, AttentionF32Merge::DECL];

/// Declares a kernel that looks at keys: all of them take the same arguments and operands.
macro_rules! attention {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        args { $($arg:ident),* }
        specs { $($spec:ident = $id:literal : $default:literal),* }
        variants { $($variants:tt)* }
    ) => {
        kernel! {
            $(#[doc = $doc])+
            pub struct $Call = $name in $file;
            grid $grid;
            args {
                batches: u32, heads: u32, group: u32, sq: u32, skv: u32, d: u32, dv: u32,
                q_at: u32, q_b: u32, q_h: u32, q_s: u32, k_at: u32, k_b: u32, k_h: u32, k_s: u32,
                v_at: u32, v_b: u32, v_h: u32, v_s: u32, y_at: u32, y_b: u32, y_h: u32, y_s: u32,
                mask_at: u32, mask_b: u32, mask_h: u32, mask_q: u32, mask_k: u32, len_at: u32, len_b: u32,
                past: i32, left: i32, right: i32, scale: f32, softcap: f32 $(, $arg: u32)*
            }
            operands { q: read, k: read typed, v: read typed, mask: read, lens: read, y: write }
            slots 0;
            holes {}
            specs {
                vec = 0: 0, mask_kind = 1: 0, len_kind = 2: 0, offset_kind = 3: 0, window = 4: 0, capped = 5: 0
                $(, $spec = $id: $default)*
            }
            variants { $($variants)* }
        }
    };
}

attention! {
    /// y = softmax(scale · q · kᵀ, masked) · v.
    pub struct AttentionF32 = "attention_f32" in "attention/tile.comp";
    grid "ceil(sq / BQ) * heads * batches groups, folded";
    args {}
    specs { quads = 6: 1, key_shares = 7: 1 }
    variants {
        plain: zero { "BQ": "16", "BKV": "32", "DC": "16" };
        t64: zero { "BQ": "64", "BKV": "64", "DC": "16" }
    }
}

attention! {
    /// As `attention_f32` for few queries.
    pub struct AttentionF32Decode = "attention_f32_decode" in "attention/decode.comp";
    grid "parts * ceil(group * sq / RB) * (heads / group) * batches groups, folded";
    args { parts, part_keys }
    specs { lanes = 6: 32, direct = 7: 0 }
    variants {
        plain: zero { "RB": "1" };
        plain_r4: zero { "RB": "4" };
        plain_r8: zero { "RB": "8" }
    }
}

kernel! {
    /// The second half of a decode in parts.
    pub struct AttentionF32Merge = "attention_f32_merge" in "attention/merge.comp";
    grid "ceil(batches * heads * sq * ceil(dv / 4) / 128) groups, folded";
    args { batches: u32, heads: u32, sq: u32, dv: u32, parts: u32, y_at: u32, y_b: u32, y_h: u32, y_s: u32 }
    operands { part: read, y: write }
    slots 0;
    holes {}
    specs {}
    variants { plain: zero }
}
