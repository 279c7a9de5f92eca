//! Softmax along rows: the variant and the threads of a row.
//!
//! A row of the table names a variant of `softmax_rows`, of which a whole group takes each row, or says `row`: the
//! threads and the variant are those of norms (`lanes`); or it says `reductions`: few rows are so long that reductions
//! of their parts are faster, of which the passes make them; what they leave (none is cut where the rounding of parts
//! would show) takes the next row of the table that holds.

use super::choice::Choice;
use super::family::{Family, FamilyDecl, Shape};
use super::lanes::RowRules;
use pumice_plan::kernel::KernelDecl;
use pumice_plan::kernels::softmax::SoftmaxRows;
use pumice_types::Target;

const KERNELS: &[KernelDecl] = &[SoftmaxRows::DECL];
/// As norms.
const ROW: &str = "row";
/// Not in one step.
const REDUCTIONS: &str = "reductions";
/// Elements of a row; rows; how often a group for each row fills all compute units, rounded up; how many compute units
/// there are for each row, rounded down.
pub const ROWS: &FamilyDecl = &FamilyDecl {
    kernels: KERNELS,
    rules: &[(ROW, &[]), (REDUCTIONS, &[])],
    last: &[(ROW, &[])],
    ..FamilyDecl::new("softmax.rows", &["n", "rows", "waves", "units_per_row"])
};

/// Rules of softmax along rows.
#[derive(Clone, Debug)]
pub struct Rules(pub(super) Family);

impl Rules {
    /// Whether reductions and elementwise steps are faster for at most `rows` rows of at most `n` elements.
    pub fn is_faster_apart(&self, rows: u64, n: u64, target: &Target) -> bool {
        let measures = measures(rows, n, target);
        self.0.holding(&Shape::new(target, measures)).next().is_some_and(|row| row.says(REDUCTIONS))
    }

    /// The kernel for at most `rows` rows of at most `n` elements; `norms` are the rules of the row kernels.
    pub fn choose(&self, rows: u64, n: u64, norms: &RowRules, target: &Target) -> Option<Choice> {
        let measures = measures(rows, n, target);
        let (shape, loops) = (Shape::new(target, measures), [("n", n)]);
        let shape = shape.looping(loops);
        self.0.choose_by(&shape, |row| {
            if row.says(ROW) {
                return norms.choose(&KERNELS[0], n, target);
            }
            // A group takes each row.
            self.0.choice(row, &shape).map(|group| {
                let threads = group.roles.threads as u32;
                group.with("lanes", threads)
            })
        })
    }
}

fn measures(rows: u64, n: u64, target: &Target) -> [u64; 4] {
    let units = u64::from(target.tuning.compute_units.max(1));
    [n, rows, rows.div_ceil(units), units / rows.max(1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selection;
    use pumice_types::Table;
    use std::sync::Arc;

    fn form(target: &Target, rows: u64, n: u64) -> (&'static str, u32, u32) {
        let read = Selection::exact(target);
        let form = read.softmax_rows.choose(rows, n, &read.rows, target).expect("a kernel");
        (form.variant.name, form.number("lanes"), form.roles.threads as u32)
    }

    #[test]
    fn few_or_long_rows_of_a_gpu_get_large_groups() {
        let gpu = Target::h200();
        assert_eq!(form(&gpu, 132, 4096), (SoftmaxRows::fast4, 256, 256), "short");
        assert_eq!(form(&gpu, 132, 4097), (SoftmaxRows::wide4, 1024, 1024));
        assert_eq!(form(&gpu, 133, 4097), (SoftmaxRows::fast8, 256, 256), "every compute unit has a row");
        assert_eq!(form(&gpu, 133, 16_384), (SoftmaxRows::fast16, 256, 256));
        assert_eq!(form(&gpu, 133, 16_385), (SoftmaxRows::wide8, 1024, 1024));
        assert_eq!(form(&gpu, 1, 32_768), (SoftmaxRows::wide8, 1024, 1024));
        assert_eq!(form(&gpu, 1, 32_769), (SoftmaxRows::wide, 1024, 1024));
        assert_eq!(form(&Target::lavapipe(), 1, 131_072), (SoftmaxRows::plain, 256, 256));
        let mut small = gpu;
        small.limits.max_workgroup_invocations = 512;
        assert_eq!(form(&small, 1, 32_769), (SoftmaxRows::plain, 256, 256));
    }

    /// A row that a variant cannot hold in registers is not given to it, whatever the table says.
    #[test]
    fn a_table_cannot_give_a_variant_rows_that_it_cannot_keep() {
        let mut table = Table::clone(&Target::h200().table);
        let row = table.rows.iter_mut().find(|r| r.take == "softmax_rows.wide4").expect("a row");
        row.when.clear();
        let target = Target::h200().with_table(Arc::new(table));
        assert_eq!(form(&target, 1, 16_384).0, SoftmaxRows::wide4);
        assert_eq!(form(&target, 1, 16_385).0, SoftmaxRows::wide8);
    }
}
