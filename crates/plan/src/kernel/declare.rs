//! The `kernel!` macro: one declaration, from which come the [`KernelDecl`](super::KernelDecl) that the shader build
//! reflects against and the call struct that lowering fills by name.

/// Declares a kernel.
///
/// ```ignore
/// kernel! {
///     /// y[i] = scale · x[i].
///     pub struct Scale = "scale" in "demo/scale.comp";
///     grid "256 elements a group";
///     args { n: u32, x { at, row: u32 }, size[4]: u32, scale: f32, slot(at, row: u32; 4) }
///     operands { x: read typed, y: write }
///     slots 4;
///     holes { epilogue: vec4 [v] (i) stores }
///     specs { wide = 0: 1 }
///     trip_count |c| each(c.n, 4);
///     roles |c| group(256).lanes("lanes", 1, 256);
///     variants { plain: zero; fast: full needs [SubgroupArithmetic] { "LANES": "32" } }
/// }
/// ```
/// An argument is the kernel's own, or one of a group that describes a view: `x { at, row: u32 }` declares `x_at` and
/// `x_row`, of the operand `x` the first element (a part named `at` or `offset`) and the strides of its axes, in
/// elements; `slot(at, row: u32; 4)` declares `slot_at[4]` and `slot_row[4]`, the same of each slot. The call struct
/// has no field for them: they come from the views that are bound (see [`bind`](super::bind)). An operand without a
/// group is dense, one without a first element begins at 0.
///
/// `slots 4 in_place` says that a slot, and an operand that is written and not read, may be stored to where a slot is
/// read and as that one is read: each invocation reads of slots the elements that it alone stores to, all of them
/// before it stores any. Operands that are read are no slots: what the kernel stores may not lie there. A `readwrite`
/// operand says the same of itself. `x: read first` says that results of x's view may lie where x does: whoever reads
/// an element has read it before one is stored there.
///
/// `trip_count` says the largest trip count of all loops of one invocation (see [`trip_count`](super::trip_count)): `c`
/// has the arguments and specialization constants as numbers, `c.define("LANES")` the macros of the variant. A kernel
/// without loops says 0. `roles`, of kernels between which a table chooses, says what choosing needs (see
/// [`roles`](super::roles)); of `c` there are macros and specialization constants. Operand words are `read`, `write`,
/// `readwrite`, `status`, then what its elements may be beside words: `typed` 16-bit floats, `typed blocks` those and
/// every block scheme (one such operand a kernel); last `factor` where the kernel rounds them by `rounded_x` as its
/// constant `round` says; or `first` alone; hole types `float vec4 uint uvec4 void1 void4`; levels `zero full`. A
/// variant named `plain` or beginning with `plain_` is a plain twin and may need nothing. Every other section must be
/// there, possibly empty.
#[macro_export]
macro_rules! kernel {
    (
        $(#[doc = $doc:literal])+
        pub struct $Call:ident = $name:literal in $file:literal;
        grid $grid:literal;
        args { $(
            $arg:ident $($([$len:literal])? : $kind:ident)?
            $({ $($axis:ident),+ : $of_view:ident })?
            $(( $($slot_axis:ident),+ : $of_slots:ident ; $slot_len:literal ))?
        ),* $(,)? }
        operands { $($operand:ident : $access:ident $($class:ident)*),* $(,)? }
        slots $slots:literal $($in_place:ident)?;
        holes { $($hole:ident : $hty:ident [$($value:ident),*] ($($coord:ident),*) $($stores:ident)?),* $(,)? }
        specs { $($spec:ident = $id:literal : $default:literal),* $(,)? }
        trip_count |$c:pat_param| $trip_count:expr;
        $(roles |$r:pat_param| $roles:expr;)?
        variants { $($variant:ident : $opt:ident $(needs [$($feature:ident $(($limit:literal))?),* $(,)?])? $({ $($define:literal : $to:literal),* })?);* $(;)? }
    ) => {
        $(#[doc = $doc])+
        #[doc = concat!("\n\nGrid: ", $grid, ".")]
        #[derive(Clone, Debug)]
        #[allow(missing_docs, rustdoc::broken_intra_doc_links)]
        pub struct $Call {
            pub variant: &'static str,
            $(pub $spec: u32,)*
            $($(pub $arg: $crate::__kernel_word!(arg_type $kind $($len)?),)?)*
            $(pub $operand: $crate::kernel::Bound,)*
            pub slots: Vec<$crate::kernel::Bound>,
            pub holes: Vec<$crate::kernel::HoleFill>,
        }

        #[allow(non_upper_case_globals, missing_docs)]
        impl $Call {
            $(pub const $variant: &'static str = stringify!($variant);)*

            /// The declaration.
            pub const DECL: $crate::kernel::KernelDecl = {
                #[allow(unused_imports)]
                use $crate::kernel::roles::{Roles, group, tile};
                #[allow(unused_imports)]
                use $crate::kernel::trip_count::{Of, Upper, after, each, halving, inside, only, pairs, quotient};
                /// Arguments and constants as numbers.
                #[allow(dead_code)]
                struct Numbers<'a> {
                    $($($arg: $crate::__kernel_word!(number_type $kind $($len)?),)?)*
                    $($spec: u64,)*
                    variant: &'a Upper<'a>,
                }
                #[allow(dead_code)]
                impl Numbers<'_> {
                    fn define(&self, name: &str) -> u64 {
                        self.variant.define(name)
                    }
                    fn define_or(&self, name: &str, other: u64) -> u64 {
                        self.variant.define_or(name, other)
                    }
                    fn defines(&self, name: &str) -> bool {
                        self.variant.defines(name)
                    }
                }
                #[allow(unused_mut, unused_assignments, unused_variables)]
                fn numbers<'a>(upper: &'a Upper<'a>) -> Numbers<'a> {
                    let mut at = 0;
                    $(
                        $(
                            let words = upper.words(at);
                            at += words.len();
                            let $arg = $crate::__kernel_word!(number words $kind $($len)?);
                        )?
                        $(at += [$(stringify!($axis)),+].len();)?
                        $(at += $slot_len * [$(stringify!($slot_axis)),+].len();)?
                    )*
                    Numbers {
                        $($($arg: $crate::__kernel_word!(own $kind $arg),)?)*
                        $($spec: upper.spec($id, $default),)*
                        variant: upper,
                    }
                }
                fn trip_count(upper: &Upper<'_>) -> u64 {
                    let $c = &numbers(upper);
                    $trip_count
                }
                #[allow(unused_variables)]
                fn roles(upper: &Upper<'_>) -> Roles {
                    let roles = Roles::default();
                    $(let roles = {
                        let $r = &numbers(upper);
                        $roles
                    };)?
                    roles
                }
                $crate::kernel::KernelDecl {
                    name: $name,
                    file: $file,
                    doc: concat!($($doc, "\n"),+),
                    grid: $grid,
                    args: &[$(
                        $($crate::kernel::ArgDecl {
                            name: stringify!($arg),
                            kind: $crate::__kernel_word!($kind),
                            len: $crate::__kernel_word!(option $($len)?),
                            view: None,
                        },)?
                        $($($crate::kernel::ArgDecl {
                            name: concat!(stringify!($arg), "_", stringify!($axis)),
                            kind: $crate::__kernel_word!($of_view),
                            len: None,
                            view: Some($crate::kernel::ViewArg { of: stringify!($arg), axis: stringify!($axis) }),
                        },)+)?
                        $($($crate::kernel::ArgDecl {
                            name: concat!(stringify!($arg), "_", stringify!($slot_axis)),
                            kind: $crate::__kernel_word!($of_slots),
                            len: Some($slot_len),
                            view: Some($crate::kernel::ViewArg { of: stringify!($arg), axis: stringify!($slot_axis) }),
                        },)+)?
                    )*],
                    operands: &[$($crate::kernel::OperandDecl {
                        name: stringify!($operand),
                        access: $crate::__kernel_word!($access),
                        typed: $crate::__kernel_word!(typed $($class)*),
                        blocks: $crate::__kernel_word!(blocks $($class)*),
                        factor: $crate::__kernel_word!(factor $($class)*),
                        first: $crate::__kernel_word!(first $($class)*),
                    }),*],
                    slots: $slots,
                    slots_in_place: $crate::__kernel_word!(flag $($in_place)?),
                    holes: &[$($crate::kernel::HoleDecl {
                        name: stringify!($hole),
                        ty: $crate::__kernel_word!($hty),
                        values: &[$(stringify!($value)),*],
                        coords: &[$(stringify!($coord)),*],
                        stores: $crate::__kernel_word!(flag $($stores)?),
                    }),*],
                    specs: &[$($crate::kernel::SpecDecl { name: stringify!($spec), id: $id, default: $default }),*],
                    trip_count: Of(trip_count),
                    roles: Of(roles),
                    variants: &[$($crate::kernel::VariantDecl {
                        name: stringify!($variant),
                        plain: $crate::kernel::declare::is_plain(stringify!($variant)),
                        opt: $crate::__kernel_word!($opt),
                        features: &[$($($crate::kernel::Feature::$feature $(($limit))?),*)?],
                        defines: &[$($(($define, $to)),*)?],
                    }),*],
                }
            };

            /// The call, with everything that was set by name.
            pub fn into_call(self) -> $crate::kernel::CallBuilder {
                $crate::kernel::CallBuilder::new(&Self::DECL, self.variant)
                    $(.constant(stringify!($spec), self.$spec))*
                    $($(.own(stringify!($arg), $crate::__kernel_word!(field $kind self $arg)))?)*
                    $(.operand(stringify!($operand), self.$operand))*
                    .holes(self.slots, self.holes)
            }
        }
    };
}

/// Stops the build where a family's kernels do not have that many slots, on which passes and lowering count.
pub const fn have_slots(family: &[super::KernelDecl], slots: usize) {
    let mut i = 0;
    while i < family.len() {
        assert!(family[i].slots as usize == slots, "a kernel has another number of slots than its family");
        i += 1;
    }
}

/// Stops the build where a family's kernels do not all allow a slot to be stored to where another one is read.
pub const fn have_slots_in_place(family: &[super::KernelDecl]) {
    let mut i = 0;
    while i < family.len() {
        assert!(family[i].slots_in_place, "a kernel reads elements of others, or after it stores");
        i += 1;
    }
}

/// Whether a variant name says that it is a plain twin.
pub const fn is_plain(name: &str) -> bool {
    let (name, plain) = (name.as_bytes(), b"plain");
    if name.len() < plain.len() || (name.len() > plain.len() && name[plain.len()] != b'_') {
        return false;
    }
    let mut i = 0;
    while i < plain.len() {
        if name[i] != plain[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The words of [`kernel!`](crate::kernel!).
#[doc(hidden)]
#[macro_export]
macro_rules! __kernel_word {
    (arg_type $kind:ident) => {
        $crate::kernel::ArgValue
    };
    (arg_type $kind:ident $len:literal) => {
        [$crate::kernel::ArgValue; $len]
    };
    (field $kind:ident $call:ident $arg:ident) => {
        $call.$arg
    };
    (own $kind:ident $arg:ident) => {
        $arg
    };
    (number_type $kind:ident) => {
        u64
    };
    (number_type $kind:ident $len:literal) => {
        [u64; $len]
    };
    (number $words:ident $kind:ident) => {{
        let [one] = $words;
        one
    }};
    (number $words:ident $kind:ident $len:literal) => {{
        let all: [u64; $len] = $words;
        all
    }};
    (typed) => {
        false
    };
    (typed factor) => {
        false
    };
    (typed first) => {
        false
    };
    (first first) => {
        true
    };
    (first $($class:ident)*) => {
        false
    };
    (blocks first) => {
        false
    };
    (factor first) => {
        false
    };
    (typed typed $($class:ident)*) => {
        true
    };
    (blocks $(typed)? $(factor)?) => {
        false
    };
    (blocks typed blocks $(factor)?) => {
        true
    };
    (factor $(typed)? $(blocks)?) => {
        false
    };
    (factor $(typed)? $(blocks)? factor) => {
        true
    };
    (option) => {
        None
    };
    (option $len:literal) => {
        Some($len)
    };
    (flag) => {
        false
    };
    (flag stores) => {
        true
    };
    (flag in_place) => {
        true
    };
    (u32) => {
        $crate::kernel::ArgKind::U32
    };
    (i32) => {
        $crate::kernel::ArgKind::I32
    };
    (f32) => {
        $crate::kernel::ArgKind::F32
    };
    (read) => {
        $crate::kernel::OperandAccess::Read
    };
    (write) => {
        $crate::kernel::OperandAccess::Write
    };
    (readwrite) => {
        $crate::kernel::OperandAccess::ReadWrite
    };
    (status) => {
        $crate::kernel::OperandAccess::Status
    };
    (float) => {
        $crate::kernel::HoleType::Float
    };
    (vec4) => {
        $crate::kernel::HoleType::Vec4
    };
    (uint) => {
        $crate::kernel::HoleType::Uint
    };
    (uvec4) => {
        $crate::kernel::HoleType::Uvec4
    };
    (void1) => {
        $crate::kernel::HoleType::Void1
    };
    (void4) => {
        $crate::kernel::HoleType::Void4
    };
    (zero) => {
        $crate::kernel::OptLevel::Zero
    };
    (full) => {
        $crate::kernel::OptLevel::Full
    };
}
