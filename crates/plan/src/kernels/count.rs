//! Counts that become extents.

use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[FoundCount::DECL];

kernel! {
    /// y = the one count between 0 and `largest`; one that is outside raises FOUND_EXTENT at 0 for op `op`.
    pub struct FoundCount = "found_count" in "frame/found_count.comp";
    grid "one group; its first thread works";
    args { largest: u32, op: u32 }
    operands { count: read, y: write, status: status }
    slots 0;
    holes {}
    specs { wide = 0: 0 }
    trip_count |_| 0;
    variants { plain: zero }
}
