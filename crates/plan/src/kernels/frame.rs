//! The kernel that advances scalars on the device.

use crate::frame::AdvanceKind;
use crate::kernel;
use crate::kernel::KernelDecl;

/// The declarations of this family.
pub const DECLS: &[KernelDecl] = &[FrameAdvance::DECL, FrameCount::DECL, FrameFind::DECL];

kernel! {
    /// Runs the `count` instructions of four words (op, dst, a, b) that lie in the frame from word `at` on, in order,
    /// as `Frame::run_advance` does. Instructions after the words are not written.
    pub struct FrameAdvance = "frame_advance" in "frame/advance.comp";
    grid "one group; its first thread works";
    args { at: u32, count: u32 }
    operands { words: readwrite }
    slots 0;
    holes {}
    specs {}
    trip_count |c| each(c.count, 1);
    variants { plain: zero }
}

kernel! {
    /// As [`FrameAdvance`], and its instructions read what kernels left in `counts`. At most one of them clears words.
    pub struct FrameCount = "frame_count" in "frame/advance.comp";
    grid "one group; its first thread works";
    args { at: u32, count: u32 }
    operands { words: readwrite, counts: read }
    slots 0;
    holes {}
    specs {}
    trip_count |c| after(each(c.count, 1), each(c.at, 1));
    variants { plain: zero { "COUNTS": "1" } }
}

kernel! {
    /// Fills a row of `len` found words: runs the `count` instructions that lie in `words` from word `at` on, as
    /// `FindProgram::words` lays them out and `FindProgram::run` carries them out. Operands with the highest bit are
    /// words of the row; count k is the word of `count_k`.
    pub struct FrameFind = "frame_find" in "frame/find.comp";
    grid "one group; a thread for each instruction of a wave";
    args { at: u32, count: u32, len: u32 }
    operands { words: read, row: readwrite, count_0: read, count_1: read, count_2: read, count_3: read }
    slots 0;
    holes {}
    specs {}
    trip_count |c| each(c.count, 1);
    variants { plain: zero }
}

// The numbers in `frame/advance.comp` and `frame/find.comp`.
const _: () = assert!(
    AdvanceKind::Const as u32 == 0
        && AdvanceKind::Copy as u32 == 1
        && AdvanceKind::Add as u32 == 2
        && AdvanceKind::Mul as u32 == 3
        && AdvanceKind::FloorDiv as u32 == 4
        && AdvanceKind::CeilDiv as u32 == 5
        && AdvanceKind::Min as u32 == 6
        && AdvanceKind::Max as u32 == 7
        && AdvanceKind::Count as u32 == 8
        && AdvanceKind::CopyUnless as u32 == 9
        && AdvanceKind::ClearIf as u32 == 10
);
