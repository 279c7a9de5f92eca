//! Defects planted into kernels, one at a time, to show that the op suite finds what it is there to find.
//!
//! A defect changes the module of one kernel by the names of its GLSL functions, or the fill of its holes, between the
//! checked-in module and the driver. Plans, barriers and data stay right: only the kernel is wrong.

use crate::op_suite::PlainTwins;
use crate::spirv::Kernel;
use pumice_plan::{HoleInput, KernelCall};
use pumice_vulkan::codegen::FloatControls;
use pumice_vulkan::{Addressing, KernelSource};
use rspirv::spirv::Op;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a kernel is made wrong; each says how many places it changed.
#[derive(Clone, Copy)]
pub enum Edit {
    /// In its module.
    Module(fn(&mut Kernel) -> usize),
    /// In one use of it.
    Call(fn(&mut KernelCall) -> usize),
}

/// One planted defect.
#[derive(Clone, Copy)]
pub struct Defect {
    /// What is wrong.
    pub name: &'static str,
    /// Kernels whose names begin so are wrong.
    pub kernel: &'static str,
    /// Ops whose samples must show it.
    pub ops: &'static [&'static str],
    /// The change.
    pub edit: Edit,
}

/// All defects.
pub const DEFECTS: &[Defect] = &[
    Defect {
        name: "wrong stride: rows of the left matrix lie as far apart as its columns",
        kernel: "matmul_f32",
        ops: &["matmul"],
        edit: Edit::Module(|k| k.call_instead("arg_a_row", "arg_a_col")),
    },
    Defect {
        name: "missing bound: an index is not compared with the axis",
        kernel: "gather",
        ops: &["gather"],
        edit: Edit::Module(|k| k.always("index_at", Op::ULessThan)),
    },
    Defect {
        name: "dropped tail: a row is summed up to a multiple of four",
        kernel: "reduce_rows",
        ops: &["reduce_sum", "reduce_max"],
        edit: Edit::Module(|k| k.map_result("arg_n", Op::BitwiseAnd, !3)),
    },
    Defect {
        name: "dropped tail: elements past a multiple of four are not written",
        kernel: "elementwise_flat",
        ops: &["add"],
        edit: Edit::Module(|k| k.map_result("arg_n", Op::BitwiseAnd, !3)),
    },
    Defect {
        name: "stale operand: the second input is read where the first lies",
        kernel: "elementwise",
        ops: &["sub"],
        edit: Edit::Call(stale_input),
    },
    Defect {
        name: "stale operand: the offset of a norm is read where its factor lies",
        kernel: "layer_norm",
        ops: &["layer_norm"],
        edit: Edit::Module(|k| k.call_instead("load_b", "load_g") + k.call_instead("load4_b", "load4_g")),
    },
    Defect {
        name: "wrong constant: ln 2 is off by a tenth of a percent",
        kernel: "softmax_rows",
        ops: &["softmax"],
        // exp_own subtracts n·ln 2 in two parts; this is the first.
        edit: Edit::Module(|k| k.scale_constant(0.693_359_4, 1.001)),
    },
    Defect {
        name: "missing barrier: shared memory is read before it is written",
        kernel: "reduce_columns",
        ops: &["reduce_sum"],
        edit: Edit::Module(|k| k.remove(Op::ControlBarrier)),
    },
    Defect {
        name: "NaN is not propagated by a maximum",
        kernel: "reduce_rows",
        ops: &["reduce_max"],
        edit: Edit::Module(|k| k.never("is_nan", Op::UGreaterThan)),
    },
    Defect {
        name: "16-bit rows are cut off instead of rounded",
        kernel: "kv_append",
        ops: &["kv_append"],
        edit: Edit::Module(|k| k.first_operand("f32_to_bf16", Op::IAdd)),
    },
    Defect {
        name: "a causal mask lets one later key through",
        kernel: "attention",
        ops: &["attention"],
        edit: Edit::Module(|k| k.map_result("arg_right", Op::IAdd, 1)),
    },
    Defect {
        name: "wrong table: sines are taken for cosines",
        kernel: "rotary",
        ops: &["rotary"],
        edit: Edit::Module(|k| k.call_instead("load_cos", "load_sin")),
    },
    Defect {
        name: "a strided copy begins one element late",
        kernel: "elementwise_strided",
        ops: &["slice"],
        edit: Edit::Module(|k| k.map_result("arg_offset", Op::IAdd, 1)),
    },
];

/// The second of two slots becomes the first.
fn stale_input(call: &mut KernelCall) -> usize {
    let mut changed = 0;
    for input in call.holes.iter_mut().flat_map(|h| &mut h.inputs) {
        if *input == HoleInput::Slot(1) {
            *input = HoleInput::Slot(0);
            changed += 1;
        }
    }
    changed
}

/// The checked-in kernels, plain twins alone, with a defect.
pub struct DefectiveKernels {
    defect: Defect,
    changed: AtomicUsize,
}

impl DefectiveKernels {
    /// The kernels with this defect.
    pub fn new(defect: Defect) -> DefectiveKernels {
        DefectiveKernels { defect, changed: AtomicUsize::new(0) }
    }

    /// How many places were changed in the modules that were asked for.
    pub fn changed(&self) -> usize {
        self.changed.load(Ordering::Relaxed)
    }
}

impl KernelSource for DefectiveKernels {
    fn spirv(
        &self,
        call: &KernelCall,
        form: Addressing,
        controls: FloatControls,
    ) -> Result<Vec<u32>, String> {
        if !call.kernel.0.starts_with(self.defect.kernel) {
            return PlainTwins.spirv(call, form, controls);
        }
        let (words, changed) = match self.defect.edit {
            Edit::Call(edit) => {
                let mut call = call.clone();
                let changed = edit(&mut call);
                (PlainTwins.spirv(&call, form, controls)?, changed)
            }
            Edit::Module(edit) => {
                let mut kernel = Kernel::read(&PlainTwins.spirv(call, form, controls)?)?;
                let changed = edit(&mut kernel);
                (kernel.words(), changed)
            }
        };
        self.changed.fetch_add(changed, Ordering::Relaxed);
        Ok(words)
    }

    fn identity(&self) -> [u8; 32] {
        let mut identity = [0xdf; 32];
        self.defect
            .name
            .bytes()
            .enumerate()
            .for_each(|(i, b)| identity[i % 32] ^= b.rotate_left(i as u32 % 7));
        identity
    }
}
