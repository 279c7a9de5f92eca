//! Arrays of the `ndarray` crate as tensors, and back. In: an array in row-major order. Out: a view of the same
//! elements, or a tensor's elements as an array. Nothing is copied on the way in.

use crate::tensor::{Element, Tensor, TensorError, TensorView};
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

impl<'a, T: Element, S: Data<Elem = T>, D: Dimension> TryFrom<&'a ArrayBase<S, D>> for TensorView<'a> {
    type Error = TensorError;

    /// # Errors
    /// [`TensorError::NotContiguous`] for an array whose elements do not lie in row-major order without gaps
    /// (`as_standard_layout` makes one that does), [`TensorError::Rank`] for more than eight axes.
    fn try_from(array: &'a ArrayBase<S, D>) -> Result<TensorView<'a>, TensorError> {
        let values = array.as_slice().ok_or(TensorError::NotContiguous)?;
        let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
        TensorView::of(values, &shape)
    }
}

impl Tensor {
    /// The elements as an array of the tensor's shape.
    ///
    /// # Errors
    /// [`TensorError::DType`] if `T` is not the tensor's dtype, [`TensorError::TooLarge`] for a shape that this
    /// machine cannot count.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>, TensorError> {
        let too_large = || TensorError::TooLarge { shape: self.shape().to_vec() };
        let shape = self.shape().iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>();
        let shape = shape.map_err(|_| too_large())?;
        ArrayD::from_shape_vec(IxDyn(&shape), self.to_vec::<T>()?).map_err(|_| too_large())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn arrays_are_views_and_come_back() {
        let a: Array2<f32> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let view = TensorView::try_from(&a).expect("row-major");
        assert_eq!(view.shape(), [2, 3]);
        let back = view.to_tensor().and_then(|t| t.to_ndarray::<f32>()).expect("the same");
        assert_eq!(back, a.clone().into_dyn());
        assert!(matches!(TensorView::try_from(&a.t()), Err(TensorError::NotContiguous)));
        assert!(view.to_tensor().expect("whole").to_ndarray::<i32>().is_err());
    }
}
