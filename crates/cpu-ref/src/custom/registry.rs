//! The registry: ops of users by name, each called so that nothing of it gets out but a typed error.

use super::weave::Weave;
use super::{CustomCall, CustomFailure, CustomOp, CustomTypes};
use pumice_ir::ops::custom::WEAVE;
use pumice_ir::ops::{Custom, Op};
use pumice_ir::{Graph, GraphBuilder, Node, Value, ValueType};
use pumice_runtime::CustomError;
use pumice_types::{DType, Encoding, SymbolTable, Tensor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

/// How names begin that are not for users.
const RESERVED: &str = "pumice.";

/// Ops of users by name. Clones share the ops that they have, and take new ones apart.
///
/// ```
/// # use pumice_cpu_ref::custom::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes};
/// # use pumice_ir::ValueType;
/// # use pumice_types::Tensor;
/// /// y = x·x + 1
/// struct SquareAndOne;
///
/// impl CustomOp for SquareAndOne {
///     fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure> {
///         let [x] = call.operands else { return Err("one operand".into()) };
///         Ok(vec![x.clone()])
///     }
///
///     fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
///         let y: Vec<f32> = call.values::<f32>(0)?.iter().map(|x| x * x + 1.0).collect();
///         Ok(vec![call.result(0, &y)?])
///     }
/// }
///
/// let ops = CustomOps::new().with("mine.square_and_one", SquareAndOne)?;
/// assert!(ops.has("mine.square_and_one"));
/// # Ok::<(), pumice_runtime::CustomError>(())
/// ```
#[derive(Clone, Default)]
pub struct CustomOps {
    ops: BTreeMap<Arc<str>, Arc<Registered>>,
}

impl CustomOps {
    /// No op of a user yet.
    pub fn new() -> CustomOps {
        CustomOps::default()
    }

    /// The same with one op more.
    ///
    /// # Errors
    /// [`CustomError::Name`] for a name that is taken, empty, longer than 256 bytes, or begins with `pumice.`.
    pub fn with(mut self, name: &str, op: impl CustomOp + 'static) -> Result<CustomOps, CustomError> {
        let wrong = |reason| Err(CustomError::Name { name: name.to_owned(), reason });
        match name {
            "" => return wrong("it is empty"),
            _ if name.len() > 256 => return wrong("it has more than 256 bytes"),
            _ if name.starts_with(RESERVED) => {
                return wrong("names that begin with `pumice.` are not for users");
            }
            _ if self.ops.contains_key(name) => return wrong("it is registered already"),
            _ => {}
        }
        self.ops.insert(name.into(), Arc::new(Registered::new(name, Box::new(op))));
        Ok(self)
    }

    /// Whether an op is registered under this name.
    pub fn has(&self, name: &str) -> bool {
        name == WEAVE || self.ops.contains_key(name)
    }

    /// The op of that name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Registered>> {
        let of_samples = || (name == WEAVE).then(|| Arc::new(Registered::new(WEAVE, Box::new(Weave))));
        self.ops.get(name).cloned().or_else(of_samples)
    }

    /// A node of a registered op, with the types that its rule gives; as many values as results.
    ///
    /// # Errors
    /// [`CustomError::Unknown`] for a name that is not registered; what the op's rule of types says, or does. Mistakes
    /// in the operands are noted in the builder.
    #[track_caller]
    pub fn apply(
        &self,
        g: &GraphBuilder,
        name: &str,
        attributes: &str,
        operands: &[Value],
    ) -> Result<Vec<Value>, CustomError> {
        let op = self.get(name).ok_or_else(|| CustomError::Unknown { names: vec![name.to_owned()] })?;
        let types: Option<Vec<ValueType>> = operands.iter().map(|&v| g.type_of(v)).collect();
        let results = match types {
            Some(types) => op.types(&CustomTypes { attributes, operands: &types, stated: &[] })?,
            // An operand came out of a mistake, and so do the results.
            None => Vec::new(),
        };
        Ok(g.custom(name, attributes, operands, results))
    }

    /// What is wrong with the ops of users in a graph, each with the name of its node: those that are not registered,
    /// and those whose types are not what their rules give.
    pub fn mistakes(&self, graph: &Graph) -> Vec<(String, CustomError)> {
        let wrong =
            |(id, node): (_, &Node)| Some((graph.node_name(id).to_owned(), self.mistake(graph, node)?));
        graph.nodes().filter_map(wrong).collect()
    }

    fn mistake(&self, graph: &Graph, node: &Node) -> Option<CustomError> {
        let Op::Custom(custom) = &node.op else { return None };
        match self.get(&custom.name) {
            None => Some(CustomError::Unknown { names: vec![custom.name.clone()] }),
            Some(op) => op.check(graph, node, custom).err(),
        }
    }

    /// Names in the graph that are not registered.
    pub(crate) fn unknown(&self, graph: &Graph) -> BTreeSet<String> {
        let names = graph.nodes().filter_map(|(_, node)| node.op.user_name());
        names.filter(|name| !self.has(name)).map(str::to_owned).collect()
    }
}

impl fmt::Debug for CustomOps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.ops.keys()).finish()
    }
}

/// An op of a user under its name.
pub struct Registered {
    name: Arc<str>,
    op: Box<dyn CustomOp>,
    /// Threads that are inside one of its functions.
    inside: Mutex<Vec<ThreadId>>,
}

/// Which function computes.
type Function = fn(&dyn CustomOp, &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure>;

impl Registered {
    fn new(name: &str, op: Box<dyn CustomOp>) -> Registered {
        Registered { name: name.into(), op, inside: Mutex::default() }
    }

    /// The results, by the host function.
    pub(crate) fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomError> {
        self.compute(call, |op, call| op.run(call))
    }

    /// The results, by the reference.
    pub(crate) fn reference(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomError> {
        self.compute(call, |op, call| op.reference(call))
    }

    fn compute(&self, call: &CustomCall<'_>, function: Function) -> Result<Vec<Tensor>, CustomError> {
        let failed = |reason| CustomError::Failed { op: self.name.to_string(), reason };
        let made = self.guarded(|| function(self.op.as_ref(), call))?.map_err(failed)?;
        let (given, expected) = (made.len(), call.results.len());
        if given != expected {
            return Err(CustomError::Count { op: self.name.to_string(), given, expected });
        }
        let wrong = made.iter().zip(call.results).position(|(tensor, (dtype, shape))| {
            tensor.encoding() != Encoding::Plain(*dtype) || tensor.shape() != shape
        });
        wrong
            .map_or(Ok(()), |result| Err(self.other_result(result, &made[result], &call.results[result])))?;
        Ok(made)
    }

    fn other_result(&self, result: usize, given: &Tensor, (dtype, shape): &(DType, Vec<u64>)) -> CustomError {
        CustomError::Result {
            op: self.name.to_string(),
            result,
            given: format!("{}{:?}", given.encoding(), given.shape()),
            expected: format!("{dtype}{shape:?}"),
        }
    }

    /// The types that its rule gives.
    fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomError> {
        let refused = |reason| CustomError::Refused { op: self.name.to_string(), reason };
        self.guarded(|| self.op.types(call))?.map_err(refused)
    }

    /// The node states the types that the rule gives.
    fn check(&self, graph: &Graph, node: &Node, custom: &Custom) -> Result<(), CustomError> {
        let operands: Vec<ValueType> = node.operands().map(|v| graph.ty(v).clone()).collect();
        let call = CustomTypes { attributes: &custom.attributes, operands: &operands, stated: &custom.ty };
        let ruled = self.types(&call)?;
        if ruled == custom.ty {
            return Ok(());
        }
        let op = self.name.to_string();
        let [ruled, stated] = [&ruled, &custom.ty].map(|types| shown(types, graph.symbols()));
        Err(CustomError::Types { op, ruled, stated })
    }

    /// What a function of the user gives: nothing else leaves it, whatever it does.
    fn guarded<T>(
        &self,
        function: impl FnOnce() -> Result<T, CustomFailure>,
    ) -> Result<Result<T, String>, CustomError> {
        let _inside = self.enter()?;
        // What an error says is code of the user, too.
        let caught = catch_unwind(AssertUnwindSafe(|| function().map_err(|e| e.to_string())));
        caught.map_err(|payload| {
            let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
                (Some(text), _) => (*text).to_owned(),
                (None, Some(text)) => text.clone(),
                // What it is may panic when it is dropped.
                (None, None) => "with a value that is no text".to_owned(),
            };
            std::mem::forget(payload);
            CustomError::Panicked { op: self.name.to_string(), message }
        })
    }

    fn enter(&self) -> Result<Inside<'_>, CustomError> {
        let thread = std::thread::current().id();
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.contains(&thread) {
            return Err(CustomError::Reentrant { op: self.name.to_string() });
        }
        inside.push(thread);
        Ok(Inside { threads: &self.inside, thread })
    }
}

/// Takes the thread out again.
struct Inside<'a> {
    threads: &'a Mutex<Vec<ThreadId>>,
    thread: ThreadId,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).retain(|t| *t != self.thread);
    }
}

fn shown(types: &[ValueType], symbols: &SymbolTable) -> String {
    let types: Vec<String> = types.iter().map(|ty| ty.display(symbols)).collect();
    format!("({})", types.join(", "))
}
