//! One use of a kernel in a plan. Plain data; what it means for bytes is said by the step's uses alone.

use super::{HoleDecl, KernelDecl};
use crate::frame::FrameWord;
use crate::view::{Storage, View};
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DType, Encoding, EncodingClass, Scheme};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;

/// The name of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KernelName(pub Cow<'static, str>);

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Index into the uses of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UseIndex(pub u16);

/// An argument: known when the plan is made, or a word of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArgValue {
    /// The 32 bits themselves.
    U32(u32),
    /// The frame word that holds them.
    Frame(u32),
}

impl ArgValue {
    /// Zero.
    pub const ZERO: ArgValue = ArgValue::U32(0);

    /// A signed number.
    pub const fn i32(value: i32) -> ArgValue {
        ArgValue::U32(value as u32)
    }

    /// The bits of a float.
    pub const fn f32(value: f32) -> ArgValue {
        ArgValue::U32(value.to_bits())
    }
}

impl Default for ArgValue {
    fn default() -> ArgValue {
        ArgValue::ZERO
    }
}

impl From<u32> for ArgValue {
    fn from(value: u32) -> ArgValue {
        ArgValue::U32(value)
    }
}

impl From<FrameWord> for ArgValue {
    fn from(word: FrameWord) -> ArgValue {
        ArgValue::Frame(word.0)
    }
}

/// A field of a call struct that becomes argument words.
pub trait IntoArgs {
    /// Appends the words.
    fn append(self, args: &mut SmallVec<[ArgValue; 1]>);
}

impl IntoArgs for ArgValue {
    fn append(self, args: &mut SmallVec<[ArgValue; 1]>) {
        args.push(self);
    }
}

impl<const N: usize> IntoArgs for [ArgValue; N] {
    fn append(self, args: &mut SmallVec<[ArgValue; 1]>) {
        args.reserve_exact(N);
        args.extend(self);
    }
}

/// How the floats of a typed operand are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatStorage {
    /// 32-bit words.
    #[default]
    F32,
    /// IEEE half.
    F16,
    /// bfloat16.
    BF16,
    /// Blocks, whose values are f32.
    Blocks(Scheme),
    /// Codes, whose scales are another operand: no typed operand is.
    Codes,
}

impl FloatStorage {
    /// Of a view's elements; everything that is not a narrower float is read as words.
    pub fn of(view: &View) -> FloatStorage {
        match (view.storage, view.dtype) {
            (Storage::Natural, DType::F16) | (Storage::Encoded(Encoding::Plain(DType::F16)), _) => {
                FloatStorage::F16
            }
            (Storage::Natural, DType::BF16) | (Storage::Encoded(Encoding::Plain(DType::BF16)), _) => {
                FloatStorage::BF16
            }
            (Storage::Encoded(Encoding::Blocks(scheme)), _) => FloatStorage::Blocks(scheme),
            (Storage::Encoded(Encoding::Codes(_)), _) => FloatStorage::Codes,
            (Storage::Encoded(Encoding::Plain(dtype)), _) if !dtype.is_float() => FloatStorage::Codes,
            _ => FloatStorage::F32,
        }
    }

    /// How kernels differ by it.
    pub const fn class(self) -> EncodingClass {
        match self {
            FloatStorage::F32 => EncodingClass::F32,
            FloatStorage::F16 | FloatStorage::BF16 => EncodingClass::Half,
            FloatStorage::Blocks(_) => EncodingClass::Blocks,
            FloatStorage::Codes => EncodingClass::Codes,
        }
    }

    /// What `T_x` is set to: 0, 1, 2, and of a scheme 16 and its id.
    pub const fn code(self) -> u32 {
        match self {
            FloatStorage::F32 => 0,
            FloatStorage::Codes => 15,
            FloatStorage::F16 => 1,
            FloatStorage::BF16 => 2,
            FloatStorage::Blocks(scheme) => 16 + scheme.info().id,
        }
    }
}

/// Where an input of a hole's expression comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HoleInput {
    /// A value param of the hole.
    Value(u8),
    /// A slot, loaded at the hole's coordinates.
    Slot(u8),
    /// A literal of the call: one word for every element.
    Literal(u8),
}

/// What a hole of a template is filled with. Lists are as short as they mostly are, and names are the declaration's:
/// large plans have a call for each of very many steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HoleFill {
    /// The hole's name.
    pub hole: Cow<'static, str>,
    /// The straight-line body.
    pub expr: ScalarExpr,
    /// For each input of `expr`, where it comes from.
    pub inputs: SmallVec<[HoleInput; 8]>,
    /// The output of `expr` that the hole returns; `None` for holes without result.
    pub result: Option<u16>,
    /// Slots that are stored to, each with the output of `expr` that goes there.
    pub stores: SmallVec<[(u8, u16); 4]>,
}

/// One kernel with everything it is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelCall {
    /// Which kernel.
    pub kernel: KernelName,
    /// Which compiled form.
    pub variant: Cow<'static, str>,
    /// Specialization constants: id and value, ids ascending.
    pub spec: Vec<(u32, u32)>,
    /// Argument words, in declaration order.
    pub args: Vec<ArgValue>,
    /// Operands, in declaration order.
    pub operands: SmallVec<[UseIndex; 8]>,
    /// Slots that the holes use.
    pub slots: SmallVec<[UseIndex; 8]>,
    /// Filled holes; the others are the identity.
    pub holes: Vec<HoleFill>,
    /// Literals that bodies take as inputs, so that calls which differ in nothing else share a kernel. They lie where
    /// the addresses of slots that the call does not bind would (see [`Layout::literal`](super::Layout::literal)).
    #[serde(default)]
    pub literals: Vec<u32>,
}

/// A call that does not fit its declaration: a defect of lowering.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No such kernel.
    #[error("no kernel `{0}`")]
    Kernel(KernelName),
    /// No such variant.
    #[error("kernel `{kernel}` has no variant `{variant}`")]
    Variant {
        /// The kernel.
        kernel: KernelName,
        /// The variant asked for.
        variant: String,
    },
    /// A wrong number of something.
    #[error("kernel `{kernel}` takes {expected} {what}, given {given}")]
    Count {
        /// The kernel.
        kernel: KernelName,
        /// Arguments, operands or slots.
        what: &'static str,
        /// Declared.
        expected: usize,
        /// In the call.
        given: usize,
    },
    /// Something that the kernel takes was not set, or set more than once.
    #[error("kernel `{kernel}`: `{name}` is not set once")]
    Unset {
        /// The kernel.
        kernel: KernelName,
        /// The argument, constant or operand.
        name: &'static str,
    },
    /// Something was set that the kernel does not take.
    #[error("kernel `{kernel}` takes no `{name}`")]
    Unknown {
        /// The kernel.
        kernel: KernelName,
        /// The argument, constant or operand.
        name: &'static str,
    },
    /// A view that the kernel's arguments cannot describe.
    #[error("kernel `{kernel}`, operand `{operand}`: {why}")]
    View {
        /// The kernel.
        kernel: KernelName,
        /// The operand, or `slot`.
        operand: &'static str,
        /// What cannot be said.
        why: &'static str,
    },
    /// A specialization constant that is not declared.
    #[error("kernel `{kernel}` has no specialization constant {id}")]
    Spec {
        /// The kernel.
        kernel: KernelName,
        /// The id.
        id: u32,
    },
    /// A hole fill that does not fit.
    #[error("kernel `{kernel}`, hole `{hole}`: {what}")]
    Hole {
        /// The kernel.
        kernel: KernelName,
        /// The hole.
        hole: String,
        /// What does not fit.
        what: &'static str,
    },
}

pumice_types::debug_as_display!(CallError);

impl KernelCall {
    /// What histograms count: `kernel.variant [holes]`.
    pub fn label(&self) -> String {
        let mut text = format!("{}.{}", self.kernel, self.variant);
        if !self.holes.is_empty() {
            let names: Vec<&str> = self.holes.iter().map(|h| &*h.hole).collect();
            text.push_str(&format!(" [{}]", names.join(",")));
        }
        text
    }

    /// Literals that fit beside the addresses of the slots; none where arguments lie in a block.
    pub fn literal_capacity(&self, decl: &KernelDecl) -> usize {
        if decl.layout().block { 0 } else { 2 * (decl.slots as usize).saturating_sub(self.slots.len()) }
    }

    /// The declaration this call was made from, if the call fits it.
    pub fn check(&self) -> Result<&'static KernelDecl, CallError> {
        let kernel = || self.kernel.clone();
        let decl = crate::kernels::find(&self.kernel.0).ok_or_else(|| CallError::Kernel(kernel()))?;
        if decl.variant(&self.variant).is_none() {
            return Err(CallError::Variant { kernel: kernel(), variant: self.variant.to_string() });
        }
        self.check_counts(decl)?;
        for &(id, _) in &self.spec {
            let typed =
                decl.operands.iter().enumerate().any(|(k, o)| o.typed && super::TYPED_ID + k as u32 == id);
            if !typed && id != super::VARIES_ID && !decl.specs.iter().any(|s| s.id == id) {
                return Err(CallError::Spec { kernel: kernel(), id });
            }
        }
        for fill in &self.holes {
            self.check_hole(decl, fill)?;
        }
        Ok(decl)
    }

    fn check_counts(&self, decl: &KernelDecl) -> Result<(), CallError> {
        let count = |what, expected: usize, given: usize| {
            if expected == given {
                Ok(())
            } else {
                Err(CallError::Count { kernel: self.kernel.clone(), what, expected, given })
            }
        };
        count("argument words", decl.arg_words() as usize, self.args.len())?;
        count("operands", decl.operands.len(), self.operands.len())?;
        if self.slots.len() > decl.slots as usize {
            count("slots at most", decl.slots as usize, self.slots.len())?;
        }
        if self.literals.len() > self.literal_capacity(decl) {
            count("literals at most", self.literal_capacity(decl), self.literals.len())?;
        }
        Ok(())
    }

    /// What an input of a hole names that is not there.
    fn missing_input(&self, hole: &HoleDecl, input: HoleInput) -> Option<&'static str> {
        match input {
            HoleInput::Value(k) => (usize::from(k) >= hole.values.len()).then_some("no such value"),
            HoleInput::Slot(k) => (usize::from(k) >= self.slots.len()).then_some("no such slot"),
            HoleInput::Literal(k) => (usize::from(k) >= self.literals.len()).then_some("no such literal"),
        }
    }

    fn check_hole(&self, decl: &KernelDecl, fill: &HoleFill) -> Result<(), CallError> {
        let wrong =
            |what| Err(CallError::Hole { kernel: self.kernel.clone(), hole: fill.hole.to_string(), what });
        let Some(hole) = decl.hole(&fill.hole) else { return wrong("no such hole") };
        if self.holes.iter().filter(|h| h.hole == fill.hole).count() > 1 {
            return wrong("filled twice");
        }
        if let Some(what) = fill.inputs.iter().find_map(|input| self.missing_input(hole, *input)) {
            return wrong(what);
        }
        if fill.stores.iter().any(|&(slot, _)| usize::from(slot) >= self.slots.len()) {
            return wrong("no such slot");
        }
        if !fill.stores.is_empty() && !hole.stores {
            return wrong("it cannot store");
        }
        if fill.result.is_some() == (hole.ty.glsl() == "void") {
            return wrong("result and declaration disagree");
        }
        body_fault(fill).map_or(Ok(()), wrong)
    }
}

/// Why a body is no body of a hole, if it is not: what it takes and gives is not there.
fn body_fault(fill: &HoleFill) -> Option<&'static str> {
    let expr = &fill.expr;
    if fill.inputs.len() != expr.inputs().len() {
        return Some("another number of inputs than its expression takes");
    }
    let mut given = fill.result.iter().chain(fill.stores.iter().map(|(_, output)| output));
    if given.any(|&output| usize::from(output) >= expr.outputs().len()) {
        return Some("no such output of its expression");
    }
    None
}

impl HoleFill {
    /// Whether the body takes or gives 64-bit integers where the hole has 32 bits of an element.
    pub(crate) fn is_too_wide(&self, hole: &HoleDecl) -> bool {
        let (expr, is_wide) = (&self.expr, |ty: &RegType| ty.bits() == 64);
        let mut registers = expr.inputs().iter().copied().chain(expr.insts().iter().map(|i| i.ty));
        let by_value =
            self.inputs.iter().zip(expr.inputs()).filter(|(i, _)| !matches!(i, HoleInput::Slot(_)));
        let result = self.result.and_then(|output| expr.output_type(usize::from(output)));
        (hole.ty.width() > 1 && registers.any(|ty| is_wide(&ty)))
            || by_value.map(|(_, ty)| ty).chain(&result).any(is_wide)
    }
}
