"""Inertia of uniform solids.

A capsule of mass m, radius r and segment length L is a cylinder of mass ``mc = m L / (L + 4r/3)``
and two half balls of mass ``ms = m - mc`` together:

    axial       mc r²/2 + 2 ms r²/5
    transverse  mc (L²/12 + r²/4) + ms (2r²/5 + L²/4 + 3Lr/8)

A box of half lengths a, b, c has ``m (b² + c²)/3`` about its first axis, and so on.
"""

import math
from dataclasses import dataclass

from .table import Box, Capsule, Rails, Vector


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass properties of a body, in its own frame."""

    mass: float
    """Mass [kg]."""
    com: Vector
    """Centre of mass [m]."""
    about_com: tuple[float, ...]
    """Moments and products about it, xx yy zz xy xz yz as MJCF orders them [kg m²]."""


def solid_inertia(shape: Capsule | Box | Rails, mass: float) -> Inertia:
    """Mass properties of a uniform solid; a sole counts as its box."""
    if isinstance(shape, Capsule):
        return _capsule(shape, mass)
    box = shape.box if isinstance(shape, Rails) else shape
    aa, bb, cc = (half * half / 3.0 for half in box.half)
    moments = (mass * (bb + cc), mass * (aa + cc), mass * (aa + bb), 0.0, 0.0, 0.0)
    return Inertia(mass, box.center, moments)


def _capsule(shape: Capsule, mass: float) -> Inertia:
    r = shape.radius
    x, y, z = (b - a for a, b in zip(shape.start, shape.end, strict=True))
    length = math.sqrt(x * x + y * y + z * z)
    cylinder = mass * length / (length + 4.0 * r / 3.0)
    balls = mass - cylinder
    axial = cylinder * r * r / 2.0 + 2.0 * balls * r * r / 5.0
    transverse = cylinder * (length * length / 12.0 + r * r / 4.0) + balls * (
        2.0 * r * r / 5.0 + length * length / 4.0 + 3.0 * length * r / 8.0
    )
    ux, uy, uz = x / length, y / length, z / length
    less = axial - transverse  # inertia = transverse · 1 + (axial - transverse) · u uᵀ
    moments = (
        transverse + less * ux * ux,
        transverse + less * uy * uy,
        transverse + less * uz * uz,
        less * ux * uy,
        less * ux * uz,
        less * uy * uz,
    )
    mid_x, mid_y, mid_z = (0.5 * (a + b) for a, b in zip(shape.start, shape.end, strict=True))
    return Inertia(mass, (mid_x, mid_y, mid_z), moments)
