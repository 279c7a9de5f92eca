//! A call while a lowering fills it: operands bound with their views, own arguments and constants by name.
//!
//! In: the fields of a call struct, which [`kernel!`](crate::kernel!) makes of a declaration. Out: the [`KernelCall`]
//! of a plan, its words in the order of the declaration. Words that describe a view come from the bound view, by the
//! group of arguments that the declaration names for the operand, and from nowhere else; an operand without a group is
//! dense from its beginning. What is not set, set twice or not declared is an error, and so is a view that its group
//! cannot say.
//!
//! Never here: the checker's derivation of the same words (`check/footprint`), which shares nothing with this one.

use super::call::{ArgValue, CallError, FloatStorage, HoleFill, IntoArgs, KernelCall, KernelName, UseIndex};
use super::{ArgDecl, KernelDecl, SLOTS, TYPED_ID, VARIES_ID, ViewArg};
use crate::view::View;
use pumice_types::DimExpr;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Turns expressions of symbols and scalars into argument words.
pub trait Words {
    /// The word that holds an expression; none where it varies and there is no frame.
    fn word(&mut self, expr: &DimExpr) -> Option<ArgValue>;
}

/// No frame: every word is known.
pub struct Fixed;

impl Words for Fixed {
    fn word(&mut self, expr: &DimExpr) -> Option<ArgValue> {
        expr.as_const().map(|n| ArgValue::U32(n as u32))
    }
}

/// A use of the step as an operand or a slot of a kernel, with the view that its arguments describe.
#[derive(Clone, Debug)]
pub struct Bound {
    at: UseIndex,
    storage: FloatStorage,
    view: BoundView,
}

#[derive(Clone, Debug)]
enum BoundView {
    /// The kernel does not read it in this form: words about it are 0.
    Unread,
    /// First element and strides in elements, as the group of the operand names its axes.
    Strided { offset: DimExpr, strides: Vec<DimExpr>, dense: bool },
}

impl Bound {
    /// A use seen through a view, whose axes are those of the operand's group.
    pub fn new(at: UseIndex, view: &View) -> Bound {
        let (offset, strides, dense) = (view.offset.clone(), view.strides.clone(), view.is_dense());
        Bound { at, storage: FloatStorage::of(view), view: BoundView::Strided { offset, strides, dense } }
    }

    /// The same use with these strides, in elements: axes of the view split, merged, broadcast or in another order.
    pub fn along(mut self, axes: impl IntoIterator<Item = DimExpr>) -> Bound {
        if let BoundView::Strided { strides, .. } = &mut self.view {
            *strides = axes.into_iter().collect();
        }
        self
    }

    /// The same use for an operand that the kernel does not read.
    pub fn unread(&self) -> Bound {
        Bound { at: self.at, storage: FloatStorage::F32, view: BoundView::Unread }
    }

    /// The use.
    pub fn at(&self) -> UseIndex {
        self.at
    }

    /// How its floats are stored.
    pub fn storage(&self) -> FloatStorage {
        self.storage
    }
}

/// A dense use of 32-bit words.
impl From<UseIndex> for Bound {
    fn from(at: UseIndex) -> Bound {
        let view = BoundView::Strided { offset: DimExpr::constant(0), strides: Vec::new(), dense: true };
        Bound { at, storage: FloatStorage::F32, view }
    }
}

/// A call that is being filled.
#[derive(Clone, Debug)]
pub struct CallBuilder {
    decl: &'static KernelDecl,
    variant: &'static str,
    constants: Vec<(&'static str, u32)>,
    own: Vec<(&'static str, SmallVec<[ArgValue; 1]>)>,
    operands: Vec<(&'static str, Bound)>,
    slots: Vec<Bound>,
    holes: Vec<HoleFill>,
}

impl CallBuilder {
    /// Nothing bound yet.
    pub fn new(decl: &'static KernelDecl, variant: &'static str) -> CallBuilder {
        let (constants, own, operands) = (Vec::new(), Vec::new(), Vec::new());
        CallBuilder { decl, variant, constants, own, operands, slots: Vec::new(), holes: Vec::new() }
    }

    /// The same for another kernel, which takes the same arguments and operands.
    pub fn of(self, decl: &'static KernelDecl, variant: &'static str) -> CallBuilder {
        CallBuilder { decl, variant, ..self }
    }

    /// Sets a specialization constant.
    pub fn constant(mut self, name: &'static str, value: u32) -> CallBuilder {
        self.constants.push((name, value));
        self
    }

    /// Sets an argument of the kernel's own.
    pub fn own(mut self, name: &'static str, value: impl IntoArgs) -> CallBuilder {
        let mut words = SmallVec::new();
        value.append(&mut words);
        self.own.push((name, words));
        self
    }

    /// Binds an operand.
    pub fn operand(mut self, name: &'static str, bound: Bound) -> CallBuilder {
        self.operands.push((name, bound));
        self
    }

    /// Binds the slots and fills the holes.
    pub fn holes(mut self, slots: Vec<Bound>, holes: Vec<HoleFill>) -> CallBuilder {
        (self.slots, self.holes) = (slots, holes);
        self
    }

    /// The call, as plans hold it.
    pub fn resolve(self, words: &mut dyn Words) -> Result<KernelCall, CallError> {
        let decl = self.decl;
        if self.slots.len() > decl.slots as usize {
            let (what, expected, given) = ("slots at most", decl.slots as usize, self.slots.len());
            return Err(CallError::Count { kernel: self.name(), what, expected, given });
        }
        self.known()?;
        let mut args = Vec::with_capacity(decl.arg_words() as usize);
        for (i, arg) in decl.args.iter().enumerate() {
            self.argument(i, arg, &mut args, words)?;
        }
        let operands = decl.operands.iter().map(|o| Ok(self.bound(o.name)?.at));
        let operands = operands.collect::<Result<_, CallError>>()?;
        let spec = self.spec(&args)?;
        let slots = self.slots.iter().map(|s| s.at).collect();
        let (variant, literals) = (Cow::Borrowed(self.variant), Vec::new());
        Ok(KernelCall {
            kernel: self.name(),
            variant,
            spec,
            args,
            operands,
            slots,
            holes: self.holes,
            literals,
        })
    }

    /// The call where no word of it varies.
    pub fn fixed(self) -> Result<KernelCall, CallError> {
        self.resolve(&mut Fixed)
    }

    /// Every name that was set is declared, and set once.
    fn known(&self) -> Result<(), CallError> {
        let own = |name: &str| self.decl.args.iter().any(|a| a.name == name && a.view.is_none());
        let constant = |name: &str| self.decl.specs.iter().any(|s| s.name == name);
        let operand = |name: &str| self.decl.operands.iter().any(|o| o.name == name);
        let stray = self.own.iter().map(|a| a.0).find(|n| !own(n));
        let stray = stray.or_else(|| self.constants.iter().map(|c| c.0).find(|n| !constant(n)));
        let stray = stray.or_else(|| self.operands.iter().map(|o| o.0).find(|n| !operand(n)));
        stray.map_or(Ok(()), |name| Err(CallError::Unknown { kernel: self.name(), name }))
    }

    /// Appends the words of argument `i` of the declaration.
    fn argument(
        &self,
        i: usize,
        arg: &ArgDecl,
        args: &mut Vec<ArgValue>,
        words: &mut dyn Words,
    ) -> Result<(), CallError> {
        let Some(view) = arg.view else {
            let set = &self.one(&self.own, arg.name)?;
            if set.len() != arg.words() as usize {
                return Err(CallError::Unset { kernel: self.name(), name: arg.name });
            }
            args.extend(set.iter());
            return Ok(());
        };
        let axis = Axis::of(self.decl, i, view);
        if view.of != SLOTS {
            args.push(self.word(view.of, self.bound(view.of)?, &axis, words)?);
            return Ok(());
        }
        for slot in 0..arg.words() as usize {
            let bound = self.slots.get(slot);
            args.push(bound.map_or(Ok(ArgValue::ZERO), |b| self.word(SLOTS, b, &axis, words))?);
        }
        Ok(())
    }

    /// One word about a bound view.
    fn word(
        &self,
        operand: &'static str,
        bound: &Bound,
        axis: &Axis,
        words: &mut dyn Words,
    ) -> Result<ArgValue, CallError> {
        let wrong = |why| CallError::View { kernel: self.name(), operand, why };
        let BoundView::Strided { offset, strides, .. } = &bound.view else { return Ok(ArgValue::ZERO) };
        if strides.len() != axis.strides {
            return Err(wrong("its view has another number of axes than its group of arguments"));
        }
        if !axis.has_first && !offset.is(0) {
            return Err(wrong("no argument says where it begins, and it begins later"));
        }
        let expr = axis.along.map_or(offset, |k| &strides[k]);
        words.word(expr).ok_or_else(|| wrong("it varies"))
    }

    /// A bound operand; one without a group must be dense.
    fn bound(&self, name: &'static str) -> Result<&Bound, CallError> {
        let bound = self.one(&self.operands, name)?;
        let grouped = self.decl.args.iter().any(|a| a.view.is_some_and(|v| v.of == name));
        let dense = matches!(bound.view, BoundView::Unread | BoundView::Strided { dense: true, .. });
        if grouped || dense {
            return Ok(bound);
        }
        let why = "no argument says how it lies, and it is not dense";
        Err(CallError::View { kernel: self.name(), operand: name, why })
    }

    /// Specialization constants: those of the declaration, storages of typed operands, whether anything varies.
    fn spec(&self, args: &[ArgValue]) -> Result<Vec<(u32, u32)>, CallError> {
        let mut spec = Vec::with_capacity(self.decl.specs.len() + 2);
        for declared in self.decl.specs {
            spec.push((declared.id, *self.one(&self.constants, declared.name)?));
        }
        for (k, o) in self.decl.operands.iter().enumerate().filter(|(_, o)| o.typed) {
            spec.push((TYPED_ID + k as u32, self.bound(o.name)?.storage.code()));
        }
        if args.iter().all(|a| matches!(a, ArgValue::U32(_))) {
            spec.push((VARIES_ID, 0));
        }
        spec.sort_by_key(|s| s.0);
        Ok(spec)
    }

    /// What was set under a name, once.
    fn one<'a, T>(&self, set: &'a [(&'static str, T)], name: &'static str) -> Result<&'a T, CallError> {
        let mut all = set.iter().filter(|s| s.0 == name);
        match (all.next(), all.next()) {
            (Some((_, one)), None) => Ok(one),
            _ => Err(CallError::Unset { kernel: self.name(), name }),
        }
    }

    fn name(&self) -> KernelName {
        KernelName(Cow::Borrowed(self.decl.name))
    }
}

/// Which part of a view an argument is.
struct Axis {
    /// Number of the stride; none is the first element.
    along: Option<usize>,
    /// Strides of the whole group.
    strides: usize,
    /// Whether the group says where the view begins.
    has_first: bool,
}

impl Axis {
    /// Of argument `i`, which is `view`.
    fn of(decl: &KernelDecl, i: usize, view: ViewArg) -> Axis {
        let strides = |args: &[ArgDecl]| {
            let group = args.iter().filter_map(|a| a.view).filter(|v| v.of == view.of);
            group.filter(|v| !v.is_first()).count()
        };
        let same = |v: &ViewArg| v.of == view.of && v.is_first();
        Axis {
            along: (!view.is_first()).then(|| strides(&decl.args[..i])),
            strides: strides(decl.args),
            has_first: decl.args.iter().filter_map(|a| a.view).any(|v| same(&v)),
        }
    }
}
