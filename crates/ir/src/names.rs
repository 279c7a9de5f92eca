//! Names of values: unique in a graph, made so by a number at the end.

use indexmap::{IndexMap, IndexSet};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Names that are taken. They are hashed: a tree compares each that comes with many, which lie all over memory.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: IndexSet<Arc<str>>,
    /// For each name that was wanted again: the first number that was not tried. Names are never given back, so those
    /// below stay taken.
    next: IndexMap<Arc<str>, u64>,
}

impl Names {
    /// Whether a name is taken.
    pub(crate) fn contain(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// `wanted`, or the first of `wanted_2`, `wanted_3`, … that is free; taken from now on.
    pub(crate) fn unique(&mut self, wanted: Arc<str>) -> Arc<str> {
        if self.taken.insert(Arc::clone(&wanted)) {
            return wanted;
        }
        let next = self.next.entry(Arc::clone(&wanted)).or_insert(2);
        loop {
            let name: Arc<str> = format!("{wanted}_{next}").into();
            *next += 1;
            if self.taken.insert(Arc::clone(&name)) {
                return name;
            }
        }
    }

    /// Names of the results of one node, whose own name, from [`Names::unique`], is that of the first: `node`,
    /// `node.1`, `node.2`, …, each unique.
    pub(crate) fn of_results(&mut self, node: Arc<str>, results: usize) -> SmallVec<[Arc<str>; 2]> {
        let mut names: SmallVec<[Arc<str>; 2]> = smallvec![node];
        for i in 1..results {
            let name = format!("{}.{i}", names[0]);
            names.push(self.unique(name.into()));
        }
        names
    }
}

impl FromIterator<Arc<str>> for Names {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(names: I) -> Names {
        Names { taken: names.into_iter().collect(), next: IndexMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_number_is_taken() {
        let mut names = Names::from_iter(["add_3".into()]);
        let made = ["add", "add", "add", "add_2", "mul"].map(|name| names.unique(name.into()));
        assert_eq!(made.each_ref().map(|name| &**name), ["add", "add_2", "add_4", "add_2_2", "mul"]);
    }

    #[test]
    fn results_are_numbered() {
        let mut names = Names::from_iter(["split.1".into()]);
        let made = names.unique("split".into());
        let made = names.of_results(made, 3);
        assert_eq!(made.iter().map(|name| &**name).collect::<Vec<_>>(), ["split", "split.1_2", "split.2"]);
    }
}
