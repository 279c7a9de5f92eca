//! Matrix products.

use super::call::{Call, one};
use super::{Results, Rule, rule};

pub(super) const RULES: &[Rule] = &[rule("MatMul", 1, matmul)];

fn matmul(c: &mut Call<'_>) -> Results {
    let (a, b) = (c.x(0)?, c.x(1)?);
    one(c.g.matmul(a, b))
}
