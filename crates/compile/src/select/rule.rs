//! Rows of a table as rules: measures by number, candidates as declarations, figures as numbers.
//!
//! In: a table, the names that a family knows. Out: rules in the table's order. Every name that the family does not know
//! is an error, so that no row of a table is read and then ignored.

use pumice_plan::kernel::{KernelDecl, VariantDecl};
use pumice_types::{Bounds, EncodingClass, Precision, Table, TableRow, Target};

/// A kernel with one of its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The kernel.
    pub decl: &'static KernelDecl,
    /// The variant.
    pub variant: &'static VariantDecl,
}

impl Candidate {
    /// Whether a device has what the variant needs.
    pub fn runs_on(&self, target: &Target) -> bool {
        self.variant.runs_on(target)
    }

    /// A macro of the variant as a number; none where it is not defined.
    pub fn define(&self, name: &str) -> Option<u64> {
        self.variant.defines.iter().find(|d| d.0 == name).and_then(|d| d.1.parse().ok())
    }

    /// Whether its loops end by themselves on the target, for arguments and constants by name.
    pub fn ends(&self, target: &Target, numbers: &[(&str, u64)]) -> bool {
        target.limits.lets_turn(self.decl.turns_of(self.variant.name, numbers))
    }
}

/// What is taken for a class of shapes.
#[derive(Clone, Debug)]
pub struct Rule<T> {
    encodings: Vec<EncodingClass>,
    /// Measures by their number in the family's list.
    when: Vec<(usize, Bounds)>,
    /// What is taken.
    pub take: T,
}

impl<T> Rule<T> {
    /// Whether the rule is for a shape: its measures, in the order of the family's list, and the encoding that it is asked
    /// about.
    pub fn holds(&self, measures: &[u64], encoding: EncodingClass) -> bool {
        let encoded = self.encodings.is_empty() || self.encodings.contains(&encoding);
        encoded && self.when.iter().all(|(at, bounds)| measures.get(*at).is_some_and(|n| bounds.holds(*n)))
    }
}

/// A table that is read for an arithmetic.
pub struct Reader<'a> {
    pub table: &'a Table,
    pub precision: Precision,
}

impl Reader<'_> {
    /// Refuses a table with rows of families that none of these lists names, or without any rows.
    pub fn knows(&self, families: &[&[&str]]) -> Result<(), String> {
        if self.table.rows.is_empty() {
            return Err(
                "it has no rows: take the table of a profile, or one that `cargo xtask tune` wrote".into()
            );
        }
        let known = |row: &&TableRow| families.iter().any(|list| list.contains(&row.family.as_str()));
        match self.table.rows.iter().find(|row| !known(row)) {
            Some(row) => Err(format!("`{}` is no family of kernels", row.family)),
            None => Ok(()),
        }
    }

    /// The rules of a family, in order.
    pub fn rules<T>(
        &self,
        family: &str,
        measures: &[&str],
        take: impl Fn(&RowReader<'_>) -> Result<T, String>,
    ) -> Result<Vec<Rule<T>>, String> {
        let rows = self.table.family(family).filter(|row| row.precision == self.precision);
        rows.map(|row| {
            let place = |name: &str| {
                let at = measures.iter().position(|m| *m == name);
                at.ok_or_else(|| format!("{family}: `{name}` is no measure: {}", measures.join(", ")))
            };
            let when = row.when.iter().map(|(name, bounds)| Ok((place(name)?, *bounds)));
            let when = when.collect::<Result<Vec<_>, String>>()?;
            Ok(Rule { encodings: row.encodings.clone(), when, take: take(&RowReader { row })? })
        })
        .collect()
    }

    /// As [`Reader::rules`]; at least one.
    pub fn some_rules<T>(
        &self,
        family: &str,
        measures: &[&str],
        take: impl Fn(&RowReader<'_>) -> Result<T, String>,
    ) -> Result<Vec<Rule<T>>, String> {
        let rules = self.rules(family, measures, take)?;
        if rules.is_empty() { Err(format!("it has no row of {family}")) } else { Ok(rules) }
    }
}

/// One row.
pub struct RowReader<'a> {
    row: &'a TableRow,
}

impl RowReader<'_> {
    /// What is taken, by name.
    pub fn take(&self) -> &str {
        &self.row.take
    }

    /// A mistake of this row.
    pub fn mistake(&self, what: impl std::fmt::Display) -> String {
        format!("{}, {}: {what}", self.row.family, self.row.take)
    }

    /// The variant that is taken, of one of these kernels.
    pub fn candidate(&self, decls: &'static [KernelDecl]) -> Result<Candidate, String> {
        let (kernel, variant) = self.row.take.split_once('.').unwrap_or((&self.row.take, ""));
        let decl = decls.iter().find(|d| d.name == kernel);
        let found = decl.and_then(|decl| Some(Candidate { decl, variant: decl.variant(variant)? }));
        found.ok_or_else(|| self.mistake("there is no such candidate; name one as `kernel.variant`"))
    }

    /// The row's figures, which must be these.
    pub fn figures<const N: usize>(&self, names: [&str; N]) -> Result<[f64; N], String> {
        if let Some(unknown) = self.row.figures.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(self.mistake(format!("it has no figure `{unknown}`: {}", names.join(", "))));
        }
        let mut values = [0.0; N];
        for (value, name) in values.iter_mut().zip(names) {
            let found = self.row.figures.get(name).copied();
            *value = found.ok_or_else(|| self.mistake(format!("figure `{name}` is missing")))?;
            if !value.is_finite() || *value < 0.0 {
                return Err(self.mistake(format!("figure `{name}` is {value}")));
            }
        }
        Ok(values)
    }

    /// As [`RowReader::figures`], whole numbers below 2^32.
    pub fn counts<const N: usize>(&self, names: [&str; N]) -> Result<[u64; N], String> {
        let values = self.figures(names)?;
        let mut counts = [0; N];
        for ((count, value), name) in counts.iter_mut().zip(values).zip(names) {
            *count = self.count(name, value)?;
        }
        Ok(counts)
    }

    /// A figure that must be a whole number below 2^32.
    pub fn count(&self, name: &str, value: f64) -> Result<u64, String> {
        match value.fract() != 0.0 || value > f64::from(u32::MAX) {
            true => Err(self.mistake(format!("figure `{name}` is {value}, no count"))),
            false => Ok(value as u64),
        }
    }
}
