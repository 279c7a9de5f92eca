//! The body of a plan file back to a plan. The bytes are anybody's: every number is looked up with its bounds, and what
//! is built takes no more memory than the file's length allows. Whether the plan is right is the checker's to say.
//!
//! Here the tables, `plan` what names their rows.

mod plan;

pub use plan::plan;

use super::error::PlanFileError;
use super::wire::*;
use crate::kernel::{HoleFill, KernelCall, KernelName, Kernels};
use crate::region::Span;
use crate::step::{InputUse, MeaningGraph};
use crate::view::View;
use pumice_types::dim::Atom;
use pumice_types::scalar::{Inst, RegId, ScalarExpr};
use pumice_types::{DimExpr, ScalarId, SymbolId, Var};
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes in memory that a byte of the file may become: a use is five bytes of the file, and with its view some hundred
/// in memory.
const GROWTH: usize = 512;
/// Bytes in memory that any file may become.
const FREE: usize = 1 << 20;
/// Atoms inside atoms: far more than extents of real programs have.
const DEPTH: u32 = 32;

/// Memory that is left for what the file describes.
struct Budget {
    bytes: usize,
    most: usize,
    left: usize,
}

impl Budget {
    fn of(file: usize) -> Budget {
        let most = file.saturating_mul(GROWTH).saturating_add(FREE);
        Budget { bytes: file, most, left: most }
    }

    fn take(&mut self, bytes: usize) -> Result<(), PlanFileError> {
        let size = || PlanFileError::Size { bytes: self.bytes, most: self.most };
        self.left = self.left.checked_sub(bytes).ok_or_else(size)?;
        Ok(())
    }
}

/// A table whose rows are built, each with the memory that a copy of it takes.
struct Table<T> {
    name: &'static str,
    rows: Vec<(T, usize)>,
}

impl<T> Table<T> {
    fn new(name: &'static str) -> Table<T> {
        Table { name, rows: Vec::new() }
    }

    fn row(&self, id: Id) -> Result<&(T, usize), PlanFileError> {
        let wrong = || PlanFileError::Row { table: self.name, row: id, rows: self.rows.len() };
        self.rows.get(id as usize).ok_or_else(wrong)
    }
}

/// Bytes of a term and of what points to it, at most.
const TERM_BYTES: usize = 64;

/// An expression with the depth of its atoms.
struct Expr {
    value: DimExpr,
    depth: u32,
}

/// What an expression takes that is being read.
struct Size {
    memory: usize,
    depth: u32,
}

/// The tables, built.
struct Reader<'a> {
    budget: Budget,
    texts: Vec<&'a str>,
    spans: Vec<Span>,
    kernels: Vec<KernelRow>,
    exprs: Table<Expr>,
    views: Table<Arc<View>>,
    bodies: Table<ScalarExpr>,
    fills: Table<HoleFill>,
    calls: Table<KernelCall>,
    meanings: Table<Arc<MeaningGraph>>,
    /// Texts that are names, by their numbers: all their places share them.
    names: Vec<Option<Arc<str>>>,
}

/// Every row of a list, or the first error.
fn all<R, T>(rows: Vec<R>, row: impl FnMut(R) -> Result<T, PlanFileError>) -> Result<Vec<T>, PlanFileError> {
    rows.into_iter().map(row).collect()
}

fn malformed(what: impl ToString) -> PlanFileError {
    PlanFileError::Malformed(what.to_string())
}

/// The row of a table that holds what is small.
fn at<'t, T>(rows: &'t [T], table: &'static str, id: Id) -> Result<&'t T, PlanFileError> {
    rows.get(id as usize).ok_or(PlanFileError::Row { table, row: id, rows: rows.len() })
}

impl<'a> Reader<'a> {
    /// Builds the tables.
    fn new(tables: Tables<'a>, file: usize, known: &Kernels) -> Result<Reader<'a>, PlanFileError> {
        let mut r = Reader {
            budget: Budget::of(file),
            texts: tables.texts,
            spans: tables.spans,
            kernels: tables.kernels,
            exprs: Table::new("expression"),
            views: Table::new("view"),
            bodies: Table::new("body"),
            fills: Table::new("filled hole"),
            calls: Table::new("call"),
            meanings: Table::new("meaning"),
            names: Vec::new(),
        };
        r.budget.take(r.texts.len().saturating_mul(size_of::<Option<Arc<str>>>()))?;
        r.names.resize(r.texts.len(), None);
        r.compare(known)?;
        tables.exprs.into_iter().try_for_each(|row| r.add_expr(row))?;
        tables.views.into_iter().try_for_each(|row| r.add_view(row))?;
        tables.bodies.into_iter().try_for_each(|row| r.add_body(row))?;
        tables.fills.into_iter().try_for_each(|row| r.add_fill(row))?;
        tables.calls.into_iter().try_for_each(|row| r.add_call(row))?;
        tables.meanings.into_iter().try_for_each(|row| r.add_meaning(row))?;
        Ok(r)
    }

    /// Every kernel of the plan is the one that is known here.
    fn compare(&self, known: &Kernels) -> Result<(), PlanFileError> {
        for row in &self.kernels {
            let kernel = *at(&self.texts, "text", row.name)?;
            if super::declaration(known, kernel)? != row.declaration {
                return Err(PlanFileError::OtherDeclaration { kernel: kernel.to_owned() });
            }
            for (variant, code) in &row.variants {
                let variant = *at(&self.texts, "text", *variant)?;
                if super::code(known, kernel, variant)? != *code {
                    let (kernel, variant) = (kernel.to_owned(), variant.to_owned());
                    return Err(PlanFileError::OtherCode { kernel, variant });
                }
            }
        }
        Ok(())
    }

    fn str(&mut self, id: Id) -> Result<&'a str, PlanFileError> {
        let text = *at(&self.texts, "text", id)?;
        self.budget.take(size_of::<String>() + text.len())?;
        Ok(text)
    }

    fn text(&mut self, id: Id) -> Result<String, PlanFileError> {
        self.str(id).map(str::to_owned)
    }

    fn span(&self, id: Id) -> Result<Span, PlanFileError> {
        at(&self.spans, "span", id).copied()
    }

    /// A copy of an expression.
    fn expr(&mut self, id: Id) -> Result<DimExpr, PlanFileError> {
        let (expr, memory) = self.exprs.row(id)?;
        self.budget.take(*memory)?;
        Ok(expr.value.clone())
    }

    fn exprs(&mut self, ids: &[Id]) -> Result<Vec<DimExpr>, PlanFileError> {
        ids.iter().map(|&id| self.expr(id)).collect()
    }

    /// An expression names those before it.
    fn add_expr(&mut self, row: ExprRow) -> Result<(), PlanFileError> {
        let mut size = Size { memory: size_of::<DimExpr>(), depth: 0 };
        let mut terms = Vec::with_capacity(row.terms.len());
        for (coefficient, factors) in row.terms {
            size.memory += TERM_BYTES;
            let atoms = factors.into_iter().map(|factor| self.atom(factor, &mut size));
            terms.push((coefficient, atoms.collect::<Result<Vec<Atom>, _>>()?));
        }
        if size.depth > DEPTH {
            return Err(malformed(format!("an expression of depth {}", size.depth)));
        }
        let value = DimExpr::from_terms(terms, row.constant)
            .ok_or_else(|| malformed("an expression whose terms are not in order"))?;
        self.exprs.rows.push((Expr { value, depth: size.depth }, size.memory));
        Ok(())
    }

    /// A factor of a term, counted in the size of the expression.
    fn atom(&mut self, factor: AtomRow, size: &mut Size) -> Result<Atom, PlanFileError> {
        size.memory += size_of::<Atom>();
        let mut both =
            |a: Id, b: Id| Ok::<_, PlanFileError>(Box::new((self.operand(a, size)?, self.operand(b, size)?)));
        Ok(match factor {
            AtomRow::Symbol(id) => Atom::Var(Var::Symbol(SymbolId(id))),
            AtomRow::Scalar(id) => Atom::Var(Var::Scalar(ScalarId(id))),
            AtomRow::FloorDiv(a, b) => Atom::FloorDiv(both(a, b)?),
            AtomRow::CeilDiv(a, b) => Atom::CeilDiv(both(a, b)?),
            AtomRow::Min(a, b) => Atom::Min(both(a, b)?),
            AtomRow::Max(a, b) => Atom::Max(both(a, b)?),
        })
    }

    /// A copy of an expression inside another.
    fn operand(&mut self, id: Id, size: &mut Size) -> Result<DimExpr, PlanFileError> {
        let (e, copy) = self.exprs.row(id)?;
        size.depth = size.depth.max(e.depth + 1);
        size.memory = size.memory.saturating_add(*copy);
        self.budget.take(*copy)?;
        Ok(e.value.clone())
    }

    fn add_view(&mut self, row: ViewRow) -> Result<(), PlanFileError> {
        let before = self.budget.left;
        let view = View {
            dtype: row.dtype,
            storage: row.storage,
            shape: self.exprs(&row.shape)?,
            strides: self.exprs(&row.strides)?,
            offset: self.expr(row.offset)?,
        };
        self.views.rows.push((view.into(), size_of::<View>() + before - self.budget.left));
        Ok(())
    }

    fn view(&mut self, id: Id) -> Result<Arc<View>, PlanFileError> {
        let (view, memory) = self.views.row(id)?;
        self.budget.take(*memory)?;
        Ok(view.clone())
    }

    fn add_body(&mut self, row: BodyRow) -> Result<(), PlanFileError> {
        let memory = size_of::<Inst>() * row.insts.len() + 4 * (row.inputs.len() + row.outputs.len());
        self.budget.take(memory)?;
        let insts = row.insts.into_iter().map(|(op, ty, args)| Inst {
            op,
            ty,
            args: args.into_iter().map(RegId).collect(),
        });
        let outputs = row.outputs.into_iter().map(RegId).collect();
        let body = ScalarExpr::from_parts(row.inputs, insts.collect(), outputs).map_err(malformed)?;
        self.bodies.rows.push((body, memory));
        Ok(())
    }

    fn add_fill(&mut self, row: FillRow) -> Result<(), PlanFileError> {
        let before = self.budget.left;
        let hole = self.text(row.hole)?;
        let (body, memory) = self.bodies.row(row.body)?;
        self.budget.take(*memory + 4 * (row.inputs.len() + row.stores.len()))?;
        let expr = body.clone();
        let (hole, inputs, stores) = (Cow::Owned(hole), row.inputs.into(), row.stores.into());
        let fill = HoleFill { hole, expr, inputs, result: row.result, stores };
        self.fills.rows.push((fill, size_of::<HoleFill>() + before - self.budget.left));
        Ok(())
    }

    fn add_call(&mut self, row: CallRow) -> Result<(), PlanFileError> {
        let before = self.budget.left;
        let kernel = at(&self.kernels, "kernel", row.kernel)?;
        let (name, variant) = (kernel.name, at(&kernel.variants, "variant", row.variant)?.0);
        let (name, variant) = (self.text(name)?, self.text(variant)?);
        let words =
            row.args.len() + row.spec.len() + row.operands.len() + row.slots.len() + row.literals.len();
        self.budget.take(8 * words)?;
        let mut holes = Vec::with_capacity(row.fills.len());
        for id in row.fills {
            let (fill, memory) = self.fills.row(id)?;
            self.budget.take(*memory)?;
            holes.push(fill.clone());
        }
        let call = KernelCall {
            kernel: KernelName(Cow::Owned(name)),
            variant: Cow::Owned(variant),
            spec: row.spec,
            args: row.args,
            operands: row.operands.into(),
            slots: row.slots.into(),
            holes,
            literals: row.literals,
        };
        self.calls.rows.push((call, size_of::<KernelCall>() + before - self.budget.left));
        Ok(())
    }

    fn call(&mut self, id: Id) -> Result<KernelCall, PlanFileError> {
        let (call, memory) = self.calls.row(id)?;
        self.budget.take(*memory)?;
        Ok(call.clone())
    }

    /// Steps share a meaning.
    fn add_meaning(&mut self, row: MeaningRow) -> Result<(), PlanFileError> {
        let graph = MeaningGraph {
            text: Arc::from(self.str(row.text)?),
            symbols: row.symbols.into(),
            inputs: all(row.inputs, |name| self.name(name))?.into(),
        };
        self.meanings.rows.push((graph.into(), 0));
        Ok(())
    }

    fn name(&mut self, id: Id) -> Result<Arc<str>, PlanFileError> {
        self.budget.take(size_of::<InputUse>())?;
        if let Some(Some(known)) = self.names.get(id as usize) {
            return Ok(Arc::clone(known));
        }
        let name: Arc<str> = self.str(id)?.into();
        self.names[id as usize] = Some(Arc::clone(&name));
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(exprs: Vec<ExprRow>) -> Result<DimExpr, PlanFileError> {
        let last = exprs.len() as Id - 1;
        let tables = Tables { exprs, ..Tables::default() };
        Reader::new(tables, 100, &Kernels::default())?.expr(last)
    }

    fn sum(factors: Vec<Vec<AtomRow>>) -> ExprRow {
        ExprRow { terms: factors.into_iter().map(|f| (1, f)).collect(), constant: 0 }
    }

    /// A few hundred bytes must not become gigabytes: every expression is twice the one before.
    #[test]
    fn expressions_that_double_are_refused() {
        let mut rows = vec![sum(vec![vec![AtomRow::Symbol(0)]])];
        rows.extend((0..30).map(|i| sum(vec![vec![AtomRow::Min(i, i)]])));
        assert!(matches!(built(rows), Err(PlanFileError::Size { bytes: 100, .. })));
    }

    /// Nothing that walks an expression runs out of stack.
    #[test]
    fn deep_expressions_are_refused() {
        let mut rows = vec![sum(vec![vec![AtomRow::Symbol(0)]]), ExprRow { terms: vec![], constant: 7 }];
        rows.extend((0..100).map(|i| sum(vec![vec![AtomRow::CeilDiv(if i == 0 { 0 } else { i + 1 }, 1)]])));
        let refused = built(rows.clone()).expect_err("too deep");
        assert!(refused.to_string().contains("depth 33"), "{refused}");
        rows.truncate(2 + DEPTH as usize);
        assert!(built(rows).is_ok());
    }

    #[test]
    fn expressions_name_only_those_before_them() {
        let row = || sum(vec![vec![AtomRow::Max(0, 0)]]);
        assert!(matches!(
            built(vec![row()]),
            Err(PlanFileError::Row { table: "expression", row: 0, rows: 0 })
        ));
    }

    #[test]
    fn expressions_out_of_order_are_refused() {
        let two = vec![vec![AtomRow::Symbol(1)], vec![AtomRow::Symbol(0)]];
        assert!(matches!(built(vec![sum(two)]), Err(PlanFileError::Malformed(_))));
    }
}
