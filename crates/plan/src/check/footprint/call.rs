//! The numbers of a call, by the names of its declaration.
//!
//! In: a call whose counts fit its declaration, its argument words at some bindings. Out: arguments, constants and
//! definitions as numbers, and the laws that many families share: powers of two, multiples of four. A name that the
//! declaration lacks is an error like any other, so that a kernel that changes without its rule is refused.

use super::{LARGEST_INDEX, Wrong};
use crate::check::numbers::Number;
use crate::kernel::{FloatStorage, KernelCall, KernelDecl, TYPED_ID};
use crate::step::Step;
use crate::view::Unit;
use pumice_types::Scheme;
use std::cell::Cell;
use std::fmt;

/// A call at some bindings.
pub(super) struct Call<'a> {
    /// Its declaration.
    pub decl: &'static KernelDecl,
    /// The call.
    pub call: &'a KernelCall,
    /// Its argument words.
    pub words: &'a [Number<'a>],
    /// The step it belongs to.
    pub step: &'a Step,
    /// Which words vary with scalars.
    pub varying: &'a [bool],
    /// Whether the rule asked for one of those.
    pub asked: Cell<bool>,
}

impl<'a> Call<'a> {
    /// Extents and counts.
    pub fn counts<const N: usize>(&self, names: [&str; N]) -> Result<[Number<'a>; N], Wrong> {
        let mut out = [0.into(); N];
        for (name, value) in names.iter().zip(&mut out) {
            *value = self.words(name)?.first().map_or(0.into(), |word| word.as_word(0));
            if *value > LARGEST_INDEX {
                return Err(format!("`{name}` is {value}, kernels count to {LARGEST_INDEX}"));
            }
        }
        Ok(out)
    }

    /// As [`Call::counts`], for a law that needs the values themselves.
    pub fn fixed_counts<const N: usize>(&self, names: [&str; N]) -> Result<[u64; N], Wrong> {
        Ok(self.counts(names)?.map(Number::fixed_extent))
    }

    /// Offsets and strides. They are added modulo 2^32, so that a negative one is what its bits say as a signed number.
    pub fn strides<const N: usize>(&self, names: [&str; N]) -> Result<[Number<'a>; N], Wrong> {
        let mut out = [0.into(); N];
        for (name, value) in names.iter().zip(&mut out) {
            *value = self.words(name)?.first().map_or(0.into(), |word| signed(*word));
        }
        Ok(out)
    }

    /// An array of offsets or strides, at one place.
    pub fn stride_at(&self, name: &str, index: usize) -> Result<Number<'a>, Wrong> {
        let word = self.words(name)?.get(index).copied();
        word.map(signed).ok_or_else(|| format!("`{name}` has no element {index}"))
    }

    /// As [`Call::strides`], for a law that needs the values themselves.
    pub fn fixed_strides<const N: usize>(&self, names: [&str; N]) -> Result<[i64; N], Wrong> {
        Ok(self.strides(names)?.map(|n| n.fixed() as i64))
    }

    /// As [`Call::stride_at`], for a law that needs the value itself.
    pub fn fixed_stride_at(&self, name: &str, index: usize) -> Result<i64, Wrong> {
        Ok(self.stride_at(name, index)?.fixed() as i64)
    }

    /// An array of extents, at one place.
    pub fn count_at(&self, name: &str, index: usize) -> Result<Number<'a>, Wrong> {
        let word = self.words(name)?.get(index).copied();
        word.map(|word| word.as_word(0)).ok_or_else(|| format!("`{name}` has no element {index}"))
    }

    /// As [`Call::count_at`], for a law that needs the value itself.
    pub fn fixed_count_at(&self, name: &str, index: usize) -> Result<u64, Wrong> {
        Ok(self.count_at(name, index)?.fixed_extent())
    }

    fn words(&self, name: &str) -> Result<&'a [Number<'a>], Wrong> {
        let mut at = 0;
        for arg in self.decl.args {
            let len = arg.words() as usize;
            if arg.name == name {
                if self.varying.get(at..at + len).is_some_and(|words| words.contains(&true)) {
                    self.asked.set(true);
                }
                return self.words.get(at..at + len).ok_or_else(|| format!("`{name}` is missing"));
            }
            at += len;
        }
        Err(format!("the kernel has no argument `{name}`"))
    }

    /// A specialization constant.
    pub fn spec(&self, name: &str) -> Result<u64, Wrong> {
        let decl = self.decl.specs.iter().find(|s| s.name == name);
        let decl = decl.ok_or_else(|| format!("the kernel has no constant `{name}`"))?;
        let given = self.call.spec.iter().find(|(id, _)| *id == decl.id);
        Ok(u64::from(given.map_or(decl.default, |(_, value)| *value)))
    }

    /// A specialization constant that is one of the numbers below `end`.
    pub fn choice(&self, name: &str, end: u64) -> Result<u64, Wrong> {
        let value = self.spec(name)?;
        law(value < end, || format!("`{name}` is {value}, which means nothing"))?;
        Ok(value)
    }

    /// A specialization constant that is 0 or 1.
    pub fn flag(&self, name: &str) -> Result<bool, Wrong> {
        Ok(self.choice(name, 2)? == 1)
    }

    /// A specialization constant that is a power of two up to `most`.
    pub fn power_of_two(&self, name: &str, most: u64) -> Result<u64, Wrong> {
        let value = self.spec(name)?;
        law(value.is_power_of_two() && value <= most, || {
            format!("`{name}` is {value}, not a power of two up to {most}")
        })?;
        Ok(value)
    }

    /// The elements of a typed operand that share bytes, by what the kernel is compiled for.
    pub fn typed_unit(&self, operand: usize) -> Unit {
        let id = TYPED_ID + operand as u32;
        let storage = self.call.spec.iter().find(|(i, _)| *i == id).map_or(0, |(_, v)| *v);
        let scheme = Scheme::ALL.into_iter().find(|s| FloatStorage::Blocks(*s).code() == storage);
        match scheme {
            Some(scheme) => Unit { elements: scheme.elements(), bytes: scheme.bytes() },
            None => Unit::of_bytes(if storage == 0 { 4 } else { 2 }),
        }
    }

    /// A definition of the variant; none where it has none of that name.
    pub fn define(&self, name: &str) -> Option<u64> {
        let variant = self.decl.variant(&self.call.variant)?;
        variant.defines.iter().find(|d| d.0 == name).and_then(|d| d.1.parse().ok())
    }

    /// A definition that every variant has.
    pub fn defined(&self, name: &str) -> Result<u64, Wrong> {
        self.define(name).ok_or_else(|| format!("the variant does not define {name}"))
    }

    /// An operand that the kernel does not read in this form is bound to another of its operands: so that a plan says
    /// one thing in one way, and a constant that was changed from a form that reads it is found.
    pub fn bound_again(&self, operand: usize, to: usize) -> Result<(), Wrong> {
        let at = |i: usize| self.call.operands.get(i).map(|a| a.0);
        law(at(operand) == at(to), || {
            let name = self.decl.operands.get(operand).map_or("?", |o| o.name);
            format!("`{name}` is not read and bound to something of its own")
        })
    }

    /// An operand that the kernel reads in this form, and then is of its own, or is bound again.
    pub fn own_or_again(&self, reads: bool, operand: usize, to: usize) -> Result<(), Wrong> {
        if !reads {
            return self.bound_again(operand, to);
        }
        let at = |i: usize| self.call.operands.get(i).map(|a| a.0);
        law(at(operand) != at(to), || {
            let name = self.decl.operands.get(operand).map_or("?", |o| o.name);
            format!("`{name}` is read and bound to what another operand is bound to")
        })
    }

    /// How many axes the view of an operand has.
    pub fn rank(&self, operand: usize) -> usize {
        let at = self.call.operands.get(operand).and_then(|at| self.step.uses.get(usize::from(at.0)));
        at.map_or(0, |u| u.view.shape.len())
    }

    /// Whether the use of an operand is of a type as wide as two words.
    pub fn is_wide(&self, operand: usize) -> bool {
        let at = self.call.operands.get(operand).and_then(|at| self.step.uses.get(usize::from(at.0)));
        at.is_some_and(|u| u.view.storage.unit(u.view.dtype).bytes == 8 && u.view.dtype.arena_bytes() == 8)
    }
}

fn signed(word: Number<'_>) -> Number<'_> {
    word.as_word(i32::MIN.into())
}

/// A law of one family.
pub(super) fn law(holds: bool, what: impl FnOnce() -> Wrong) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(what()) }
}

/// All of these are multiples of four, as reads and writes of four words at once need.
pub(super) fn by_four<'i, N: Into<Number<'i>> + Copy>(what: &str, numbers: &[N]) -> Result<(), Wrong> {
    match numbers.iter().map(|n| (*n).into()).find(|n| !n.is_multiple_of(4)) {
        None => Ok(()),
        Some(n) => Err(format!("{what} takes four elements at once, and {n} is no multiple of four")),
    }
}

/// A product of counts, saturating.
pub(super) fn product<C: Count>(counts: &[C]) -> C {
    counts.iter().fold(C::from(1), |p, n| p.times(*n))
}

/// Elements of an iteration, which kernels count in 32 bits.
pub(super) fn iteration<C: Count>(counts: &[C]) -> Result<C, Wrong> {
    let all = product(counts);
    law(!all.is_beyond(LARGEST_INDEX), || {
        format!("it iterates over {all}, kernels count to {LARGEST_INDEX}")
    })?;
    Ok(all)
}

/// Numbers of elements: of one run, or of all that may be found.
pub(super) trait Count: Copy + fmt::Display + From<u32> {
    /// The product, saturating.
    fn times(self, other: Self) -> Self;
    /// Whether it is larger.
    fn is_beyond(self, most: u64) -> bool;
}

impl Count for u64 {
    fn times(self, other: u64) -> u64 {
        self.saturating_mul(other)
    }

    fn is_beyond(self, most: u64) -> bool {
        self > most
    }
}

impl Count for Number<'_> {
    fn times(self, other: Self) -> Self {
        self * other
    }

    fn is_beyond(self, most: u64) -> bool {
        self > most
    }
}
