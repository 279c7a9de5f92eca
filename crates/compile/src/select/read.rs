//! Rows of a table, read as a family understands them: measures by number, candidates as declarations, figures as
//! numbers.
//!
//! In: a table, a family. Out: its rows in the table's order. Every name that the family does not know is an error,
//! so that no row of a table is read and then ignored.

use super::family::{Family, FamilyDecl, Row};
use super::lanes;
use pumice_plan::kernel::{KernelDecl, Roles, Setting, VariantDecl};
use pumice_types::{Precision, Table, TableRow};

/// A figure of a row.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Number,
    AboveZero,
    Count,
    /// At least 1, at most so many.
    Upto(u64),
    /// A power of two, at most so many.
    Power(u64),
}

/// A number, 0 or more.
pub const fn number(name: &'static str) -> Figure {
    Figure { name, kind: Kind::Number }
}

/// A number above 0.
pub const fn above_zero(name: &'static str) -> Figure {
    Figure { name, kind: Kind::AboveZero }
}

/// A whole number below 2^32.
pub const fn count(name: &'static str) -> Figure {
    Figure { name, kind: Kind::Count }
}

/// A whole number from 1 to so many.
pub const fn upto(name: &'static str, most: u64) -> Figure {
    Figure { name, kind: Kind::Upto(most) }
}

/// A power of two up to so many.
pub const fn power(name: &'static str, most: u64) -> Figure {
    Figure { name, kind: Kind::Power(most) }
}

impl Figure {
    /// What is wrong with a value; none where nothing is.
    fn mistake(&self, value: f64) -> Option<String> {
        let whole = value.fract() == 0.0 && value <= f64::from(u32::MAX);
        let (right, wanted) = match self.kind {
            Kind::Number => (true, String::from("no number of 0 or more")),
            Kind::AboveZero => (value > 0.0, "not above 0".into()),
            Kind::Count => (whole, "no count".into()),
            Kind::Upto(most) => {
                (whole && (1..=most).contains(&(value as u64)), format!("none of 1 to {most}"))
            }
            Kind::Power(most) => {
                let power = whole && (value as u64).is_power_of_two() && value as u64 <= most;
                (power, format!("none of the powers of two up to {most}"))
            }
        };
        let right = right && value.is_finite() && value >= 0.0;
        (!right).then(|| format!("figure `{}` is {value}, {wanted}", self.name))
    }
}

/// What a row takes: a kernel, of a variant or of the one that fits; or a rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    pub(super) kernel: Option<&'static KernelDecl>,
    pub(super) variant: Option<&'static VariantDecl>,
    pub(super) rule: &'static str,
}

/// A table that is read.
pub struct Reader<'a> {
    /// The table.
    pub table: &'a Table,
}

impl Reader<'_> {
    /// Refuses a table with rows of families that are not these, or without any rows.
    pub fn knows(&self, families: &[&FamilyDecl]) -> Result<(), String> {
        if self.table.rows.is_empty() {
            return Err("it has no rows: take the table of a profile, or one that `pumice tune` wrote".into());
        }
        let known = |row: &&TableRow| families.iter().any(|family| family.name == row.family);
        match self.table.rows.iter().find(|row| !known(row)) {
            Some(row) => Err(format!("`{}` is no family of kernels", row.family)),
            None => Ok(()),
        }
    }

    /// A family's rows, in order, and its last candidates.
    pub fn family(&self, decl: &'static FamilyDecl) -> Result<Family, String> {
        let rows = self.table.family(decl.name).map(|row| decl.read(row)).collect::<Result<Vec<_>, _>>()?;
        // Rows of every arithmetic are the fallback of each.
        if !rows.iter().any(|row| row.precision.is_exact()) && !decl.optional {
            return Err(format!("it has no row of {}", decl.name));
        }
        let last = decl.last.iter().map(|&(take, figures)| {
            let (taken, figures) = (decl.taken(take)?, figures.to_vec());
            Ok(Row { precision: Precision::Exact, encodings: Vec::new(), when: Vec::new(), taken, figures })
        });
        Ok(Family { decl, rows, last: last.collect::<Result<_, String>>()? })
    }
}

impl FamilyDecl {
    fn read(&self, row: &TableRow) -> Result<Row, String> {
        let mistake = |what: String| format!("{}, {}: {what}", self.name, row.take);
        let place = |name: &str| {
            let at = self.measures.iter().position(|m| *m == name);
            at.ok_or_else(|| format!("{}: `{name}` is no measure: {}", self.name, self.measures.join(", ")))
        };
        let when = row.when.iter().map(|(name, bounds)| Ok((place(name)?, *bounds)));
        let when = when.collect::<Result<Vec<_>, String>>()?;
        let taken = self.taken(&row.take).map_err(mistake)?;
        let declared = self.figures_of(&taken);
        let figures = figures(row, &declared).map_err(mistake)?;
        Ok(Row { precision: row.precision, encodings: row.encodings.clone(), when, taken, figures })
    }

    /// The candidate of that name.
    fn taken(&self, take: &str) -> Result<Taken, String> {
        if let Some(&(rule, _)) = self.rules.iter().find(|rule| rule.0 == take) {
            return Ok(Taken { rule, ..Taken::default() });
        }
        let (name, variant) = take.split_once('.').map_or((take, None), |(name, v)| (name, Some(v)));
        let kernel = self.kernels.iter().find(|d| d.name == name);
        let found = variant.and_then(|variant| kernel?.variant(variant));
        let known = |measure: &str| self.measures.contains(&measure);
        match kernel {
            Some(kernel) if found.is_some() || (variant.is_none() && self.fits.is_some()) => {
                let roles = roles(kernel, found);
                match roles.takes.iter().find(|takes| !known(takes.0)) {
                    Some(takes) => Err(format!("it asks for `{}`, which is no measure", takes.0)),
                    None => Ok(Taken { kernel: Some(kernel), variant: found, rule: "" }),
                }
            }
            _ => Err(format!("there is no such candidate; {}", self.candidates())),
        }
    }

    /// What rows may name.
    fn candidates(&self) -> String {
        let kernels = self.kernels.iter().map(|d| format!("a variant of `{0}` as `{0}.variant`", d.name));
        let rules = self.rules.iter().map(|(rule, _)| format!("`{rule}`"));
        format!("name one of: {}", kernels.chain(rules).collect::<Vec<_>>().join(", "))
    }

    /// The figures that a row has that takes this.
    fn figures_of(&self, taken: &Taken) -> Vec<Figure> {
        let Some(kernel) = taken.kernel else {
            let rule = self.rules.iter().find(|(rule, _)| *rule == taken.rule);
            return rule.map_or_else(Vec::new, |(_, figures)| figures.to_vec());
        };
        let mut all = self.figures.to_vec();
        for setting in roles(kernel, taken.variant).set {
            match setting {
                Setting::Figure { figure, most, power: true, .. } => all.push(power(figure, most)),
                Setting::Figure { figure, most, .. } => all.push(upto(figure, most)),
                Setting::Lanes { most, .. } => all.extend(lanes::figures(most)),
            }
        }
        all
    }
}

fn roles(kernel: &KernelDecl, variant: Option<&'static VariantDecl>) -> Roles {
    variant.or(kernel.variants.first()).map_or_else(Roles::default, |v| kernel.roles_of(v, &[]))
}

/// The row's figures, which must be these, in their order.
fn figures(row: &TableRow, declared: &[Figure]) -> Result<Vec<f64>, String> {
    if let Some(unknown) = row.figures.keys().find(|name| declared.iter().all(|f| f.name != name.as_str())) {
        let names: Vec<&str> = declared.iter().map(|f| f.name).collect();
        return Err(format!("it has no figure `{unknown}`: {}", names.join(", ")));
    }
    let value = |figure: &Figure| {
        let found = row.figures.get(figure.name).copied();
        let value = found.ok_or_else(|| format!("figure `{}` is missing", figure.name))?;
        figure.mistake(value).map_or(Ok(value), Err)
    };
    declared.iter().map(value).collect()
}
