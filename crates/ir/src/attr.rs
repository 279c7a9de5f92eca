//! Attributes: what an op carries besides its operands, in the one form that printing, parsing and comparing share.

use crate::graph::Graph;
use crate::ops::Op;
pub use crate::range::{CountRange, FloatRange};
use crate::shape::ValueType;
use pumice_types::{DType, DimExpr, Tensor};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrValue {
    /// An integer.
    Int(i64),
    /// A float; f32 attributes are held exactly.
    Float(f64),
    /// A flag.
    Bool(bool),
    /// A word of a fixed vocabulary, or any text.
    Str(String),
    /// A list of integers.
    Ints(Vec<i64>),
    /// An integer expression.
    Dim(DimExpr),
    /// A list of integer expressions.
    Dims(Vec<DimExpr>),
    /// An element type.
    DType(DType),
    /// A type, written before the `=` of a node.
    Type(ValueType),
    /// The types of all results, written there.
    Types(Vec<ValueType>),
    /// Constant data.
    Data(Arc<Tensor>),
    /// A nested graph.
    Graph(Arc<Graph>),
    /// An op with its attributes.
    Op(Arc<Op>),
}

/// An attribute that does not fit.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum AttrError {
    /// Not given, and there is no default.
    #[error("attribute `{0}` is missing")]
    Missing(&'static str),
    /// The op has no such attribute.
    #[error("unknown attribute `{0}`")]
    Unknown(String),
    /// Given as another kind of value.
    #[error("attribute `{name}` must be {expected}")]
    Kind {
        /// Its name.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// Given, but not a value it can take.
    #[error("attribute `{name}`: {reason}")]
    Value {
        /// Its name.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
}

pumice_types::debug_as_display!(AttrError);

/// Attributes of a node while it is read: each is taken once, what is left over is an error.
#[derive(Debug, Default)]
pub struct AttrReader {
    left: Vec<(String, AttrValue)>,
}

impl AttrReader {
    /// A reader of these attributes.
    pub fn new(attrs: Vec<(String, AttrValue)>) -> AttrReader {
        AttrReader { left: attrs }
    }

    /// Takes an attribute out, if it is given.
    pub fn take(&mut self, name: &str) -> Option<AttrValue> {
        let i = self.left.iter().position(|(n, _)| n == name)?;
        Some(self.left.remove(i).1)
    }

    /// Errors if anything is left.
    pub fn finish(self) -> Result<(), AttrError> {
        self.left.into_iter().next().map_or(Ok(()), |(name, _)| Err(AttrError::Unknown(name)))
    }
}

/// A type that can be an attribute.
pub trait AttrType: Clone {
    /// What messages call it.
    const EXPECTED: &'static str;
    /// What an op states of it after `=>`: a range of numbers, or nothing.
    type Range;
    /// Whether every op states it.
    const RANGED: bool = false;
    /// Why the value is not in that range, if it is not.
    fn refusal(&self, _range: &Self::Range) -> Option<String> {
        None
    }
    /// As a value; `None` leaves the attribute out.
    fn to_attr(&self) -> Option<AttrValue>;
    /// From a value.
    fn from_attr(value: AttrValue) -> Option<Self>;
    /// What a left-out attribute means, where that is not the op's default.
    fn absent() -> Option<Self> {
        None
    }
    /// Whether two ops with these attributes are one: floats by their bits, so that −0 is not +0, and every NaN is one.
    fn same(&self, other: &Self) -> bool;
    /// Feeds a hash; what is the same feeds the same.
    fn feed<H: Hasher>(&self, state: &mut H);
    /// Shows the integer expressions in it; those of a nested graph are its own.
    fn visit_dims(&self, _visit: &mut dyn FnMut(&DimExpr)) {}
    /// Puts others in the place of those that [`visit_dims`](AttrType::visit_dims) shows.
    fn map_dims(&mut self, _map: &dyn Fn(&DimExpr) -> DimExpr) {}
}

/// The two duties of an attribute type that is compared and hashed as it is.
macro_rules! same_as_equal {
    () => {
        fn same(&self, other: &Self) -> bool {
            self == other
        }
        fn feed<H: std::hash::Hasher>(&self, state: &mut H) {
            std::hash::Hash::hash(self, state);
        }
    };
}

macro_rules! attr_types {
    ($($t:ty, $expected:literal, |$v:ident| $to:expr, $from:pat => $back:expr;)*) => {$(
        impl AttrType for $t {
            const EXPECTED: &'static str = $expected;
            type Range = ();
            fn to_attr(&self) -> Option<AttrValue> {
                let $v = self;
                Some($to)
            }
            #[allow(unreachable_patterns)]
            fn from_attr(value: AttrValue) -> Option<Self> {
                match value {
                    $from => $back,
                    _ => None,
                }
            }
            same_as_equal!();
        }
    )*};
}
attr_types! {
    i64, "an integer", |v| AttrValue::Int(*v), AttrValue::Int(i) => Some(i);
    bool, "true or false", |v| AttrValue::Bool(*v), AttrValue::Bool(b) => Some(b);
    DType, "a dtype", |v| AttrValue::DType(*v), AttrValue::DType(d) => Some(d);
    String, "a string", |v| AttrValue::Str(v.clone()), AttrValue::Str(s) => Some(s);
    Vec<i64>, "a list of integers", |v| AttrValue::Ints(v.clone()), AttrValue::Ints(v) => Some(v);
    Arc<Tensor>, "constant data", |v| AttrValue::Data(v.clone()), AttrValue::Data(t) => Some(t);
    Arc<Graph>, "a graph", |v| AttrValue::Graph(v.clone()), AttrValue::Graph(g) => Some(g);
}

/// A count as an integer of the text; beyond the integers, the largest, which every range leaves out.
fn int_of(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl AttrType for u64 {
    const EXPECTED: &'static str = "an integer that is not negative";
    type Range = CountRange;
    const RANGED: bool = true;
    fn refusal(&self, range: &CountRange) -> Option<String> {
        range.refusal(*self)
    }
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Int(int_of(*self)))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        i64::from_attr(value).and_then(|i| u64::try_from(i).ok())
    }
    same_as_equal!();
}

impl AttrType for Vec<u64> {
    const EXPECTED: &'static str = "a list of integers that are not negative";
    type Range = CountRange;
    const RANGED: bool = true;
    fn refusal(&self, range: &CountRange) -> Option<String> {
        self.iter().find_map(|&count| range.refusal(count))
    }
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Ints(self.iter().map(|&count| int_of(count)).collect()))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        Vec::<i64>::from_attr(value)?.into_iter().map(|i| u64::try_from(i).ok()).collect()
    }
    same_as_equal!();
}

impl AttrType for f64 {
    const EXPECTED: &'static str = "a number";
    type Range = FloatRange;
    const RANGED: bool = true;
    fn refusal(&self, range: &FloatRange) -> Option<String> {
        range.refusal(*self)
    }
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Float(*self))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        match value {
            AttrValue::Float(f) => Some(f),
            AttrValue::Int(i) => Some(i as f64),
            _ => None,
        }
    }
    fn same(&self, other: &Self) -> bool {
        float_bits(*self) == float_bits(*other)
    }
    fn feed<H: Hasher>(&self, state: &mut H) {
        float_bits(*self).hash(state);
    }
}

/// The bits of a float; of any NaN, those of one.
fn float_bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

impl AttrType for f32 {
    const EXPECTED: &'static str = "a number";
    type Range = FloatRange;
    const RANGED: bool = true;
    fn refusal(&self, range: &FloatRange) -> Option<String> {
        range.refusal(f64::from(*self))
    }
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Float(f64::from(*self)))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        f64::from_attr(value).map(|f| f as f32)
    }
    fn same(&self, other: &Self) -> bool {
        f64::from(*self).same(&f64::from(*other))
    }
    fn feed<H: Hasher>(&self, state: &mut H) {
        f64::from(*self).feed(state);
    }
}

impl AttrType for ValueType {
    const EXPECTED: &'static str = "a type";
    type Range = ();
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Type(self.clone()))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        match value {
            AttrValue::Type(ty) => Some(ty),
            _ => None,
        }
    }
    same_as_equal!();
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
        self.shape.iter().for_each(visit);
    }
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        self.shape = self.shape.iter().map(map).collect();
    }
}

impl AttrType for Vec<ValueType> {
    const EXPECTED: &'static str = "the types of all results";
    type Range = ();
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Types(self.clone()))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        match value {
            AttrValue::Type(ty) => Some(vec![ty]),
            AttrValue::Types(types) => Some(types),
            _ => None,
        }
    }
    same_as_equal!();
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
        self.iter().flat_map(|ty| ty.shape.iter()).for_each(visit);
    }
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        self.iter_mut().for_each(|ty| ty.map_dims(map));
    }
}

impl AttrType for DimExpr {
    const EXPECTED: &'static str = "an integer expression";
    type Range = ();
    fn to_attr(&self) -> Option<AttrValue> {
        Some(self.as_const().map_or_else(|| AttrValue::Dim(self.clone()), AttrValue::Int))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        match value {
            AttrValue::Dim(d) => Some(d),
            AttrValue::Int(i) => Some(DimExpr::constant(i)),
            _ => None,
        }
    }
    same_as_equal!();
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
        visit(self);
    }
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        *self = map(self);
    }
}

impl AttrType for Vec<DimExpr> {
    const EXPECTED: &'static str = "a list of integer expressions";
    type Range = ();
    fn to_attr(&self) -> Option<AttrValue> {
        let ints: Option<Vec<i64>> = self.iter().map(DimExpr::as_const).collect();
        Some(ints.map_or_else(|| AttrValue::Dims(self.clone()), AttrValue::Ints))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        match value {
            AttrValue::Dims(d) => Some(d),
            AttrValue::Ints(v) => Some(v.into_iter().map(DimExpr::constant).collect()),
            _ => None,
        }
    }
    same_as_equal!();
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
        self.iter().for_each(visit);
    }
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        self.iter_mut().for_each(|d| *d = map(d));
    }
}

impl AttrType for Arc<Op> {
    const EXPECTED: &'static str = "an op";
    type Range = ();
    fn to_attr(&self) -> Option<AttrValue> {
        Some(AttrValue::Op(self.clone()))
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        match value {
            AttrValue::Op(op) => Some(op),
            _ => None,
        }
    }
    same_as_equal!();
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
        Op::visit_dims(self, visit);
    }
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        Arc::make_mut(self).map_dims(map);
    }
}

impl<T: AttrType> AttrType for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    type Range = T::Range;
    const RANGED: bool = T::RANGED;
    fn refusal(&self, range: &T::Range) -> Option<String> {
        self.as_ref()?.refusal(range)
    }
    fn to_attr(&self) -> Option<AttrValue> {
        self.as_ref().and_then(AttrType::to_attr)
    }
    fn from_attr(value: AttrValue) -> Option<Self> {
        T::from_attr(value).map(Some)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(a), Some(b)) => a.same(b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }
    fn feed<H: Hasher>(&self, state: &mut H) {
        self.is_some().hash(state);
        self.iter().for_each(|value| value.feed(state));
    }
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
        self.iter().for_each(|value| value.visit_dims(visit));
    }
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
        self.iter_mut().for_each(|value| value.map_dims(map));
    }
}

/// Attributes of an op, made by [`op!`](crate::op).
pub trait Attrs: Sized {
    /// Their names, in declaration order.
    const NAMES: &'static [&'static str];
    /// Every attribute that is not at its default, in declaration order.
    fn write(&self) -> Vec<(&'static str, AttrValue)>;
    /// Shows the integer expressions in them.
    fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr));
    /// Puts others in their places.
    fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr);
    /// From what was read.
    fn read(reader: &mut AttrReader) -> Result<Self, AttrError>;
    /// Every number is in the range that the op states.
    fn check_ranges(&self) -> Result<(), AttrError>;
}

/// Checks one attribute; used by [`op!`](crate::op).
pub fn check_one<T: AttrType>(
    name: &'static str,
    value: &T,
    range: Option<T::Range>,
) -> Result<(), AttrError> {
    match range.and_then(|range| value.refusal(&range)) {
        Some(reason) => Err(AttrError::Value { name, reason }),
        None => Ok(()),
    }
}

/// Reads one attribute; used by [`op!`](crate::op).
pub fn read_one<T: AttrType>(
    reader: &mut AttrReader,
    name: &'static str,
    default: Option<T>,
) -> Result<T, AttrError> {
    match reader.take(name) {
        Some(value) => T::from_attr(value).ok_or(AttrError::Kind { name, expected: T::EXPECTED }),
        None => default.or_else(T::absent).ok_or(AttrError::Missing(name)),
    }
}

/// Writes one attribute unless it is at its default; used by [`op!`](crate::op).
pub fn write_one<T: AttrType>(
    out: &mut Vec<(&'static str, AttrValue)>,
    name: &'static str,
    value: &T,
    default: Option<T>,
) {
    if !default.is_some_and(|d| d.same(value)) {
        out.extend(value.to_attr().map(|v| (name, v)));
    }
}

/// Declares an op's struct: fields are attributes, `= expr` their defaults, `=> RANGE` a constant of the type's range
/// ([`FloatRange`](crate::attr::FloatRange), [`CountRange`](crate::attr::CountRange)), which every float and every
/// count has; verifying checks it.
///
/// ```text
/// op! {
///     /// Softmax along one axis (ONNX Softmax).
///     pub struct Softmax { /// The axis. axis: i64 = -1 }
/// }
/// op! {
///     /// A norm.
///     pub struct RmsNorm { /// ε. epsilon: f32 = 1e-5 => NOT_NEGATIVE }
/// }
/// ```
#[macro_export]
macro_rules! op {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$fdoc:meta])* $field:ident : $ty:ty $(= $default:expr)? $(=> $range:ident)?),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty),* }

        /// Equal where all attributes are the same, see [`AttrType::same`]($crate::attr::AttrType::same).
        impl PartialEq for $name {
            #[allow(unused_variables)]
            fn eq(&self, other: &Self) -> bool {
                true $(&& $crate::attr::AttrType::same(&self.$field, &other.$field))*
            }
        }

        impl Eq for $name {}

        impl std::hash::Hash for $name {
            #[allow(unused_variables)]
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                $($crate::attr::AttrType::feed(&self.$field, state);)*
            }
        }

        impl $crate::attr::Attrs for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];
            #[allow(unused_mut)]
            fn write(&self) -> Vec<(&'static str, $crate::attr::AttrValue)> {
                let mut out = Vec::new();
                $($crate::attr::write_one(&mut out, stringify!($field), &self.$field, $crate::op!(@default $($default)?));)*
                out
            }
            #[allow(unused_variables)]
            fn visit_dims(&self, visit: &mut dyn FnMut(&pumice_types::DimExpr)) {
                $($crate::attr::AttrType::visit_dims(&self.$field, visit);)*
            }
            #[allow(unused_variables)]
            fn map_dims(&mut self, map: &dyn Fn(&pumice_types::DimExpr) -> pumice_types::DimExpr) {
                $($crate::attr::AttrType::map_dims(&mut self.$field, map);)*
            }
            #[allow(unused_variables)]
            fn read(reader: &mut $crate::attr::AttrReader) -> Result<Self, $crate::attr::AttrError> {
                Ok($name { $($field: $crate::attr::read_one(reader, stringify!($field), $crate::op!(@default $($default)?))?),* })
            }
            fn check_ranges(&self) -> Result<(), $crate::attr::AttrError> {
                $($crate::attr::check_one(stringify!($field), &self.$field, $crate::op!(@range $ty $(, $range)?))?;)*
                Ok(())
            }
        }

        $(const _: () = assert!(
            <$ty as $crate::attr::AttrType>::RANGED == $crate::op!(@range $ty $(, $range)?).is_some(),
            "an attribute that is a float or a count states its range, and no other does"
        );)*
    };
    (@range $ty:ty, $range:ident) => { Some(<$ty as $crate::attr::AttrType>::Range::$range) };
    (@range $ty:ty) => { None::<<$ty as $crate::attr::AttrType>::Range> };
    (@default $default:expr) => { Some($default) };
    (@default) => { None };
}

/// Declares an enum whose variants are words in `.ir` text.
#[macro_export]
macro_rules! attr_enum {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// Every one of them, in declaration order.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];
        }

        impl $crate::attr::AttrType for $name {
            const EXPECTED: &'static str = concat!("one of" $(, " ", $word)*);
            type Range = ();
            fn to_attr(&self) -> Option<$crate::attr::AttrValue> {
                let word = match self { $($name::$variant => $word),* };
                Some($crate::attr::AttrValue::Str(word.to_owned()))
            }
            fn from_attr(value: $crate::attr::AttrValue) -> Option<Self> {
                match value {
                    $crate::attr::AttrValue::Str(s) => match s.as_str() { $($word => Some($name::$variant),)* _ => None },
                    _ => None,
                }
            }
            fn same(&self, other: &Self) -> bool {
                self == other
            }
            fn feed<H: std::hash::Hasher>(&self, state: &mut H) {
                std::hash::Hash::hash(self, state);
            }
        }
    };
}
