//! Names of values: unique in a graph, made so by a number at the end.

use indexmap::{IndexMap, IndexSet};

/// Names that are taken. They are hashed: a tree compares each that comes with many, which lie all over memory.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: IndexSet<String>,
    /// For each name that was wanted again: the first number that was not tried. Names are never given back, so those
    /// below stay taken.
    next: IndexMap<String, u64>,
}

impl Names {
    /// Whether a name is taken.
    pub(crate) fn contain(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// `wanted`, or the first of `wanted_2`, `wanted_3`, … that is free; taken from now on.
    pub(crate) fn unique(&mut self, wanted: String) -> String {
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        let next = self.next.entry(wanted.clone()).or_insert(2);
        loop {
            let name = format!("{wanted}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Names of the results of one node: `base`, `base.1`, `base.2`, …, each unique.
    pub(crate) fn of_results(&mut self, base: String, results: usize) -> Vec<String> {
        let first = self.unique(base);
        let others = (1..results).map(|i| format!("{first}.{i}")).collect::<Vec<_>>();
        std::iter::once(first).chain(others.into_iter().map(|name| self.unique(name))).collect()
    }
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Names {
        Names { taken: names.into_iter().collect(), next: IndexMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_number_is_taken() {
        let mut names = Names::from_iter(["add_3".to_owned()]);
        let mut next = |name: &str| names.unique(name.to_owned());
        assert_eq!(
            ["add", "add", "add", "add_2", "mul"].map(&mut next),
            ["add", "add_2", "add_4", "add_2_2", "mul"]
        );
    }

    #[test]
    fn results_are_numbered() {
        let mut names = Names::from_iter(["split.1".to_owned()]);
        assert_eq!(names.of_results("split".to_owned(), 3), ["split", "split.1_2", "split.2"]);
    }
}
