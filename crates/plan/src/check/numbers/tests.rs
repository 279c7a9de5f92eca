//! What is believed of intervals is so of every value in them.

use super::*;
use pumice_types::{ScalarId, Symbol};

type Law = Box<dyn Fn(&[Number<'_>]) -> bool>;

fn symbols(max: &[u64]) -> SymbolTable {
    let mut table = SymbolTable::default();
    for (i, &max) in max.iter().enumerate() {
        table.push(Symbol { name: format!("s{i}"), min: 0, max, multiple_of: 1, found: true });
    }
    table
}

fn s(i: u32) -> DimExpr {
    DimExpr::symbol(SymbolId(i))
}

fn n(value: i64) -> DimExpr {
    DimExpr::constant(value)
}

/// Asks a law of numbers as the search does: whether it holds everywhere, and how often it was asked.
fn search(max: &[u64], of: &[DimExpr], law: &Law) -> (bool, u64) {
    let mut intervals = Intervals::new(&symbols(max));
    let all: Vec<_> = (0u32..).zip(max).map(|(i, &max)| (SymbolId(i), 0, max)).collect();
    let (mut parts, mut asked) = (vec![all], 0);
    while let Some(part) = parts.pop() {
        asked += 1;
        let mut bindings = Bindings::new();
        part.iter().for_each(|&(id, low, _)| bindings.bind(id, low));
        intervals.begin(&part);
        let numbers: Result<Vec<_>, _> = of.iter().map(|e| intervals.number(e, &bindings)).collect();
        let Ok(numbers) = numbers else { return (false, asked) };
        if !law(&numbers) {
            return (false, asked);
        }
        let (id, mut cuts) = match intervals.open() {
            None => continue,
            Some(Cut::After(id, last)) => (id, vec![last]),
            Some(Cut::Each(id)) => (id, (0..max[id.0 as usize]).collect()),
        };
        let at = id.0 as usize;
        cuts.retain(|last| (part[at].1..part[at].2).contains(last));
        let (mut low, high) = (part[at].1, part[at].2);
        for last in cuts.into_iter().chain([high]) {
            let mut cut = part.clone();
            (cut[at].1, cut[at].2) = (low, last);
            parts.push(cut);
            low = last + 1;
        }
    }
    (true, asked)
}

/// Whether it holds of each value alone.
fn holds(max: &[u64], of: &[DimExpr], law: &Law) -> bool {
    let mut values = vec![0; max.len()];
    loop {
        let mut bindings = Bindings::new();
        (0u32..).zip(&values).for_each(|(i, value)| bindings.bind(SymbolId(i), *value));
        let numbers: Result<Vec<Number<'_>>, _> =
            of.iter().map(|e| e.eval(&bindings).map(Number::from)).collect();
        if !numbers.is_ok_and(|numbers| law(&numbers)) {
            return false;
        }
        let Some(at) = values.iter().zip(max).position(|(value, max)| value < max) else { return true };
        values[at] += 1;
        values[..at].fill(0);
    }
}

fn only_at(e: &DimExpr, at: i64) -> DimExpr {
    (n(1) - (e * e - e * &n(2 * at) + n(at * at))).max_with(&n(0))
}

fn expressions() -> Vec<DimExpr> {
    let (a, b) = (s(0), s(1));
    vec![
        a.clone(),
        b.clone(),
        &a * &n(4) + &b,
        &a * &b,
        &a - &b,
        a.ceil_div(&n(4)),
        (&a + &b).floor_div(&n(3)),
        (&a + &n(3)).floor_div(&n(4)),
        a.min_with(&n(7)),
        a.min_with(&b) + n(1),
        a.max_with(&b) * &b,
        &a + only_at(&a, 5) * n(3),
        &a + only_at(&b, 7),
        n(1).floor_div(&(&n(20) - &a)),
        n(3).ceil_div(&(n(1) - only_at(&a, 6))),
        n(6),
        &a * &n(1 << 40) * &b * &n(1 << 40),
        &b * &b - &b,
    ]
}

fn laws() -> Vec<Law> {
    vec![
        Box::new(|x| x[0] == x[1]),
        Box::new(|x| x[0] <= x[1] + 3),
        Box::new(|x| x[0] * 2 >= x[1]),
        Box::new(|x| x[0] < 20),
        Box::new(|x| x[0] == 0 || x[1] != 3),
        Box::new(|x| x[0].is_multiple_of(2) || x[1] % 4 != 1),
        Box::new(|x| x[0].div_ceil(4) >= x[1] / 4u64),
        Box::new(|x| x[0].unsigned_abs() + x[1] >= x[0]),
        Box::new(|x| x[0].min(x[1]) <= 9 && x[0].max(x[1]) >= x[0]),
        Box::new(|x| x[0].as_word(0) == x[0]),
        Box::new(|x| x[0].as_word(i32::MIN.into()) == x[0]),
        Box::new(|x| x[0].fixed() != 5 || x[1] < 5),
        Box::new(|x| x[0].checked_div(x[1]).is_none_or(|q| q * x[1] <= x[0] || x[0] < 0)),
        Box::new(|x| {
            let mut sorted = [x[0], x[1], 4.into()];
            sorted.sort_unstable();
            sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[1] < 17
        }),
    ]
}

#[test]
fn what_is_shown_of_intervals_holds_at_every_value() {
    let (max, expressions) = ([12, 9], expressions());
    let (mut true_ones, mut false_ones) = (0, 0);
    for (k, law) in laws().iter().enumerate() {
        for a in &expressions {
            for b in &expressions {
                let of = [a.clone(), b.clone()];
                let wanted = holds(&max, &of, law);
                assert_eq!(search(&max, &of, law).0, wanted, "law {k} of {a} and {b}");
                *(if wanted { &mut true_ones } else { &mut false_ones }) += 1;
            }
        }
    }
    assert!(true_ones > 500 && false_ones > 500, "{true_ones} {false_ones}");
}

/// Of a million values, and of four symbols of a thousand each, few are asked alone.
#[test]
fn wide_intervals_take_few_questions() {
    let n_words = |e: &DimExpr| [e.clone(), (e * &n(64)).ceil_div(&n(256)), e * &n(64)];
    let dense = |x: &[Number<'_>]| {
        let (rows, groups, all) = (x[0], x[1], x[2]);
        (rows == 1 || rows * 64 == all) && all <= 1 << 30 && groups == all.div_ceil(256)
    };
    let law: Law = Box::new(move |x| dense(x) && (x[0] > 70 || x[1] <= 18));
    let (holds, asked) = search(&[1_000_000], &n_words(&s(0)), &law);
    assert!(holds && asked < 20, "{asked}");
    let sum = (1..4).fold(s(0), |sum, i| sum + s(i));
    let (holds, asked) = search(&[1000; 4], &n_words(&sum), &(Box::new(dense) as Law));
    assert!(holds && asked < 200, "{asked}");
    // One value in a million, and the last one.
    for at in [1, 654_321, 1_000_000] {
        let wrong = [s(0) + only_at(&s(0), at), (s(0) * n(64)).ceil_div(&n(256)), s(0) * n(64)];
        let (holds, asked) = search(&[1_000_000], &wrong, &law);
        assert!(!holds && asked < 20_000, "{at}: {asked}");
    }
    let cut = [s(0), (s(0) * n(64)).ceil_div(&n(256)), s(0).min_with(&n(999_999)) * n(64)];
    assert!(!search(&[1_000_000], &cut, &law).0);
}

#[test]
fn what_has_no_value_somewhere_is_not_known() {
    let mut intervals = Intervals::new(&symbols(&[9]));
    intervals.begin(&[(SymbolId(0), 0, 9)]);
    let mut bindings = Bindings::new();
    bindings.bind(SymbolId(0), 0);
    let e = n(4).floor_div(&(n(5) - s(0)));
    assert!(intervals.number(&e, &bindings).is_ok_and(|n| n == 0));
    assert_eq!(intervals.open(), Some(Cut::After(SymbolId(0), 0)));
    let unbound = DimExpr::scalar(ScalarId(3)) + s(0);
    assert!(intervals.number(&unbound, &bindings).is_err());
}
