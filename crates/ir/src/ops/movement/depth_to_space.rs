//! Blocks of pixels as channels and back, as compositions: `depth_to_space`, `space_to_depth`.

use crate::attr::AttrError;
use crate::builder::{GraphBuilder, Value};
use crate::error::OpError;
use crate::infer::Infer;
use crate::ops::Reshape;
use crate::shape::display_dim;
use pumice_types::DimExpr;

/// How the channels of a block lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DepthOrder {
    /// The place in the block first, then the channel (DCR).
    #[default]
    PlaceFirst,
    /// The channel first, then the place in the block (CRD; PyTorch pixel_shuffle).
    ChannelFirst,
}

impl DepthOrder {
    /// Both of them.
    pub const ALL: [DepthOrder; 2] = [DepthOrder::PlaceFirst, DepthOrder::ChannelFirst];
}

/// Extents of an image and of its blocks.
struct Blocks {
    batch: DimExpr,
    /// Channels of the image that has the pixels apart.
    channels: DimExpr,
    /// Rows and columns of blocks.
    blocks: [DimExpr; 2],
    size: DimExpr,
}

/// The part of an extent; it is an error that there is none.
fn part(cx: &Infer<'_>, axis: usize, by: u64) -> Result<DimExpr, OpError> {
    let extent = &cx.ty(0)?.shape[axis];
    extent.exact_quotient(&DimExpr::from(by)).ok_or_else(|| {
        let shown = display_dim(extent, cx.symbols());
        OpError::Invalid(format!("axis {axis} of `x`, {shown}, is not known to be a multiple of {by}; write a symbolic one as {by} times another"))
    })
}

/// The square of a block's side, which an extent may have.
fn square(blocksize: u64) -> Result<u64, OpError> {
    let square = blocksize.checked_mul(blocksize).filter(|&n| n > 0 && n <= i32::MAX as u64);
    square.ok_or_else(|| {
        let reason = format!("{blocksize} is no side of a block");
        AttrError::Value { name: "blocksize", reason }.into()
    })
}

impl GraphBuilder {
    /// Channels as blocks of pixels (ONNX DepthToSpace; `ChannelFirst`: PyTorch pixel_shuffle): x\[B, C, H, W\] →
    /// \[B, C/s², H·s, W·s\] of the same dtype; pixel (h·s + i, w·s + j) of channel c is x\[b, (i·s + j)·C/s² + c, h,
    /// w\], or with `ChannelFirst` x\[b, (c·s + i)·s + j, h, w\]. s² must divide C. Any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::depth_to_space::DepthOrder;
    /// let g = GraphBuilder::new("g");
    /// let x = g.input("x", f32([1, 12, 16, 16]));
    /// g.output("image", g.depth_to_space(x, 2, DepthOrder::ChannelFirst));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn depth_to_space(&self, x: Value, blocksize: u64, order: DepthOrder) -> Value {
        let parts = |cx: &Infer<'_>| Ok((part(cx, 1, square(blocksize)?)?, cx.ty(0)?.shape.to_vec()));
        let (channels, shape) = match self.blocks("depth_to_space", x, parts) {
            Ok(found) => found,
            Err(mistake) => return mistake,
        };
        let [batch, _, rows, columns] = four(shape);
        let of = Blocks { batch, channels, blocks: [rows, columns], size: blocksize.into() };
        let g = self.composition("depth_to_space");
        let apart = g.reshape_to(x, of.deep(order));
        let [batch, channel, row, i, column, j] = deep_axes(order);
        let shape = vec![
            of.batch.clone(),
            of.channels.clone(),
            &of.blocks[0] * of.size.clone(),
            &of.blocks[1] * of.size.clone(),
        ];
        let moved = g.transpose(apart, &[batch, channel, row, i, column, j]);
        g.last().apply(Reshape { shape }, &[moved])
    }

    /// Blocks of pixels as channels (ONNX SpaceToDepth; `ChannelFirst`: PyTorch pixel_unshuffle): x\[B, C, H, W\] →
    /// \[B, C·s², H/s, W/s\] of the same dtype, what [`depth_to_space`](crate::GraphBuilder::depth_to_space) takes
    /// back. s must divide H and W. Any dtype.
    ///
    /// ```
    /// # use pumice_ir::{GraphBuilder, f32};
    /// # use pumice_ir::ops::depth_to_space::DepthOrder;
    /// let g = GraphBuilder::new("g");
    /// let image = g.input("image", f32([1, 3, 32, 32]));
    /// g.output("y", g.space_to_depth(image, 2, DepthOrder::PlaceFirst));
    /// assert_eq!(g.build()?.outputs().len(), 1);
    /// # Ok::<(), pumice_ir::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn space_to_depth(&self, x: Value, blocksize: u64, order: DepthOrder) -> Value {
        let parts = |cx: &Infer<'_>| {
            square(blocksize)?;
            Ok(([part(cx, 2, blocksize)?, part(cx, 3, blocksize)?], cx.ty(0)?.shape.to_vec()))
        };
        let (blocks, shape) = match self.blocks("space_to_depth", x, parts) {
            Ok(found) => found,
            Err(mistake) => return mistake,
        };
        let [batch, channels, ..] = four(shape);
        let of = Blocks { batch, channels, blocks, size: blocksize.into() };
        let g = self.composition("space_to_depth");
        let [rows, columns] = of.blocks.clone();
        let size = || of.size.clone();
        let wide = vec![of.batch.clone(), of.channels.clone(), rows, size(), columns, size()];
        let apart = g.reshape_to(x, wide);
        let mut back = [0; 6];
        for (place, axis) in deep_axes(order).into_iter().enumerate() {
            back[axis as usize] = place as i64;
        }
        let [rows, columns] = of.blocks.clone();
        let shape = vec![of.batch.clone(), &of.channels * (size() * size()), rows, columns];
        let moved = g.transpose(apart, &back);
        g.last().apply(Reshape { shape }, &[moved])
    }

    /// What the rule finds of an image, which has four axes.
    #[track_caller]
    fn blocks<T>(
        &self,
        method: &'static str,
        x: Value,
        rule: impl FnOnce(&Infer<'_>) -> Result<T, OpError>,
    ) -> Result<T, Value> {
        let mut found = None;
        self.checked_operands(method, &["x"], &[x], |cx| {
            cx.expect_rank(0, 4)?;
            found = Some(rule(cx)?);
            Ok(())
        })?;
        Ok(found.expect("the rule has accepted the operand"))
    }
}

impl Blocks {
    /// Extents of the channels apart: the place in the block, and the channel of the pixel.
    fn deep(&self, order: DepthOrder) -> Vec<DimExpr> {
        let [batch, channels, size] = [&self.batch, &self.channels, &self.size].map(Clone::clone);
        let [rows, columns] = self.blocks.clone();
        match order {
            DepthOrder::PlaceFirst => vec![batch, size.clone(), size, channels, rows, columns],
            DepthOrder::ChannelFirst => vec![batch, channels, size.clone(), size, rows, columns],
        }
    }
}

/// Where batch, channel, row of blocks, row in the block, column of blocks, column in it lie among the axes of
/// [`Blocks::deep`].
fn deep_axes(order: DepthOrder) -> [i64; 6] {
    match order {
        DepthOrder::PlaceFirst => [0, 3, 4, 1, 5, 2],
        DepthOrder::ChannelFirst => [0, 1, 4, 2, 5, 3],
    }
}

fn four(shape: Vec<DimExpr>) -> [DimExpr; 4] {
    shape.try_into().expect("the rule has counted the axes")
}
