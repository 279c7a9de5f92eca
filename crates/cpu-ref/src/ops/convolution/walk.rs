//! Walking over \[batch, channels, spatial…\] with one to three spatial axes: fewer than three get leading ones of
//! extent 1, so that every loop is over three.

use pumice_types::WindowAxis;

/// Something for each of three spatial axes.
pub type Each<T> = [T; 3];

/// Extents of an array, its spatial axes as three.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    /// First axis.
    pub batch: usize,
    /// Second axis.
    pub channels: usize,
    /// The others.
    pub spatial: Each<usize>,
}

impl Volume {
    /// Of a shape of rank 3 to 5.
    pub fn of(shape: &[u64]) -> Volume {
        let spatial = three(&shape[2..], 1).map(|n| n as usize);
        Volume { batch: shape[0] as usize, channels: shape[1] as usize, spatial }
    }

    /// Where an element lies.
    pub fn at(&self, batch: usize, channel: usize, place: Each<usize>) -> usize {
        let planes = batch * self.channels + channel;
        place.into_iter().zip(self.spatial).fold(planes, |at, (i, n)| at * n + i)
    }

    /// Where an element lies, if the place is inside.
    pub fn inside(&self, batch: usize, channel: usize, place: Each<i64>) -> Option<usize> {
        let mut found = [0; 3];
        for (found, (i, n)) in found.iter_mut().zip(place.into_iter().zip(self.spatial)) {
            *found = usize::try_from(i).ok().filter(|i| *i < n)?;
        }
        Some(self.at(batch, channel, found))
    }

    /// The elements in their order: batch, channel, place.
    pub fn elements(&self) -> impl Iterator<Item = (usize, usize, Each<usize>)> + use<> {
        let Volume { batch, channels, spatial } = *self;
        let of_batch = move |b| (0..channels).flat_map(move |c| places(spatial).map(move |p| (b, c, p)));
        (0..batch).flat_map(of_batch)
    }
}

/// Every place of three axes, the last one fastest.
pub fn places([a, b, c]: Each<usize>) -> impl Iterator<Item = Each<usize>> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

/// The windows of the spatial axes as three.
pub fn windows(windows: &[WindowAxis]) -> Each<WindowAxis> {
    three(windows, WindowAxis::UNIT)
}

/// Elements before the first one, for each of three axes.
pub fn begins(of_axes: impl Iterator<Item = u64>) -> Each<u64> {
    three(&of_axes.collect::<Vec<_>>(), 0)
}

/// The taps of a window.
pub fn taps(windows: &Each<WindowAxis>) -> impl Iterator<Item = Each<usize>> + use<> {
    places(windows.map(|w| w.kernel as usize))
}

/// The taps of the window at a position that lie inside these extents. Pads are no work, however large they are.
pub fn taps_inside(
    windows: &Each<WindowAxis>,
    position: Each<usize>,
    extents: Each<usize>,
) -> impl Iterator<Item = Each<usize>> + use<> {
    let [a, b, c] = [0, 1, 2].map(|i| {
        let end = taps_before(&windows[i], position[i], extents[i] as u64);
        taps_before(&windows[i], position[i], 0).min(end)..end
    });
    a.flat_map(move |i| {
        let c = c.clone();
        b.clone().flat_map(move |j| c.clone().map(move |k| [i, j, k]))
    })
}

/// How many taps of an axis' window at a position lie before an element.
pub fn taps_before(window: &WindowAxis, position: usize, element: u64) -> usize {
    let first = i128::from(window.begin) - position as i128 * i128::from(window.stride);
    let before = (i128::from(element) + first).max(0);
    let taps = (before + i128::from(window.dilation) - 1) / i128::from(window.dilation);
    taps.min(i128::from(window.kernel)) as usize
}

/// The place under a tap of the window at a position; it may be outside.
pub fn under(windows: &Each<WindowAxis>, position: Each<usize>, tap: Each<usize>) -> Each<i64> {
    let mut place = [0; 3];
    for (i, place) in place.iter_mut().enumerate() {
        *place = windows[i].element(position[i] as u64, tap[i] as u64);
    }
    place
}

/// Up to three values with leading ones of another.
fn three<T: Copy>(values: &[T], leading: T) -> Each<T> {
    let mut all = [leading; 3];
    all[3 - values.len()..].copy_from_slice(values);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_inside_are_those_under_which_an_element_lies() {
        let mut found = 0;
        for (kernel, stride, dilation, begin) in (1..5).flat_map(|k| {
            (1..4).flat_map(move |s| (1..4).flat_map(move |d| (0..6).map(move |b| (k, s, d, b))))
        }) {
            let axis = WindowAxis { kernel, stride, dilation, begin, end: 0 };
            let windows = [WindowAxis::UNIT, axis, axis];
            for position in places([1, 4, 4]) {
                let inside = |tap: &Each<usize>| {
                    under(&windows, position, *tap).iter().zip([1, 5, 3]).all(|(at, n)| (0..n).contains(at))
                };
                let wanted: Vec<_> = taps(&windows).filter(inside).collect();
                assert_eq!(
                    taps_inside(&windows, position, [1, 5, 3]).collect::<Vec<_>>(),
                    wanted,
                    "{axis:?}"
                );
                found += wanted.len();
            }
        }
        assert!(found > 1_000, "{found}");
    }

    #[test]
    fn taps_in_pads_are_counted_not_walked() {
        let axis = WindowAxis { kernel: 1 << 40, stride: 1, dilation: 1, begin: 1 << 39, end: 1 << 39 };
        assert_eq!(taps_before(&axis, 0, 3), (1 << 39) + 3);
        assert_eq!(taps_inside(&[axis; 3], [0; 3], [2, 1, 3]).count(), 6);
    }
}
