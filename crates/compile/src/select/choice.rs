//! A kernel that was chosen: its declaration, a variant, what a row sets of it, and the roles that follow.

use pumice_plan::kernel::{CallBuilder, KernelDecl, Roles, VariantDecl};
use pumice_types::Target;

/// A kernel with one of its variants and what is set of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The kernel.
    pub decl: &'static KernelDecl,
    /// The variant.
    pub variant: &'static VariantDecl,
    /// What the declaration says of the variant with these numbers.
    pub roles: Roles,
    /// Constants and arguments of the kernel's own, and what else lowering must know of the choice.
    numbers: Vec<(&'static str, u32)>,
}

impl Choice {
    /// A variant of which nothing is set.
    pub fn new(decl: &'static KernelDecl, variant: &'static VariantDecl) -> Choice {
        Choice { decl, variant, roles: decl.roles_of(variant, &[]), numbers: Vec::new() }
    }

    /// The same with a number set, in place of an earlier one of that name.
    #[must_use]
    pub fn with(mut self, name: &'static str, number: u32) -> Choice {
        self.numbers.retain(|n| n.0 != name);
        self.numbers.push((name, number));
        self.roles = self.decl.roles_of(self.variant, &self.numbers);
        self
    }

    /// The variant of another kernel that has the same roles, with what was set of this one.
    pub fn twin(self, decl: &'static KernelDecl) -> Option<Choice> {
        let twins = decl.variants.iter().map(|variant| Choice { decl, variant, ..self.clone() });
        twins.into_iter().find(|twin| decl.roles_of(twin.variant, &self.numbers) == self.roles)
    }

    /// What was set under a name; 0 where nothing was.
    pub fn number(&self, name: &str) -> u32 {
        self.numbers.iter().find(|n| n.0 == name).map_or(0, |n| n.1)
    }

    /// Whether the kernel has a specialization constant of that name.
    pub fn has(&self, constant: &str) -> bool {
        self.decl.specs.iter().any(|s| s.name == constant)
    }

    /// Whether its loops terminate by themselves on the target, for arguments and constants by name.
    pub fn terminates(&self, target: &Target, numbers: &[(&str, u64)]) -> bool {
        let set = self.numbers.iter().filter(|n| self.has(n.0)).map(|&(name, n)| (name, u64::from(n)));
        let all: Vec<(&str, u64)> = numbers.iter().copied().chain(set).collect();
        target.limits.allows_trips(self.decl.trip_count_of(self.variant.name, &all))
    }

    /// A call of a kernel with the same arguments and operands as one of this kernel, with the constants that were set.
    pub fn call(&self, call: CallBuilder) -> CallBuilder {
        let set = self.numbers.iter().filter(|n| self.has(n.0));
        set.fold(call.of(self.decl, self.variant.name), |call, &(name, n)| call.constant(name, n))
    }
}
