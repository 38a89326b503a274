"""Symmetric positive definite band systems through LAPACK, in place and without the GIL.

Unknowns are ordered frame by frame, ``m`` a frame. Frames couple with the next two, so the
lower half-bandwidth is ``2 m``. LAPACK's lower band layout (column major, ``ab[i - j, j]``) is a
C-contiguous array ``(T m, 2 m + 1)`` here: row ``c`` holds column ``c`` from its diagonal down.

scipy's own wrapper of ``dpbtrf`` holds the GIL; the same routine through the pointer that
``scipy.linalg.cython_lapack`` exports for such use, called by ctypes, releases it.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

Array = np.ndarray

_CHUNK = 16  # frames filled at once: their blocks stay in cache


@cache
def _lapack(name: str, num_arguments: int) -> Any:
    from scipy.linalg import cython_lapack  # pyright: ignore[reportAttributeAccessIssue]

    capsule = cython_lapack.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get_pointer(capsule, get_name(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * num_arguments)(address)


def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def band_length(frames: int, size: int) -> int:
    """Numbers that the band matrix of so many frames and unknowns holds."""
    return frames * size * (2 * size + 1)


class BandMatrix:
    """A symmetric band matrix of ``frames`` diagonal blocks of ``size`` unknowns.

    Blocks of one frame are dense; frames ``t`` and ``t+1``, ``t+2`` couple each unknown with
    itself only. That is what per-body residuals and joint velocities and accelerations need.
    """

    def __init__(self, frames: int, size: int, memory: Float[Array, "N"] | None = None) -> None:
        """Take ``band_length(frames, size)`` numbers of ``memory``, or allocate them."""
        self.frames, self.size = frames, size
        self._width = 2 * size + 1
        length = band_length(frames, size)
        memory = np.empty(length) if memory is None else memory[:length]
        self._ab = memory.reshape(frames * size, self._width)
        # Entry (t, j, i) of this view is element (row i, column j) of block t for i >= j. For
        # i < j it aliases the unused far end of the row before, which `fill` sets afterwards.
        stride = self._ab.itemsize
        self._blocks = np.lib.stride_tricks.as_strided(
            self._ab,
            (frames, size, size),
            (size * self._width * stride, (self._width - 1) * stride, stride),
        )

    def fill(
        self,
        left: Float[Array, "T m k"],
        right: Float[Array, "T m k"],
        mask: Float[Array, "m m"],
        same: Float[Array, "T m"],
        next_one: Float[Array, "T m"],
        next_two: Float[Array, "T m"],
    ) -> None:
        """Set all entries.

        Args:
            left: block t is ``left[t, j] · right[t, i]`` in row i of column j, for i >= j.
            right: see ``left``.
            mask: ``[j, i]`` multiplies it; zero wherever i < j.
            same: added to the diagonal of each block.
            next_one: coupling of unknown i in frames t and t+1; the last frame's is not read.
            next_two: the same for t+2.
        """
        m = self.size
        rows = self._ab.reshape(self.frames, m, self._width)
        for start in range(0, self.frames, _CHUNK):
            at = slice(start, start + _CHUNK)
            rows[at] = 0.0
            product = np.matmul(left[at], right[at].transpose(0, 2, 1))
            np.multiply(product, mask, out=self._blocks[at])
            rows[at, :, 0] += same[at]
            rows[at, :, m] = next_one[at]
            rows[at, :, 2 * m] = next_two[at]
        rows[-1:, :, m] = 0.0
        rows[-2:, :, 2 * m] = 0.0

    def freeze(self, fixed: Bool[Array, "T m"]) -> None:
        """Replace rows and columns of the fixed unknowns by those of the identity."""
        index = np.flatnonzero(fixed.reshape(-1))
        ab = self._ab
        ab[index] = 0.0
        ab[index, 0] = 1.0
        for offset in range(1, self._width):
            above = index - offset
            above = above[above >= 0]
            ab[above, offset] = 0.0

    def multiply(self, vector: Float[Array, "T m"]) -> Float[Array, "T m"]:
        """Matrix times vector; before :meth:`factor`."""
        from scipy.linalg.blas import dsbmv  # pyright: ignore[reportAttributeAccessIssue]

        product = dsbmv(self._width - 1, 1.0, self._ab.T, vector.reshape(-1), lower=1)
        return product.reshape(vector.shape)

    def factor(self) -> bool:
        """Overwrite the matrix by its Cholesky factor; false if it is not positive definite."""
        total = len(self._ab)
        info = ctypes.c_int(0)
        _lapack("dpbtrf", 6)(
            ctypes.c_char_p(b"L"),
            _int(total),
            _int(self._width - 1),
            self._ab.ctypes.data,
            _int(self._width),
            ctypes.byref(info),
        )
        assert info.value >= 0
        return info.value == 0

    def solve(self, rhs: Float[Array, "T m"]) -> Float[Array, "T m"]:
        """Solve with the factor."""
        out = np.array(rhs, dtype=np.float64, order="C")
        total = len(self._ab)
        info = ctypes.c_int(0)
        _lapack("dpbtrs", 9)(
            ctypes.c_char_p(b"L"),
            _int(total),
            _int(self._width - 1),
            _int(1),
            self._ab.ctypes.data,
            _int(self._width),
            out.ctypes.data,
            _int(total),
            ctypes.byref(info),
        )
        assert info.value == 0
        return out
