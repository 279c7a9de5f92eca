//! The fuel of a rendering: what values cost that the engine itself does not charge, or only afterwards.
//!
//! Lists share what they hold, so one of sixty levels can have 2^60 items in a few hundred bytes. Whoever walks through
//! a value takes the fuel for all that it will see first; what the fuel does not pay for is not walked through.

use super::python::{DEEPEST, Str};
use minijinja::value::{ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use std::fmt::{self, Write};

/// Bytes that one step of fuel pays for, as in the engine.
pub(super) const BYTES_PER_STEP: usize = 64;
/// Items of a list that one step pays for, as in the engine.
const ITEMS_PER_STEP: usize = 2;
/// A text so long is compared with an item of a list in a few steps.
const SHORT: usize = 32 << 10;

/// Lets the engine's own filters and tests work, which take the fuel for each item that they see. The engine publishes
/// some without that (`dictsort`, `groupby`, `indent`), so they are called in an environment of its own making.
pub(super) fn by_engine<T>(
    state: &State<'_, '_>,
    work: impl FnOnce(&mut State<'_, '_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut environment = Environment::new();
    environment.set_fuel(state.fuel_levels().map(|(_, left)| left));
    let mut engine = environment.empty_state();
    let result = work(&mut engine);
    state.consume_fuel(engine.fuel_levels().map_or(0, |(taken, _)| taken))?;
    result
}

/// Takes the fuel for a value that is joined with another or repeated: for its items, which are not looked into. The
/// engine joins lists when somebody asks for their items, and takes nothing before.
pub(super) fn pay_items(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    let is_list = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    let items = if is_list { value.len().unwrap_or(0) } else { 0 };
    state.consume_fuel((items / ITEMS_PER_STEP) as u64)
}

/// Takes the fuel for a value that is sought in another: in a list it may be compared with each item, for which the
/// engine takes no more than for a number.
pub(super) fn pay_sought(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    let bytes = pay_size(state, value)?;
    let more = match value.kind() {
        ValueKind::String => (bytes / BYTES_PER_STEP).saturating_mul(bytes / SHORT),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => bytes.saturating_mul(bytes) / BYTES_PER_STEP,
        _ => 0,
    };
    state.consume_fuel(more as u64)
}

/// Takes the fuel for putting the items of a value in order: each is compared as often as their number has digits, byte
/// by byte where they are alike, by each of the attributes; what stands for one that is missing is among the arguments.
/// An iterable need not say how many items it has, so the engine counts them first.
pub(super) fn pay_order(state: &State<'_, '_>, value: &Value, args: &[ValueOrKwargs]) -> Result<(), Error> {
    if value.kind() == ValueKind::Iterable {
        let items = by_engine(state, |engine| engine.apply_filter("list", std::slice::from_ref(value)))?;
        return pay_order(state, &items, args);
    }
    let size = pay_size(state, value)?;
    let items = value.len().unwrap_or(0);
    let comparisons = (usize::BITS - items.leading_zeros()) as usize;
    let most = payable(state);
    let arguments = args.iter().map(|arg| written(arg, most)).fold(1, usize::saturating_add);
    let bytes = size.saturating_add(items.saturating_mul(arguments));
    let bytes = bytes.saturating_mul(comparisons).saturating_mul(attributes(args));
    state.consume_fuel((bytes / BYTES_PER_STEP) as u64)
}

/// How many attributes the argument of that name has: those of a list, and all on the way to each.
fn attributes(args: &[ValueOrKwargs]) -> usize {
    let given = args.iter().filter_map(|arg| arg.get_attr("attribute").ok());
    given.filter_map(|names| Some(names.as_str()?.matches([',', '.']).count())).fold(1, usize::saturating_add)
}

/// Takes the fuel for a value that becomes text; a string is text already.
pub(super) fn pay_text(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.as_str().is_some() { Ok(()) } else { pay(state, value) }
}

/// Takes the fuel for a value as text.
pub(super) fn pay(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    pay_size(state, value).map(|_| ())
}

/// The same; gives the length of that text.
fn pay_size(state: &State<'_, '_>, value: &Value) -> Result<usize, Error> {
    let (bytes, is_whole) = counted(value, payable(state));
    if is_whole {
        state.consume_fuel((bytes / BYTES_PER_STEP) as u64)?;
        return Ok(bytes);
    }
    // One byte more than the fuel pays for is a step more.
    state.consume_fuel(bytes.div_ceil(BYTES_PER_STEP) as u64)?;
    let problem = format!("lists and objects nest deeper than {DEEPEST}");
    Err(Error::new(ErrorKind::InvalidOperation, problem))
}

/// Bytes that the fuel that is left pays for.
pub(super) fn payable(state: &State<'_, '_>) -> usize {
    state.fuel_levels().map_or(usize::MAX, |(_, left)| left as usize * BYTES_PER_STEP)
}

/// The length of a value as text; of a longer one than `most`, something above that.
pub(super) fn written(value: &Value, most: usize) -> usize {
    counted(value, most).0
}

/// The length of a value as text and whether all of it was counted: no further than `most`, no deeper than is written.
fn counted(value: &Value, most: usize) -> (usize, bool) {
    struct Counter(usize, usize);
    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            if self.0 > self.1 { Err(fmt::Error) } else { Ok(()) }
        }
    }
    if let Some(text) = value.as_str() {
        return (text.len(), true);
    }
    let mut counter = Counter(0, most);
    let is_whole = write!(counter, "{}", Str(value)).is_ok();
    (counter.0, is_whole)
}
