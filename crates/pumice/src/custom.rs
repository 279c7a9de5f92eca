//! Ops of your own: a chapter.
//!
//! An op that pumice does not have, and that is no composition of those it has, runs on the host by your function.
//! Kernels of users there are none: nothing could check what they touch.
//!
//! 1. Say what the op is: a type with [`CustomOp`]. Its rule of types gives the types of the results for those of
//!    the operands (extents may be symbols and expressions of them), its function computes them. A second, slow
//!    function may be given, which the evaluator runs where tests compare.
//! 2. Register it under a name: [`CustomOps::with`]. Names that begin with `pumice.` are taken.
//! 3. Use it in a graph: [`CustomOps::apply`] asks the rule; [`GraphBuilder::custom`](crate::GraphBuilder::custom)
//!    takes result types that you state. The node has the name, the types, and attributes: any text of up to 64
//!    KiB, for your functions to read.
//! 4. Give the registry to the device: [`Device::with_custom_ops`](crate::Device::with_custom_ops). Compiling for
//!    that device, loading plans on it, and sessions find it there. To make plans without a device there is
//!    [`plan_with`](crate::plan_with).
//!
//! ```
//! use pumice::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes, Tensor, ValueType};
//! use pumice::{Device, GraphBuilder, Options, TensorView, f32, sym};
//!
//! /// The median of each row: x\[n, k\] → \[n\].
//! struct Median;
//!
//! impl CustomOp for Median {
//!     fn types(&self, call: &CustomTypes<'_>) -> Result<Vec<ValueType>, CustomFailure> {
//!         match call.operands {
//!             [x] if x.rank() == 2 => Ok(vec![ValueType::new(x.dtype(), &x.shape[..1])]),
//!             _ => Err("one operand of rank 2".into()),
//!         }
//!     }
//!
//!     fn run(&self, call: &CustomCall<'_>) -> Result<Vec<Tensor>, CustomFailure> {
//!         let (mut x, k) = (call.values::<f32>(0)?, call.operands[0].shape()[1] as usize);
//!         let medians = x.chunks_exact_mut(k).map(|row| {
//!             row.sort_by(f32::total_cmp);
//!             row[k / 2]
//!         });
//!         Ok(vec![call.result(0, &medians.collect::<Vec<f32>>())?])
//!     }
//! }
//!
//! let ops = CustomOps::new().with("mine.median", Median)?;
//! let g = GraphBuilder::new("centred");
//! let x = g.input("x", f32([sym("n", 1..=64), 3.into()]));
//! let median = ops.apply(&g, "mine.median", "", &[x])?[0];
//! g.output("y", g.sub(x, g.unsqueeze(median, &[1])));
//! let graph = g.build()?;
//!
//! let device = Device::cpu().with_custom_ops(ops);
//! let exe = pumice::compile(&graph, &device, &Options::default())?;
//! let out = exe.session()?.run(&[("x", TensorView::f32(&[3.0, 1.0, 2.0], [1, 3]))])?;
//! assert_eq!(out.get("y")?.to_vec::<f32>()?, [1.0, -1.0, 0.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What it costs.** A run waits for the device before the step, and the device for the step; operands are copied
//! to the host, results back. Where all operands follow from params, the step runs once, when these are set.
//!
//! **What it must be.** A function of its attributes and operands and of nothing else: equal nodes are one, a node
//! that nobody needs is not run, and a constant one is still run by your function, never folded. It may be called
//! from several threads at once.
//!
//! **What goes wrong.** Compiling a graph with ops that are not registered is
//! [`Error::Custom`](crate::Error::Custom), with every node; loading such a plan is
//! [`DeviceError::UnknownOps`](crate::DeviceError::UnknownOps), with every name. A function that returns an error,
//! panics, or returns tensors of another number, dtype or shape ends the run with
//! [`DeviceError::Custom`](crate::DeviceError::Custom), and so does one that runs a graph with the same op on its
//! thread; the session can be used again, its states are unspecified as after any failed run.
//!
//! **Files.** The text form of a graph and plan files have name, attributes and types, and never a function. A plan
//! made elsewhere runs where the same names are registered; its types are compared with your rules when it is
//! loaded.
//!
//! The example `custom_op` renders Gaussian splats with three ops.

pub use pumice_cpu_ref::{CustomCall, CustomFailure, CustomOp, CustomOps, CustomTypes};
pub use pumice_runtime::CustomError;
