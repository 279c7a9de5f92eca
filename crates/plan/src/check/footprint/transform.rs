//! Transforms: whole lines, pass by pass, and chirps.

use super::accesses::Accesses;
use super::call::{Call, iteration, law};
use super::{Footprint, Rule, Wrong};
use crate::kernels::transform::{CHIRPS, PRIMES, TILE, holds};

/// The rules of this family.
pub(super) const RULES: &[(&str, Rule)] = &[("fft_pass", pass), ("fft_chirp", chirp)];

/// Values that kernels count roots of: 8m + n of a root e^(2 pi i m/n) has fewer than 31 bits.
const MOST_ROOTS: u64 = 1 << 23;

/// Factors that a pass has butterflies for.
const SMALL: [u64; 9] = [2, 3, 4, 5, 7, 8, 9, 11, 13];

/// What a pass transforms at once, and the largest of its primes, or 0.
fn radix(call: &Call<'_>) -> Result<[u64; 2], Wrong> {
    let [radix, radices, primes] = call.fixed_counts(["radix", "radices", "primes"])?;
    law((1..=TILE).contains(&radix), || format!("a pass of {radix}"))?;
    let mut left = primes;
    let mut factors = Vec::new();
    for factor in (0..7).map(|i| radices >> (4 * i) & 15).take_while(|&factor| factor != 0) {
        factors.push(if factor == 1 { left & 255 } else { factor });
        left >>= if factor == 1 { 8 } else { 0 };
    }
    let known = |factor| SMALL.contains(factor) || PRIMES.contains(factor) && factor % 2 == 1;
    let all = radices >> (4 * factors.len()) == 0 && left == 0 && factors.iter().all(known);
    law(all && factors.iter().product::<u64>() == radix, || {
        format!("{radix} is not the product of {factors:?}")
    })?;
    let largest = factors.into_iter().filter(|factor| PRIMES.contains(factor)).max();
    Ok([radix, largest.unwrap_or(0)])
}

/// Constants repeat arguments: all of them or none, that of `inner` for itself.
fn fixed(call: &Call<'_>) -> Result<(), Wrong> {
    const NAMES: [&str; 8] = ["length", "given", "kept", "done", "radix", "radices", "primes", "at_once"];
    let repeats = |name: &str, any: bool| {
        let [argument] = call.fixed_counts([name])?;
        let constant = call.spec(&format!("fixed_{name}"))?;
        law(constant == if any { argument } else { 0 }, || format!("`{name}` is {argument} and {constant}"))
    };
    let any = call.spec("fixed_radix")? != 0;
    NAMES.iter().try_for_each(|name| repeats(name, any))?;
    repeats("inner", call.spec("fixed_inner")? != 0)
}

/// Lines outside of the axis, extents of the axis in x and y, elements inside of it.
struct Lines {
    outer: u64,
    given: u64,
    kept: u64,
    inner: u64,
    length: u64,
    lines: u64,
}

/// What a pass is over.
fn over(call: &Call<'_>, radix: u64) -> Result<Lines, Wrong> {
    let [lines, length, given, kept] = call.fixed_counts(["lines", "length", "given", "kept"])?;
    let [inner, done] = call.fixed_counts(["inner", "done"])?;
    let whole =
        length <= MOST_ROOTS && done > 0 && length > 0 && length.is_multiple_of(done.saturating_mul(radix));
    law(whole, || format!("{done} times {radix} of {length}"))?;
    let mirrored = call.flag("mirrored")?;
    let most = if mirrored { length / 2 + 1 } else { length };
    let pairs = call.flag("complex")? || !mirrored;
    law(given <= most && kept <= length && pairs, || format!("{given} to {kept} of {length}"))?;
    let of_line = iteration(&[length / radix, inner])?;
    // Inside of the axis there may be nothing in some runs: then there is no line.
    let whole = if of_line == 0 { lines == 0 } else { lines.is_multiple_of(of_line) };
    law(whole, || format!("{lines} lines, {of_line} of each"))?;
    let outer = lines.checked_div(of_line).unwrap_or(0);
    iteration(&[outer, length, inner, 2])?;
    Ok(Lines { outer, given, kept, inner, length, lines })
}

/// `fft_pass`.
fn pass<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [radix, prime] = radix(call)?;
    fixed(call)?;
    let Lines { outer, given, kept, inner, length, lines } = over(call, radix)?;
    let [parts, made] = [1 + u64::from(call.flag("complex")?), 1 + u64::from(call.flag("pairs")?)];
    call.flag("inverse")?;
    let beside = call.flag("across")? | call.flag("back")?;
    let weighted = call.flag("weighted")?;
    call.own_or_again(weighted, 1, 0)?;
    let [at_once] = call.fixed_counts(["at_once"])?;
    law(at_once > 0 && holds(radix, at_once, beside, prime), || {
        format!("{at_once} lines of {radix} at once")
    })?;
    let axis = [outer, given, inner * parts];
    let footprint = Footprint::new(lines.div_ceil(at_once), at_once).along(axis);
    let x = Accesses::dense(4, iteration(&[outer, given, inner, parts])?);
    let y = Accesses::dense(4, iteration(&[outer, kept, inner, made])?);
    let footprint = footprint.operand(0, x).operand(2, y);
    let by = if call.flag("mirrored")? { length } else { given };
    Ok(if weighted { footprint.operand(1, Accesses::dense(4, 2 * by)) } else { footprint })
}

/// `fft_chirp`.
fn chirp<'i>(call: &Call<'i>) -> Result<Footprint<'i>, Wrong> {
    let [n, period] = call.fixed_counts(["n", "period"])?;
    for flag in ["inverse", "wrapped"] {
        call.flag(flag)?;
    }
    law((1..=MOST_ROOTS / 2).contains(&period), || format!("a chirp of {period}"))?;
    Ok(Footprint::new(n.div_ceil(CHIRPS), CHIRPS).operand(0, Accesses::dense(4, iteration(&[n, 2])?)))
}
