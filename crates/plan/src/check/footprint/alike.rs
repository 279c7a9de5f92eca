//! Dispatches that keep or break the laws together: the same call of another layer.
//!
//! In: the dispatches of one program, in their order. A law depends on the numbers of a call, on its views, and on
//! which of its spans are the same; not on where those spans lie. So of dispatches that differ in that alone one is
//! evaluated.

use super::Subject;
use crate::step::Use;
use std::collections::VecDeque;
use std::sync::Arc;

/// Dispatches that a dispatch is compared with: those of one layer stand close to those of the next.
const NEIGHBOURS: usize = 64;

/// The last dispatches of one program that differ from each other.
#[derive(Default)]
pub(in crate::check) struct Alike<'p> {
    last: VecDeque<Subject<'p>>,
}

impl<'p> Alike<'p> {
    /// Whether one of the last that were added is like this one.
    pub fn knows(&self, subject: &Subject<'p>) -> bool {
        self.last.iter().rev().any(|other| other.is_like(subject))
    }

    /// Adds a dispatch that is not known.
    pub fn add(&mut self, subject: Subject<'p>) {
        if self.last.len() == NEIGHBOURS {
            self.last.pop_front();
        }
        self.last.push_back(subject);
    }
}

impl Subject<'_> {
    /// Whether another dispatch keeps or breaks the laws wherever this one does.
    fn is_like(&self, other: &Subject<'_>) -> bool {
        let same_uses = || {
            let (a, b) = (&self.step.uses, &other.step.uses);
            let alike = |(a, b): (&Use, &Use)| {
                let same_view = Arc::ptr_eq(&a.view, &b.view) || a.view == b.view;
                same_view
                    && a.access == b.access
                    && (a.span.region, a.span.len) == (b.span.region, b.span.len)
            };
            // Which of them lie in the same bytes is asked as well.
            let first = |all: &[Use], u: &Use| all.iter().position(|o| o.span == u.span);
            a.len() == b.len()
                && a.iter().zip(b).all(alike)
                && a.iter().zip(b).all(|(x, y)| first(a, x) == first(b, y))
        };
        let (a, b) = (&self.step.meaning, &other.step.meaning);
        let same_meaning = || a.uses().eq(b.uses());
        let same_call = || self.grid == other.grid && self.call == other.call;
        same_call() && self.step.when == other.step.when && same_meaning() && same_uses()
    }
}
