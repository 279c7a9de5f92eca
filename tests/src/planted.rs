//! Defects planted into kernels, one at a time, to show that the op suite finds what it is there to find.
//!
//! A defect changes the module of one kernel by the names of its GLSL functions, or the fill of its holes, between the
//! checked-in module and the driver. Plans, barriers and data stay right: only the kernel is wrong. Defects of the
//! kernels that GPUs get read nothing outside of their operands: those have no descriptor form, which would hold them.

use crate::spirv::Kernel;
use pumice_plan::{HoleInput, KernelCall};
use pumice_vulkan::codegen::FloatControls;
use pumice_vulkan::{Addressing, KernelSource};
use rspirv::spirv::Op;
use std::sync::Arc;
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
    /// Kernels whose names, with the variant after a dot, begin so are wrong.
    pub kernel: &'static str,
    /// Ops whose samples must show it.
    pub ops: &'static [&'static str],
    /// The change.
    pub edit: Edit,
}

/// Defects of the kernels that a CPU driver gets, in descriptor form.
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
        kernel: "elementwise_",
        ops: &["slice"],
        edit: Edit::Module(|k| k.map_result("arg_offset", Op::IAdd, 1)),
    },
];

/// Defects of the kernels that a GPU gets, and a CPU driver where it selects as one.
pub const GPU_DEFECTS: &[Defect] = &[
    Defect {
        name: "missing barrier: a tile of a product is used before it is staged",
        kernel: "matmul_f32.",
        ops: &["matmul"],
        edit: Edit::Module(|k| k.remove(Op::ControlBarrier)),
    },
    Defect {
        name: "dropped tail: a tile sums up to a multiple of four",
        kernel: "matmul_f32.",
        ops: &["matmul", "linear"],
        edit: Edit::Module(|k| k.map_result("arg_k", Op::BitwiseAnd, !3)),
    },
    Defect {
        name: "dropped tail: dot products go up to a multiple of four",
        kernel: "matmul_f32_dot.",
        ops: &["linear"],
        edit: Edit::Module(|k| k.map_result("arg_k", Op::BitwiseAnd, !3)),
    },
    Defect {
        name: "wrong stride: rows of few lie as far apart as their elements",
        kernel: "matmul_f32_columns.",
        ops: &["matmul"],
        edit: Edit::Module(|k| k.call_instead("arg_a_row", "arg_a_col")),
    },
    Defect {
        name: "missing barrier: partial sums of few rows are added before they are there",
        kernel: "matmul_f32_columns.",
        ops: &["matmul"],
        edit: Edit::Module(|k| k.remove(Op::ControlBarrier)),
    },
    Defect {
        name: "a causal mask of a split attention lets one later key through",
        kernel: "attention_split.",
        ops: &["attention"],
        edit: Edit::Module(|k| k.map_result("arg_right", Op::IAdd, 1)),
    },
    Defect {
        name: "missing barrier: teams of a split attention meet before they are done",
        kernel: "attention_split.",
        ops: &["attention"],
        edit: Edit::Module(|k| k.remove(Op::ControlBarrier)),
    },
    Defect {
        name: "missing barrier: a tile of scores is used before it is there",
        kernel: "attention.plain",
        ops: &["attention"],
        edit: Edit::Module(|k| k.remove(Op::ControlBarrier)),
    },
    Defect {
        name: "stale operand: a norm that keeps its row reads its factor as its offset",
        kernel: "layer_norm.fast",
        ops: &["layer_norm"],
        edit: Edit::Module(|k| k.call_instead("load_b", "load_g") + k.call_instead("load4_b", "load4_g")),
    },
    Defect {
        name: "dropped tail: a norm that keeps its row sums up to a multiple of four",
        kernel: "rms_norm.fast",
        ops: &["rms_norm"],
        edit: Edit::Module(|k| k.map_result("arg_n", Op::BitwiseAnd, !3)),
    },
    Defect {
        name: "wrong constant: ln 2 is off by a tenth of a percent where rows stay in registers",
        kernel: "softmax_rows.fast",
        ops: &["softmax"],
        edit: Edit::Module(|k| k.scale_constant(0.693_359_4, 1.001)),
    },
    Defect {
        name: "a large group never finds a larger value",
        kernel: "arg_reduce.fast",
        ops: &["arg_max"],
        edit: Edit::Module(|k| k.never("better", Op::UGreaterThan)),
    },
    Defect {
        name: "missing barrier: a tile is written out before it is read in",
        kernel: "transpose.",
        ops: &["transpose"],
        edit: Edit::Module(|k| k.remove(Op::ControlBarrier)),
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

/// Kernels of a source with a defect.
pub struct DefectiveKernels {
    defect: Defect,
    sound: Arc<dyn KernelSource>,
    changed: AtomicUsize,
}

impl DefectiveKernels {
    /// The kernels of a source with this defect.
    pub fn of(sound: Arc<dyn KernelSource>, defect: Defect) -> DefectiveKernels {
        DefectiveKernels { defect, sound, changed: AtomicUsize::new(0) }
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
        if !format!("{}.{}", call.kernel, call.variant).starts_with(self.defect.kernel) {
            return self.sound.spirv(call, form, controls);
        }
        let (words, changed) = match self.defect.edit {
            Edit::Call(edit) => {
                let mut call = call.clone();
                let changed = edit(&mut call);
                (self.sound.spirv(&call, form, controls)?, changed)
            }
            Edit::Module(edit) => {
                let mut kernel = Kernel::read(&self.sound.spirv(call, form, controls)?)?;
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
