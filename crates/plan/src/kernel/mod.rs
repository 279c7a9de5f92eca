//! Kernels as data: what a kernel needs ([`KernelDecl`]), one use of it in a plan ([`KernelCall`]), where its
//! arguments lie in memory ([`Layout`]), and the GLSL that its source includes ([`interface`]).
//!
//! In comes one [`kernel!`](crate::kernel!) declaration per kernel; out go the call struct that lowering fills and the
//! interface that `shaders/build` compiles and reflects against. No op, no device and no SPIR-V here.

pub mod bind;
pub mod call;
pub mod codes;
pub mod declare;
pub mod interface;
pub mod layout;
pub mod registry;
pub mod roles;
#[cfg(test)]
mod tests;
pub mod trip_count;

pub use bind::{Bound, CallBuilder, Fixed, Words};
pub use call::{ArgValue, FloatStorage, HoleFill, HoleInput, IntoArgs, KernelCall, KernelName, UseIndex};
pub use declare::{have_slots, have_slots_in_place};
pub use layout::{Layout, MAX_PUSH_CONSTANTS};
pub use registry::{Fingerprint, Kernels, RegisterError};
pub use roles::{Roles, RolesOf, Setting};
pub use trip_count::TripCount;

/// Specialization constant of the branch that keeps hole functions alive; false in every pipeline.
pub const KEEP_ID: u32 = 99;
/// Specialization constant that says whether any argument varies; false lets drivers drop the frame from a kernel.
pub const VARIES_ID: u32 = 98;
/// Specialization constant of the first typed operand; operand `k` has `TYPED_ID + k`.
pub const TYPED_ID: u32 = 100;

/// The status block (OPS 1.5) of `n` ops: a word of flags, then three words for each op, `n` apart: the first position
/// it complained about since the host reset the block, the replays begun until it did, and the position of that
/// report. The host resets the block before a submission; a replay that begins keeps what those before it reported.
pub mod status {
    /// A position word of an op that reported nothing.
    pub const NOTHING: u32 = u32::MAX;

    /// Words of the block.
    pub const fn block_words(ops: u64) -> u64 {
        1 + 3 * ops
    }

    /// The block as it is before a submission.
    pub fn fresh_block(ops: usize) -> Vec<u32> {
        let mut words = vec![0; 1 + 3 * ops];
        words[1..1 + ops].fill(NOTHING);
        words[1 + 2 * ops..].fill(NOTHING);
        words
    }

    /// What the kernel that begins a replay does to the block.
    pub fn begin_replay(block: &mut [u32], ops: usize) {
        for i in 1..=ops {
            let (position, replays, kept) = (i, i + ops, i + 2 * ops);
            match (block[kept], block[position]) {
                (NOTHING, NOTHING) => block[replays] = block[replays].wrapping_add(1),
                (NOTHING, at) => block[kept] = at,
                _ => {}
            }
        }
    }

    /// The first report of an op since the block was reset: the replay of the submission, counted from 0, and the
    /// position. `block` has the words of `ops` ops.
    pub fn first_report(block: &[u32], ops: usize, op: usize) -> Option<(u32, u32)> {
        let word = |i: usize| block.get(i).copied().unwrap_or(NOTHING);
        let (position, replays, kept) = (word(1 + op), word(1 + op + ops), word(1 + op + 2 * ops));
        let at = if kept == NOTHING { position } else { kept };
        (at != NOTHING).then(|| (replays.saturating_sub(1), at))
    }

    /// An index outside its axis.
    pub const INDEX_OUT_OF_RANGE: u32 = 1;
    /// Rows past the capacity of a state.
    pub const STATE_OVERFLOW: u32 = 2;
    /// An integer divided by zero.
    pub const INT_DIV_ZERO: u32 = 4;
    /// Numbers of a row, or options, from which nothing can be drawn.
    pub const BAD_DISTRIBUTION: u32 = 8;
    /// A count that is no extent it may be: below 0, or above the largest.
    pub const FOUND_EXTENT: u32 = 16;
    /// Extents that must be equal and are not; the position is the smaller one.
    pub const EXTENT_MISMATCH: u32 = 32;
}

/// How a slot of a hole or of an elementwise kernel is stored; the numbers are what kernels see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SlotKind {
    /// One 32-bit word an element.
    Word = 0,
    /// IEEE half, natural width; kernels see its value as f32 bits.
    F16 = 1,
    /// bfloat16, natural width; kernels see its value as f32 bits.
    BF16 = 2,
    /// One byte, zero-extended. Bool too.
    U8 = 3,
    /// One byte, sign-extended.
    I8 = 4,
    /// Two bytes, zero-extended.
    U16 = 5,
    /// Two bytes, sign-extended.
    I16 = 6,
    /// Two words, low word first.
    Wide = 7,
    /// The status block: a stored word that is not 0 raises these flags at its element's position.
    Status = 8,
}

/// The GLSL type an argument is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgKind {
    /// `uint`.
    U32,
    /// `int`.
    I32,
    /// `float`.
    F32,
}

/// A named argument; arrays take `len` words, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgDecl {
    /// `n` is read as `arg_n()`; of an array as `arg_n(i)`.
    pub name: &'static str,
    /// The type.
    pub kind: ArgKind,
    /// `None` for one value.
    pub len: Option<u32>,
    /// What it says of which view; `None` for an argument of the kernel's own.
    pub view: Option<ViewArg>,
}

/// The operand that stands for all slots in [`ViewArg::of`].
pub const SLOTS: &str = "slot";

/// An argument that describes a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewArg {
    /// The operand, or [`SLOTS`].
    pub of: &'static str,
    /// `at` or `offset`: the first element. Everything else names an axis, whose stride it is.
    pub axis: &'static str,
}

impl ViewArg {
    /// Whether it is the first element.
    pub fn is_first(&self) -> bool {
        matches!(self.axis, "at" | "offset")
    }
}

impl ArgDecl {
    /// Words it takes.
    pub const fn words(&self) -> u32 {
        match self.len {
            Some(n) => n,
            None => 1,
        }
    }
}

/// What a kernel does to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandAccess {
    /// Only loads.
    Read,
    /// Only stores.
    Write,
    /// Both.
    ReadWrite,
    /// The status block: atomic or and atomic minimum.
    Status,
}

/// A named operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandDecl {
    /// `x` is read with `load_x(i)`, written with `store_x(i, v)`.
    pub name: &'static str,
    /// What the kernel does to it.
    pub access: OperandAccess,
    /// Whether its elements may be f32, f16 or bf16, said by the specialization constant `T_x`.
    pub typed: bool,
    /// Whether they may be in blocks, too.
    pub blocks: bool,
    /// Whether they are factors: `rounded_x(v)` rounds what was loaded as the specialization constant `ROUND` says.
    pub factor: bool,
    /// Whether every element is read, by all that read it, before a result is stored where it lies.
    pub first: bool,
}

/// The type of a hole's values and of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoleType {
    /// `float`, one element.
    Float,
    /// `vec4`, four consecutive elements.
    Vec4,
    /// `uint`, one element.
    Uint,
    /// `uvec4`, four consecutive elements.
    Uvec4,
    /// No result: everything is loaded and stored through slots, one element at a time; 64-bit slots allowed.
    Void1,
    /// No result: everything is loaded and stored through slots, four elements at a time.
    Void4,
}

impl HoleType {
    /// Elements a filled body works on at once.
    pub const fn width(self) -> u32 {
        match self {
            HoleType::Float | HoleType::Uint | HoleType::Void1 => 1,
            HoleType::Vec4 | HoleType::Uvec4 | HoleType::Void4 => 4,
        }
    }

    /// The GLSL name of the result type.
    pub const fn glsl(self) -> &'static str {
        match self {
            HoleType::Float => "float",
            HoleType::Vec4 => "vec4",
            HoleType::Uint => "uint",
            HoleType::Uvec4 => "uvec4",
            HoleType::Void1 | HoleType::Void4 => "void",
        }
    }

    /// The GLSL name of the raw bits that slots give and take at this width.
    pub const fn raw_glsl(self) -> &'static str {
        if self.width() == 1 { "uint" } else { "uvec4" }
    }
}

/// A function of the template that codegen may replace.
///
/// `ty hole_<name>(ty values…, uint coords…)`, with `slotload_<name>(uint slot, coords…)` beside it where the kernel
/// has slots, and `slotstore_<name>(uint slot, coords…, bits)` where the hole stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoleDecl {
    /// The name after `hole_`.
    pub name: &'static str,
    /// Type of values and result.
    pub ty: HoleType,
    /// Names of the value params.
    pub values: &'static [&'static str],
    /// Names of the coordinate params.
    pub coords: &'static [&'static str],
    /// Whether a body may store to slots.
    pub stores: bool,
}

/// A specialization constant of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecDecl {
    /// Lower case here; the GLSL constant is the same name in upper case, of type `uint`.
    pub name: &'static str,
    /// `constant_id`; below [`VARIES_ID`].
    pub id: u32,
    /// The value in the unspecialized module.
    pub default: u32,
}

/// The optimization level that was measured to be faster for a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// As glslang emits it.
    Zero,
    /// Through the performance passes of spirv-opt, hole functions and loops kept.
    Full,
}

/// A device ability that a fast variant may need. Plain variants need none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Subgroup reductions.
    SubgroupArithmetic,
    /// Subgroup shuffles.
    SubgroupShuffle,
    /// Subgroups of a multiple of this many threads: so many neighbours by `gl_SubgroupInvocationID` are in one.
    SubgroupSize(u32),
    /// 64-bit integers.
    Int64,
    /// f16 arithmetic.
    Float16,
    /// 16-bit elements in storage buffers.
    Storage16,
    /// 8-bit elements in storage buffers.
    Storage8,
    /// Packed dot products of signed 8-bit integers, in hardware.
    DotProduct,
    /// Cooperative matrices of 16 x 16 x 16 that a subgroup of exactly 32 threads holds: f16 factors, f32 sums.
    CooperativeMatrix,
    /// The same of bf16 factors (`VK_KHR_shader_bfloat16`).
    CooperativeMatrixBf16,
    /// More shared memory than the plain 32 KiB.
    SharedMemory(u32),
    /// More threads in a workgroup than the plain 256.
    Threads(u32),
}

/// One compiled form of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantDecl {
    /// `plain`, or the name of a fast form. Plain ones come in both addressing forms.
    pub name: &'static str,
    /// Whether it runs on the floor (Vulkan 1.2, 32 KiB shared, 256 threads, no subgroup ops).
    pub plain: bool,
    /// Optimization level.
    pub opt: OptLevel,
    /// What it needs beyond the floor.
    pub features: &'static [Feature],
    /// Macro definitions it is compiled with.
    pub defines: &'static [(&'static str, &'static str)],
}

/// Everything there is to know about a kernel but its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelDecl {
    /// The name in plans.
    pub name: &'static str,
    /// Source, relative to `shaders/`.
    pub file: &'static str,
    /// What it computes: the documentation of the declaration.
    pub doc: &'static str,
    /// How the grid follows from the arguments.
    pub grid: &'static str,
    /// Arguments, in order.
    pub args: &'static [ArgDecl],
    /// Operands, in order.
    pub operands: &'static [OperandDecl],
    /// Most slots a call may bind.
    pub slots: u32,
    /// Whether a slot, or an operand that is only written, may be stored to where a slot is read, both seen alike: an
    /// invocation reads of slots its own elements alone, and before it stores.
    pub slots_in_place: bool,
    /// Holes.
    pub holes: &'static [HoleDecl],
    /// Specialization constants.
    pub specs: &'static [SpecDecl],
    /// Largest trip count of all loops of one invocation.
    pub trip_count: TripCount,
    /// What choosing it needs to know of a variant.
    pub roles: RolesOf,
    /// Compiled forms.
    pub variants: &'static [VariantDecl],
}

impl VariantDecl {
    /// Whether it is compiled with what reads blocks. Variants that are not are no slower for it: the large product
    /// tiles lost 7 % to code that no call took (H200, 2026-11-22).
    pub fn reads_blocks(&self) -> bool {
        self.defines.iter().any(|(name, _)| *name == "BLOCKS")
    }
}

impl VariantDecl {
    /// Whether it is compiled with what reads codes beside scales, and reads nothing else.
    pub fn reads_codes(&self) -> bool {
        self.defines.iter().any(|(name, _)| *name == "CODES")
    }

    /// Whether it multiplies on matrix units.
    pub fn uses_matrix_units(&self) -> bool {
        let units = [Feature::CooperativeMatrix, Feature::CooperativeMatrixBf16];
        self.features.iter().any(|feature| units.contains(feature))
    }
}

impl KernelDecl {
    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&'static VariantDecl> {
        self.variants.iter().find(|v| v.name == name)
    }

    /// The hole of that name.
    pub fn hole(&self, name: &str) -> Option<&'static HoleDecl> {
        self.holes.iter().find(|h| h.name == name)
    }

    /// Words that the arguments take together.
    pub fn arg_words(&self) -> u32 {
        self.args.iter().map(ArgDecl::words).sum()
    }

    /// The argument that a word belongs to.
    pub fn arg_of_word(&self, word: usize) -> Option<&'static ArgDecl> {
        let mut end = 0;
        self.args.iter().find(|arg| {
            end += arg.words() as usize;
            word < end
        })
    }

    /// Where addresses and arguments lie.
    pub fn layout(&self) -> Layout {
        Layout::of(self)
    }
}
