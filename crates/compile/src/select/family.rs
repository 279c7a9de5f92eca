//! Choosing a kernel of any family: the first row of the table that holds for a shape and whose candidate takes it.
//!
//! In: rows as read, a shape by its measures. Out: a [`Choice`], or a row with its figures. Whose loops the driver
//! would end gives way to the first of the family's last candidates whose loops it lets end. Never here: a kernel, a
//! measure, a figure.

use super::choice::Choice;
use super::lanes::Lanes;
use super::read::{Figure, Taken};
use pumice_plan::kernel::{KernelDecl, Roles, Setting};
use pumice_types::{Bounds, EncodingClass, Precision, Target};
use smallvec::SmallVec;

/// An extent of a tile.
pub type Extent = fn(&Roles) -> u64;

/// A family: a question about shapes that the rows of a table answer.
#[derive(Clone, Copy, Debug)]
pub struct FamilyDecl {
    /// The name in tables.
    pub name: &'static str,
    /// What rows may bound.
    pub measures: &'static [&'static str],
    /// Kernels of which a row may name a variant.
    pub kernels: &'static [KernelDecl],
    /// Figures of such rows besides those that the kernel takes.
    pub figures: &'static [Figure],
    /// What else a row may say, each with its figures.
    pub rules: &'static [(&'static str, &'static [Figure])],
    /// Candidates for shapes of which no row holds, the last one first among them, and for loops that the driver
    /// would end: as rows name them, with figures in their order. A kernel without a variant is the one that `fits`.
    pub last: &'static [(&'static str, &'static [f64])],
    /// A measure and the extent of a tile along it: a variant fits that holds the shape and has the smallest extent,
    /// or the largest where none holds it.
    pub fits: Option<(&'static str, Extent)>,
    /// Whether a table may lack it.
    pub optional: bool,
}

impl FamilyDecl {
    /// A family without kernels, rules and figures.
    pub const fn new(name: &'static str, measures: &'static [&'static str]) -> FamilyDecl {
        let (kernels, figures, rules, last): (&[KernelDecl], &[Figure], &[_], &[_]) = (&[], &[], &[], &[]);
        FamilyDecl { name, measures, kernels, figures, rules, last, fits: None, optional: false }
    }
}

/// A row: what is taken for a class of shapes.
#[derive(Clone, Debug)]
pub struct Row {
    /// Exact: whatever the factors are rounded to.
    pub(super) precision: Precision,
    pub(super) encodings: Vec<EncodingClass>,
    /// Measures by their number in the family's list.
    pub(super) when: Vec<(usize, Bounds)>,
    pub(super) taken: Taken,
    /// Figures in the order of their declaration, those of the kernel last.
    pub(super) figures: Vec<f64>,
}

impl Row {
    fn holds(&self, shape: &Shape<'_>) -> bool {
        let computed = self.precision.is_exact() || self.precision == shape.precision;
        let encoded = self.encodings.is_empty() || self.encodings.contains(&shape.encoding);
        let within = |at: usize, bounds: &Bounds| shape.measures.get(at).is_some_and(|n| bounds.holds(*n));
        computed && encoded && self.when.iter().all(|(at, bounds)| within(*at, bounds))
    }

    /// Whether it says this rule.
    pub fn says(&self, rule: &str) -> bool {
        self.taken.rule == rule
    }

    /// The first figures, in the order of their declaration.
    pub fn figures<const N: usize>(&self) -> [f64; N] {
        std::array::from_fn(|i| self.figures.get(i).copied().unwrap_or(0.0))
    }

    /// As [`Row::figures`], of figures that are counts.
    pub fn counts<const N: usize>(&self) -> [u64; N] {
        self.figures().map(|figure| figure as u64)
    }
}

/// What is asked about.
#[derive(Clone, Debug)]
pub struct Shape<'a> {
    target: &'a Target,
    measures: SmallVec<[u64; 9]>,
    encoding: EncodingClass,
    precision: Precision,
    loops: SmallVec<[(&'static str, u64); 3]>,
}

impl<'a> Shape<'a> {
    /// On a target, by its measures in the order of the family's list; of words, whatever the loops are.
    pub fn new(target: &'a Target, measures: impl IntoIterator<Item = u64>) -> Shape<'a> {
        let measures = measures.into_iter().collect();
        Shape {
            target,
            measures,
            encoding: EncodingClass::F32,
            precision: Precision::Exact,
            loops: SmallVec::new(),
        }
    }

    /// The same with the operand stored so that the family asks about.
    #[must_use]
    pub fn stored(self, encoding: EncodingClass) -> Shape<'a> {
        Shape { encoding, ..self }
    }

    /// The same with factors that are multiplied so.
    #[must_use]
    pub fn multiplied(self, precision: Precision) -> Shape<'a> {
        Shape { precision, ..self }
    }

    /// The same with the arguments by name on which it depends how often loops iterate.
    #[must_use]
    pub fn looping(self, loops: impl IntoIterator<Item = (&'static str, u64)>) -> Shape<'a> {
        Shape { loops: loops.into_iter().collect(), ..self }
    }
}

/// A family's rows.
#[derive(Clone, Debug)]
pub struct Family {
    pub(super) decl: &'static FamilyDecl,
    pub(super) rows: Vec<Row>,
    pub(super) last: Vec<Row>,
}

impl Family {
    /// Whether the table has no row of it.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a row says this rule.
    pub fn says(&self, rule: &str) -> bool {
        self.rows.iter().any(|row| row.says(rule))
    }

    /// The rows that hold, in order.
    pub fn holding<'r>(&'r self, shape: &'r Shape<'_>) -> impl Iterator<Item = &'r Row> {
        self.rows.iter().filter(|row| row.holds(shape))
    }

    /// Whether a row holds: all that a family of one rule without figures says.
    pub fn holds(&self, shape: &Shape<'_>) -> bool {
        self.holding(shape).next().is_some()
    }

    /// The kernel for a shape; none where no candidate takes it.
    pub fn choose(&self, shape: &Shape<'_>) -> Option<Choice> {
        self.choose_by(shape, |row| self.choice(row, shape))
    }

    /// As [`Family::choose`], where the family says which kernel a row means.
    pub fn choose_by(&self, shape: &Shape<'_>, of: impl Fn(&Row) -> Option<Choice>) -> Option<Choice> {
        let able = |row: &Row| of(row).filter(|choice| self.takes(choice, shape));
        let last = || self.last.iter().filter_map(able);
        let best = self.holding(shape).find_map(able).or_else(|| last().last())?;
        let terminates = |choice: &Choice| choice.terminates(shape.target, &shape.loops);
        if terminates(&best) {
            return Some(best);
        }
        last().find(terminates).or(Some(best))
    }

    /// What a row that names a kernel takes for a shape.
    pub fn choice(&self, row: &Row, shape: &Shape<'_>) -> Option<Choice> {
        let decl = row.taken.kernel?;
        if let Some(variant) = row.taken.variant {
            return Some(self.set(Choice::new(decl, variant), row, shape));
        }
        let (measure, extent) = self.decl.fits?;
        let wanted = self.measure(shape, measure);
        let all = decl.variants.iter().map(|variant| self.set(Choice::new(decl, variant), row, shape));
        let able: Vec<Choice> = all.filter(|choice| self.takes(choice, shape)).collect();
        let extents = || able.iter().map(|choice| extent(&choice.roles));
        let fitting = extents().filter(|extent| wanted <= *extent).min().or(extents().max())?;
        able.into_iter().find(|choice| extent(&choice.roles) == fitting)
    }

    /// The candidate with what the row sets.
    fn set(&self, mut choice: Choice, row: &Row, shape: &Shape<'_>) -> Choice {
        let mut at = self.decl.figures.len();
        let settings = choice.roles.set.clone();
        for setting in settings {
            let figure = |i: usize| row.figures.get(i).map_or(0, |figure| *figure as u64);
            let (number, figures) = match setting {
                Setting::Figure { .. } => (figure(at) as u32, 1),
                Setting::Lanes { least, most, .. } => {
                    let lanes = Lanes::of([at, at + 1, at + 2].map(figure));
                    (lanes.of_elements(self.measure(shape, "n")).clamp(least as u32, most as u32), 3)
                }
            };
            choice = choice.with(setting.sets(), number);
            at += figures;
        }
        choice
    }

    /// Whether the kernel takes such shapes on the target at all.
    pub fn takes(&self, choice: &Choice, shape: &Shape<'_>) -> bool {
        let within = |(measure, bounds): &(&str, Bounds)| bounds.holds(self.measure(shape, measure));
        let blocks = shape.encoding != EncodingClass::Blocks || choice.variant.reads_blocks();
        let reads = blocks && choice.variant.reads_codes() == (shape.encoding == EncodingClass::Codes);
        let computes = choice.roles.precision.is_exact() || choice.roles.precision == shape.precision;
        reads && computes && choice.roles.takes.iter().all(within) && choice.variant.runs_on(shape.target)
    }

    fn measure(&self, shape: &Shape<'_>, name: &str) -> u64 {
        let at = self.decl.measures.iter().position(|m| *m == name);
        at.and_then(|at| shape.measures.get(at)).copied().unwrap_or(u64::MAX)
    }
}
