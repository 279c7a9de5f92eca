//! The op set: one line here, one file beside this one.
//!
//! [`for_each_op!`](crate::for_each_op) is the one list. Every crate expands it into its own exhaustive dispatch, so
//! that a forgotten duty is a compile error that names the op. What a pass or a lowering must know of an op is a method
//! of [`OpDef`]: nothing is matched by hand on [`Op`] but the leaves of a program and, in a pass, the ops that its
//! header names (`cargo xtask tidy --rule duties`).

pub use def::{IndexRange, LoopEnd, OpDef, OpKind, ScalarCx};
pub use gradient::{Differentiation, Grad, GradCx, Grads, NoGrad};
pub use simplify::{NodeCx, Simpler, Untransposed};

use crate::attr::{AttrError, AttrReader, AttrValue, Attrs};
use crate::error::OpError;
use crate::graph::Graph;
use crate::infer::{Infer, Types};
use crate::patch::Patch;
use crate::sample::Sample;
use crate::{NodeId, ValueId};
pub use control::scan;
pub use convolution::causal_conv_with_state;
pub use convolution::{im2col, lp_pool, non_max_suppression, resize};
pub use loss::reduced::LossReduction;
pub use loss::{
    binary_cross_entropy, binary_cross_entropy_with_logits, cosine_loss, cross_entropy_dense, huber,
    in_batch_negatives, kl_div, l1, mse, nll_loss, triplet_loss,
};
pub use movement::{depth_to_space, scatter, unique};
pub use product::rounding::{self, Rounding, round_products};
pub use product::{dot_general, gemm, lora_matmul};
use pumice_types::scalar::Reg;
use pumice_types::{DimExpr, Encoding, SymbolId};
pub use random::{random_normal, random_uniform, sample, source};
pub use recurrence::{gated_delta_net, mamba2, networks, selective_scan};
pub use reduction::distances;
pub use reduction::reduce;
use reduction::reduce::Reduction;
pub use signal::{log_mel, mel_weight_matrix, stft, welch};
use std::sync::Arc;
pub use transformer::{attention_operands, rotary_scaling};

/// Calls `$m!` with every op: `file Type "name" kind`, grouped as in OPS, each group in the folder of that name. The
/// kind is what the op is to lowering ([`OpKind`](crate::ops::OpKind)); what follows from it is written in no other
/// list. The attributes of a `boxed` one are many, so that an [`Op`](crate::Op) points to them: graphs hold very many
/// ops, and most have none.
#[macro_export]
macro_rules! for_each_op {
    ($m:ident) => {
        $m! {
            // 2 Leaves, states, control
            control {
                input Input "input" leaf;
                param Param "param" leaf;
                constant Constant "constant" leaf;
                state State "state" leaf;
                scalar Scalar "scalar" leaf boxed;
                extent Extent "extent" lowered;
                found_count FoundCount "found_count" lowered;
                extent_of ExtentOf "extent_of" lowered;
                after After "after" lowered;
                barrier Barrier "barrier" lowered;
                if_ If "if" lowered;
                carry Carry "carry" lowered;
                loop_ Loop "loop" lowered boxed;
                identity Identity "identity" lowered;
                stop_gradient StopGradient "stop_gradient" composite;
                fused Fused "fused" lowered;
                state_read StateRead "state_read" lowered;
                state_write StateWrite "state_write" lowered;
                kv_append KvAppend "kv_append" lowered;
                custom Custom "custom" host boxed;
            }
            // 3.1 Elementwise
            elementwise {
                abs Abs "abs" elementwise;
                neg Neg "neg" elementwise;
                sign Sign "sign" elementwise;
                reciprocal Reciprocal "reciprocal" elementwise;
                sqrt Sqrt "sqrt" elementwise;
                rsqrt Rsqrt "rsqrt" elementwise;
                square Square "square" elementwise;
                exp Exp "exp" elementwise;
                exp2 Exp2 "exp2" elementwise;
                expm1 Expm1 "expm1" elementwise;
                log Log "log" elementwise;
                log1p Log1p "log1p" elementwise;
                log2 Log2 "log2" elementwise;
                sin Sin "sin" elementwise;
                cos Cos "cos" elementwise;
                tan Tan "tan" elementwise;
                asin Asin "asin" elementwise;
                acos Acos "acos" elementwise;
                atan Atan "atan" elementwise;
                atan2 Atan2 "atan2" elementwise;
                sinh Sinh "sinh" elementwise;
                cosh Cosh "cosh" elementwise;
                tanh Tanh "tanh" elementwise;
                asinh Asinh "asinh" elementwise;
                acosh Acosh "acosh" elementwise;
                atanh Atanh "atanh" elementwise;
                erf Erf "erf" elementwise;
                floor Floor "floor" elementwise;
                ceil Ceil "ceil" elementwise;
                trunc Trunc "trunc" elementwise;
                round Round "round" elementwise;
                sigmoid Sigmoid "sigmoid" elementwise;
                log_sigmoid LogSigmoid "log_sigmoid" elementwise;
                hard_sigmoid HardSigmoid "hard_sigmoid" elementwise;
                relu Relu "relu" elementwise;
                leaky_relu LeakyRelu "leaky_relu" elementwise;
                thresholded_relu ThresholdedRelu "thresholded_relu" elementwise;
                p_relu PRelu "p_relu" elementwise;
                elu Elu "elu" elementwise;
                celu Celu "celu" elementwise;
                selu Selu "selu" elementwise;
                gelu Gelu "gelu" elementwise;
                swish Swish "swish" elementwise;
                hard_swish HardSwish "hard_swish" elementwise;
                mish Mish "mish" elementwise;
                softplus Softplus "softplus" elementwise;
                softsign Softsign "softsign" elementwise;
                shrink Shrink "shrink" elementwise;
                affine Affine "affine" elementwise;
                pow_scalar PowScalar "pow_scalar" elementwise;
                is_nan IsNan "is_nan" elementwise;
                is_inf IsInf "is_inf" elementwise;
                in_both InBoth "in_both" elementwise;
                elementwise_grad ElementwiseGrad "elementwise_grad" elementwise;
                not Not "not" elementwise;
                bitwise_not BitwiseNot "bitwise_not" elementwise;
                add Add "add" elementwise;
                sub Sub "sub" elementwise;
                mul Mul "mul" elementwise;
                div Div "div" elementwise;
                pow Pow "pow" elementwise;
                max Max "max" elementwise;
                min Min "min" elementwise;
                sum Sum "sum" composite;
                mean Mean "mean" composite;
                modulo Mod "mod" elementwise;
                bitwise_and BitwiseAnd "bitwise_and" elementwise;
                bitwise_or BitwiseOr "bitwise_or" elementwise;
                bitwise_xor BitwiseXor "bitwise_xor" elementwise;
                and And "and" elementwise;
                or Or "or" elementwise;
                xor Xor "xor" elementwise;
                bit_shift BitShift "bit_shift" elementwise;
                equal Equal "equal" elementwise;
                not_equal NotEqual "not_equal" elementwise;
                less Less "less" elementwise;
                less_or_equal LessOrEqual "less_or_equal" elementwise;
                greater Greater "greater" elementwise;
                greater_or_equal GreaterOrEqual "greater_or_equal" elementwise;
                select Where "where" elementwise;
                clip Clip "clip" elementwise;
                fma Fma "fma" composite;
                cast Cast "cast" elementwise;
                dequantize Dequantize "dequantize" lowered;
                cast_like CastLike "cast_like" composite;
                bit_cast BitCast "bit_cast" elementwise;
                glu Glu "glu" elementwise;
                bias_add BiasAdd "bias_add" composite;
                dropout Dropout "dropout" composite;
            }
            // 3.2 Movement
            movement {
                reshape Reshape "reshape" lowered;
                flatten Flatten "flatten" composite;
                squeeze Squeeze "squeeze" composite;
                unsqueeze Unsqueeze "unsqueeze" composite;
                transpose Transpose "transpose" lowered;
                expand Expand "expand" lowered;
                slice Slice "slice" lowered boxed;
                split Split "split" lowered boxed;
                concat Concat "concat" lowered;
                gather Gather "gather" lowered;
                gather_elements GatherElements "gather_elements" lowered;
                gather_nd GatherNd "gather_nd" lowered;
                scatter_elements ScatterElements "scatter_elements" lowered;
                scatter_nd ScatterNd "scatter_nd" lowered;
                scatter_places ScatterPlaces "scatter_places" lowered boxed;
                scatter_partials ScatterPartials "scatter_partials" lowered;
                scatter_sorted ScatterSorted "scatter_sorted" lowered;
                range Range "range" lowered boxed;
                pad Pad "pad" lowered boxed;
                tensor_scatter TensorScatter "tensor_scatter" lowered;
                unique_parts UniqueParts "unique_parts" host;
            }
            // 3.3 Reductions
            reduction {
                reduce_sum ReduceSum "reduce_sum" lowered;
                reduce_mean ReduceMean "reduce_mean" lowered;
                reduce_max ReduceMax "reduce_max" lowered;
                reduce_min ReduceMin "reduce_min" lowered;
                reduce_prod ReduceProd "reduce_prod" lowered;
                arg_max ArgMax "arg_max" lowered;
                arg_min ArgMin "arg_min" lowered;
                arg_top_k ArgTopK "arg_top_k" composite boxed;
                arg_sort_runs ArgSortRuns "arg_sort_runs" lowered boxed;
                cum_sum CumSum "cum_sum" composite;
                cum_prod CumProd "cum_prod" composite;
                scan_runs ScanRuns "scan_runs" lowered;
                search_sorted SearchSorted "search_sorted" lowered;
            }
            // 3.4 Matrix products
            product {
                matmul MatMul "matmul" lowered;
                linear Linear "linear" composite;
                dequantize_linear DequantizeLinear "dequantize_linear" lowered;
                grouped_matmul GroupedMatMul "grouped_matmul" lowered;
                expert_rows ExpertRows "expert_rows" lowered;
            }
            // 3.5 Convolution and pooling
            convolution {
                conv Conv "conv" lowered boxed;
                conv_transpose ConvTranspose "conv_transpose" lowered boxed;
                max_pool MaxPool "max_pool" lowered boxed;
                min_pool MinPool "min_pool" lowered boxed;
                average_pool AveragePool "average_pool" lowered boxed;
                sum_pool SumPool "sum_pool" lowered boxed;
                prod_pool ProdPool "prod_pool" lowered boxed;
                resample Resample "resample" lowered;
                non_max_suppression_parts NonMaxSuppressionParts "non_max_suppression_parts" host;
                pool_places PoolPlaces "pool_places" lowered boxed;
                pool_spread PoolSpread "pool_spread" lowered boxed;
            }
            // 3.6 Normalisation
            norm {
                layer_norm LayerNorm "layer_norm" lowered;
                rms_norm RmsNorm "rms_norm" lowered;
                batch_norm BatchNorm "batch_norm" composite;
                group_norm GroupNorm "group_norm" composite;
                instance_norm InstanceNorm "instance_norm" composite;
                batch_norm_training BatchNormTraining "batch_norm_training" composite;
                mean_variance_normalization MeanVarianceNormalization "mean_variance_normalization" composite;
                lp_normalization LpNormalization "lp_normalization" composite;
                norm_grad NormGrad "norm_grad" lowered;
                norm_sums NormSums "norm_sums" lowered;
            }
            // 3.7 Softmax, attention, position
            transformer {
                softmax Softmax "softmax" lowered;
                log_softmax LogSoftmax "log_softmax" lowered;
                attention Attention "attention" lowered boxed;
                attention_parts AttentionParts "attention_parts" lowered;
                attention_merge AttentionMerge "attention_merge" lowered;
                rotary Rotary "rotary" lowered;
                attention_grad AttentionGrad "attention_grad" lowered boxed;
            }
            // 3.8 Recurrences
            recurrence {
                linear_recurrence LinearRecurrence "linear_recurrence" lowered;
                recurrent_layer RecurrentLayer "recurrent_layer" lowered boxed;
            }
            // 3.9 Signal
            signal {
                fft Fft "fft" host;
                fft_pass FftPass "fft_pass" lowered boxed;
                fft_chirp FftChirp "fft_chirp" lowered;
            }
            // 3.10 Random numbers and choice
            random {
                random_numbers RandomNumbers "random_numbers" lowered boxed;
                sample_sorted SampleSorted "sample_sorted" lowered;
                top_k_moe_router TopKMoeRouter "top_k_moe_router" lowered boxed;
            }
            // 3.11 Losses
            loss {
                softmax_cross_entropy SoftmaxCrossEntropy "softmax_cross_entropy" composite;
            }
        }
    };
}

mod composed;
pub mod control;
pub mod convolution;
mod def;
pub mod elementwise;
pub mod gradient;
pub mod loss;
pub mod movement;
pub mod norm;
pub mod product;
pub mod random;
pub mod recurrence;
pub mod reduction;
pub mod signal;
mod simplify;
pub mod steering_samples;
pub mod transformer;

/// What an `Op` holds of an op's attributes.
macro_rules! held {
    ($Name:ident) => { $Name };
    ($Name:ident boxed) => { Box<$Name> };
}

/// The kind that a word of the list means.
macro_rules! kind {
    (leaf) => {
        OpKind::Leaf
    };
    (elementwise) => {
        OpKind::Elementwise
    };
    (composite) => {
        OpKind::Composite
    };
    (host) => {
        OpKind::Host
    };
    (lowered) => {
        OpKind::Lowered
    };
}

macro_rules! define_op {
    ($($section:ident { $($file:ident $Name:ident $text:literal $kind:ident $($boxed:ident)?;)* })*) => {
        $($(pub use $section::$file::{self, $Name};)*)*

        /// Any op with its attributes. Equality and hash go by what the op is: floats by their bits (−0 is not +0,
        /// every NaN is one), constants by a digest that is made once, and then by their bytes.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Op { $($($Name(held!($Name $($boxed)?)),)*)* }

        $($(impl From<$Name> for Op {
            fn from(op: $Name) -> Op {
                Op::$Name(op.into())
            }
        })*)*

        impl Op {
            /// Names of all ops, in list order.
            pub const NAMES: &'static [&'static str] = &[$($($text),*),*];

            /// Its name in `.ir` text.
            pub fn name(&self) -> &'static str {
                match self { $($(Op::$Name(_) => $text,)*)* }
            }

            /// Whether the type of the result is an attribute of the op of that name.
            pub fn is_typed(name: &str) -> bool {
                match name { $($($text => <$Name as OpDef>::TYPED,)*)* _ => false }
            }

            /// Names of the attributes of the op of that name; none where there is no such op.
            pub fn attribute_names(name: &str) -> &'static [&'static str] {
                match name { $($($text => <$Name as Attrs>::NAMES,)*)* _ => &[] }
            }

            /// Names of its operands.
            pub fn operand_names(&self) -> &'static [&'static str] {
                match self { $($(Op::$Name(_) => <$Name as OpDef>::OPERANDS,)*)* }
            }

            /// Names of its integer operands that steer.
            pub fn steering_operands(&self) -> &'static [&'static str] {
                match self { $($(Op::$Name(_) => <$Name as OpDef>::STEERS,)*)* }
            }

            /// How many of its first operands are factors of products.
            pub fn factors(&self) -> usize {
                match self { $($(Op::$Name(_) => <$Name as OpDef>::FACTORS,)*)* }
            }

            /// Whether its result is codes under scales, which products of it read where they lie.
            pub fn is_scaling(&self) -> bool {
                match self { $($(Op::$Name(op) => op.is_scaling(),)*)* }
            }

            /// How its factors are rounded first.
            pub fn rounding(&self) -> Rounding {
                match self { $($(Op::$Name(op) => op.rounding(),)*)* }
            }

            /// For an op with factors, the same one that rounds them so.
            pub fn with_rounding(&self, rounding: Rounding) -> Option<Op> {
                match self { $($(Op::$Name(op) => op.with_rounding(rounding),)*)* }
            }

            /// How the op of that name is differentiated; none where there is no such op.
            pub fn differentiation_of(name: &str) -> Option<Differentiation> {
                match name { $($($text => Some(<$Name as OpDef>::GRAD.kind()),)*)* _ => None }
            }

            /// How it is differentiated.
            pub fn differentiation(&self) -> Differentiation {
                match self { $($(Op::$Name(_) => <$Name as OpDef>::GRAD.kind(),)*)* }
            }

            /// Whether its float results move with an operand.
            pub fn moves_with(&self, operand: usize) -> bool {
                let still = self.differentiation() == Differentiation::Zero;
                !still && match self { $($(Op::$Name(op) => op.moves_with(operand),)*)* }
            }

            /// Whether that result moves with that operand, where it moves with any.
            pub fn result_moves_with(&self, result: usize, operand: usize) -> bool {
                match self { $($(Op::$Name(op) => op.result_moves_with(result, operand),)*)* }
            }

            /// The gradients of its operands by its rule, if it has one.
            pub(crate) fn grad(&self, cx: &GradCx<'_>) -> Option<Result<Grads, NoGrad>> {
                match self { $($(Op::$Name(op) => <$Name as OpDef>::GRAD.by_rule(op, cx),)*)* }
            }

            /// What it is to lowering.
            pub fn kind(&self) -> OpKind {
                match self { $($(Op::$Name(_) => kind!($kind),)*)* }
            }

            /// Types of its results; numbers must be in the ranges that the op states.
            pub fn infer(&self, cx: &Infer<'_>) -> Result<Types, OpError> {
                match self { $($(Op::$Name(op) => {
                    op.check_ranges()?;
                    op.infer(cx)
                })*)* }
            }

            /// The patch that puts the ops that define it in the node's place, if it is not kept.
            pub fn expand(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
                match self { $($(Op::$Name(op) => op.expand(graph, id),)*)* }
            }

            /// The patch of the ops that it is made of, also where its node stays.
            pub fn composition(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
                match self { $($(Op::$Name(op) => op.composition(graph, id),)*)* }
            }

            /// The patch that puts what it does in inference in the node's place, where that is something else.
            pub fn for_inference(&self, graph: &Graph, id: NodeId) -> Option<Patch> {
                match self { $($(Op::$Name(op) => op.for_inference(graph, id),)*)* }
            }

            /// Whether what it makes of a row follows from all rows of its batch.
            pub fn has_batch_statistics(&self) -> bool {
                match self { $($(Op::$Name(op) => op.has_batch_statistics(),)*)* }
            }

            /// What its node is more simply.
            pub fn simplify(&self, cx: &NodeCx<'_>) -> Option<Simpler> {
                match self { $($(Op::$Name(op) => op.simplify(cx),)*)* }
            }

            /// Its node over operands without the transposes that made them.
            pub fn untransposed(&self, cx: &NodeCx<'_>) -> Option<Untransposed> {
                match self { $($(Op::$Name(op) => op.untransposed(cx),)*)* }
            }

            /// Whether it stretches that operand itself.
            pub fn stretches(&self, cx: &NodeCx<'_>, operand: usize, from: ValueId) -> bool {
                match self { $($(Op::$Name(op) => op.stretches(cx, operand, from),)*)* }
            }

            /// Its scalar form, if it is elementwise.
            pub fn scalar(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
                match self { $($(Op::$Name(op) => op.scalar(cx),)*)* }
            }

            /// Whether it maps elements to elements.
            pub fn is_elementwise(&self) -> bool {
                match self { $($(Op::$Name(op) => op.is_elementwise(),)*)* }
            }

            /// Whether an element divides an integer by 0, where it may.
            pub fn zero_divisor(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
                match self { $($(Op::$Name(op) => op.zero_divisor(cx),)*)* }
            }

            /// Whether an element is in one of two axes that must be equal and not in the other.
            pub fn mismatch(&self, cx: &ScalarCx<'_>) -> Option<Reg> {
                match self { $($(Op::$Name(op) => op.mismatch(cx),)*)* }
            }

            /// Its rank-0 integer value as an expression of the frame.
            pub fn frame_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
                match self { $($(Op::$Name(op) => op.frame_value(operands),)*)* }
            }

            /// Its one integer or truth value as an expression of the frame, where no part overflows.
            pub fn truth_value(&self, operands: &[DimExpr]) -> Option<DimExpr> {
                match self { $($(Op::$Name(op) => op.truth_value(operands),)*)* }
            }

            /// For an operand of indices of one axis, which of them are in range.
            pub fn index_range(&self, cx: &NodeCx<'_>, operand: usize) -> Option<IndexRange> {
                match self { $($(Op::$Name(op) => op.index_range(cx, operand),)*)* }
            }

            /// Whether it only renames or moves elements.
            pub fn is_movement(&self) -> bool {
                match self { $($(Op::$Name(op) => op.is_movement(),)*)* }
            }

            /// The operand whose elements a result is, where they lie.
            pub fn shown_operand(&self, result: usize) -> Option<usize> {
                match self { $($(Op::$Name(op) => op.shown_operand(result),)*)* }
            }

            /// Whether no pass sees through it, and readers of its results wait for its first operand.
            pub fn is_barrier(&self) -> bool {
                match self { $($(Op::$Name(op) => op.is_barrier(),)*)* }
            }

            /// Whether elements of the first result are elements of operands, to the bit.
            pub fn moves_bits(&self) -> bool {
                match self { $($(Op::$Name(op) => op.moves_bits(),)*)* }
            }

            /// Whether kernels take its operands under any strides.
            pub fn reads_strides(&self) -> bool {
                match self { $($(Op::$Name(op) => op.reads_strides(),)*)* }
            }

            /// Whether its operands and results may be in blocks.
            pub fn handles_blocks(&self) -> bool {
                match self { $($(Op::$Name(op) => op.handles_blocks(),)*)* }
            }

            /// Whether its result of this shape is its operands one after the other.
            pub fn is_joining(&self, shape: &[DimExpr]) -> bool {
                match self { $($(Op::$Name(op) => op.is_joining(shape),)*)* }
            }

            /// Whether it decodes the elements of an operand that is stored so, one for one.
            pub fn is_decoding(&self, operand: Encoding) -> bool {
                match self { $($(Op::$Name(op) => op.is_decoding(operand),)*)* }
            }

            /// The stream of random numbers that it takes, if it draws some.
            pub fn stream(&self) -> Option<u64> {
                match self { $($(Op::$Name(op) => op.stream(),)*)* }
            }

            /// What it drops elements by of a value that it makes inside, and the extents of that value.
            pub fn drops_inside(&self, cx: &NodeCx<'_>) -> Option<(Op, Vec<DimExpr>)> {
                match self { $($(Op::$Name(op) => op.drops_inside(cx),)*)* }
            }

            /// The operand to whose elements it adds.
            pub fn adds_onto(&self) -> Option<usize> {
                match self { $($(Op::$Name(op) => op.adds_onto(),)*)* }
            }

            /// The largest value that it holds a count to.
            pub fn holds_count(&self) -> Option<i64> {
                match self { $($(Op::$Name(op) => op.holds_count(),)*)* }
            }

            /// The symbol whose value it finds.
            pub fn finds(&self) -> Option<SymbolId> {
                match self { $($(Op::$Name(op) => op.finds(),)*)* }
            }

            /// The extent that decides which of its two operands is needed.
            pub fn branches(&self) -> Option<&DimExpr> {
                match self { $($(Op::$Name(op) => op.branches(),)*)* }
            }

            /// The loop and the place of what a turn of it begins with.
            pub fn carries(&self) -> Option<(i64, usize)> {
                match self { $($(Op::$Name(op) => op.carries(),)*)* }
            }

            /// What it says of the loop that it ends.
            pub fn loops(&self) -> Option<LoopEnd<'_>> {
                match self { $($(Op::$Name(op) => op.loops(),)*)* }
            }

            /// The operand that is the state version it consumes.
            pub fn state_operand(&self) -> Option<usize> {
                match self { $($(Op::$Name(op) => op.state_operand(),)*)* }
            }

            /// The operand that becomes the whole of a state.
            pub fn whole_state(&self) -> Option<usize> {
                match self { $($(Op::$Name(op) => op.whole_state(),)*)* }
            }

            /// The operand that is read as a state.
            pub fn state_read(&self) -> Option<usize> {
                match self { $($(Op::$Name(op) => op.state_read(),)*)* }
            }

            /// As a reduction, if it is one.
            pub fn as_reduction(&self) -> Option<&dyn Reduction> {
                match self { $($(Op::$Name(op) => op.as_reduction(),)*)* }
            }

            /// The name under which a user registers its functions, if it is an op of a user.
            pub fn user_name(&self) -> Option<&str> {
                match self { $($(Op::$Name(op) => op.user_name(),)*)* }
            }

            /// The graph that it means, if it holds one.
            pub fn body(&self) -> Option<&Arc<Graph>> {
                match self { $($(Op::$Name(op) => op.body(),)*)* }
            }

            /// Attributes that are not at their defaults.
            pub fn attrs(&self) -> Vec<(&'static str, AttrValue)> {
                match self { $($(Op::$Name(op) => op.write(),)*)* }
            }

            /// Shows the integer expressions in its attributes; those of a graph that it holds are the graph's.
            pub fn visit_dims(&self, visit: &mut dyn FnMut(&DimExpr)) {
                match self { $($(Op::$Name(op) => op.visit_dims(visit),)*)* }
            }

            /// Shows the symbols that its attributes name.
            pub fn visit_symbols(&self, visit: &mut dyn FnMut(SymbolId)) {
                self.visit_dims(&mut |e| e.visit_vars(|v| v.symbol().into_iter().for_each(&mut *visit)));
            }

            /// Puts others in the places of the integer expressions in its attributes.
            pub fn map_dims(&mut self, map: &dyn Fn(&DimExpr) -> DimExpr) {
                match self { $($(Op::$Name(op) => op.map_dims(map),)*)* }
            }

            /// For a part of a loop, the same of the loop of another number.
            pub fn with_loop_number(&self, number: i64) -> Option<Op> {
                match self { $($(Op::$Name(op) => op.with_loop_number(number),)*)* }
            }

            /// For an op that draws random numbers, the same one that takes them from another stream.
            pub fn with_stream(&self, stream: u64) -> Option<Op> {
                match self { $($(Op::$Name(op) => op.with_stream(stream),)*)* }
            }

            /// The op of that name with these attributes; `None` if there is no such op.
            pub fn read(name: &str, mut attrs: AttrReader) -> Option<Result<Op, AttrError>> {
                let read = match name {
                    $($($text => <$Name as Attrs>::read(&mut attrs).map(Op::from),)*)*
                    _ => return None,
                };
                Some(read.and_then(|op| attrs.finish().map(|()| op)))
            }

            /// Samples of the op of that name.
            pub fn samples(name: &str) -> Vec<Sample> {
                match name { $($($text => <$Name as OpDef>::samples(),)*)* _ => Vec::new() }
            }
        }
    };
}
for_each_op!(define_op);

impl Op {
    /// Whether it is defined by other ops and never reaches lowering.
    pub fn is_composite(&self) -> bool {
        self.kind() == OpKind::Composite
    }

    /// Whether it is part of the program's interface and stays when nothing uses it.
    pub fn is_leaf_interface(&self) -> bool {
        matches!(self, Op::Input(_) | Op::Param(_) | Op::State(_) | Op::Scalar(_))
    }

    /// Whether it has no operands to compute from: its value comes from outside, or is written in the graph.
    pub fn is_leaf(&self) -> bool {
        self.is_leaf_interface() || matches!(self, Op::Constant(_))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Node, Op};

    /// Every node of every graph takes the memory of the largest op: one with more attributes is `boxed` in the list.
    #[test]
    fn ops_and_nodes_are_small() {
        assert!(size_of::<Op>() <= 48, "{}", size_of::<Op>());
        assert!(size_of::<Node>() <= 96, "{}", size_of::<Node>());
    }
}
