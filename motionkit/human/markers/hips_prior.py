"""Where the hip joints are expected, from the markers of the pelvis."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.human.markers import body

Array = np.ndarray

HIP_SIGMA = 0.008
"""Standard deviation of the regression about the truth along each axis [m]: Harrington et al. 2007
found mean errors of about 5 mm an axis in themselves, Kainz et al. 2015 up to 16 mm in all."""


@dataclass(frozen=True, slots=True)
class HipPrior:
    """Indices of the markers that the regression needs."""

    asis: tuple[int, int]
    """Left and right."""
    psis: tuple[int, ...]
    """Both, or the one on the sacrum."""

    def expected(self, place: Float[Array, "K 3"]) -> Float[Array, "2 3"]:
        """Left and right hip in the frame of the pelvis [m]."""
        from motionkit.human.markers.hips import hip_centres

        left, right = place[self.asis[0]], place[self.asis[1]]
        back = np.mean(place[list(self.psis)], axis=0)
        return np.stack(hip_centres(left, right, back))

    def residual(
        self, offsets: Float[Array, "22 3"], place: Float[Array, "K 3"], shape: body.Shape
    ) -> tuple[Float[Array, "6"], Float[Array, "6 G"]]:
        """Distance of the hips from there in standard deviations, and its derivative.

        The derivative by the places is by finite differences: the regression is smooth, and its
        nine inputs are few.
        """
        hips = [body.INDEX["left_hip"], body.INDEX["right_hip"]]
        size, num = 1 + shape.basis.shape[-1], len(place)
        at = self.expected(place)
        slope = np.zeros((2, 3, size + 3 * num))
        slope[..., 0] = shape.mean[hips]
        slope[..., 1:size] = shape.basis[hips]
        step = 1e-5  # [m]
        for k in {*self.asis, *self.psis}:
            for axis in range(3):
                other = place.copy()
                other[k, axis] += step
                slope[..., size + 3 * k + axis] -= (self.expected(other) - at) / step
        value = (offsets[hips] - at) / HIP_SIGMA
        return value.reshape(-1), slope.reshape(6, -1) / HIP_SIGMA
