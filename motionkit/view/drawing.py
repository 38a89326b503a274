"""Pictures without a renderer: the hulls of a robot's collision geometry, painted back to front.

Each sphere of the surface becomes a ring of points as wide as it appears; the hull of a body's
points is painted in one colour, lighter where it is nearer. Bones are lines between body origins.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, UInt8

from motionkit import rotation
from motionkit.robot import Robot
from motionkit.view.camera import Camera

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Array = np.ndarray

_TILE = 0.5  # [m], side of a square of the ground
_TILES = 12  # squares in each direction
_RING = 16  # points around a sphere
SKY, _DARK = (247, 250, 255), (205, 212, 219)
_LIGHT = (237, 240, 242)
_NEAR, _FAR = np.array([158, 178, 199]), np.array([112, 128, 145])
_EDGE, _BONE = (60, 74, 94), (38, 48, 64)
_MIN_DEPTH = 0.3  # [m]: what is nearer to the eye is not painted


def draw(
    robot: Robot,
    body_pos: Float[Array, "N B 3"],
    body_quat: Float[Array, "N B 4"],
    cameras: list[Camera],
    size: tuple[int, int],
) -> UInt8[Array, "N H W 3"]:
    """One picture a frame, of ``size`` (width, height)."""
    from PIL import Image, ImageDraw

    images = []
    for pos, quat, camera in zip(body_pos, body_quat, cameras, strict=True):
        image = Image.new("RGB", size, SKY)
        pen = ImageDraw.Draw(image)
        draw_ground(pen, camera, size)
        _bodies(pen, robot, pos, quat, camera, size)
        images.append(np.asarray(image))
    return np.stack(images)


def draw_ground(pen: "ImageDraw", camera: Camera, size: tuple[int, int]) -> None:
    """Squares that stay where they are in the world, below the horizon."""
    horizon = size[1] * (0.5 + 0.5 * np.tan(camera.elevation) / np.tan(0.5 * camera.fovy))
    pen.rectangle((0, float(horizon), *size), fill=_LIGHT)
    near = np.round(camera.lookat[:2] / _TILE).astype(int)
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]) * _TILE
    for i in range(near[0] - _TILES, near[0] + _TILES):
        for j in range(near[1] - _TILES, near[1] + _TILES):
            square = corners + np.array([i, j, 0]) * _TILE
            depth = (square - camera.lookat) @ camera.axes[2] + camera.distance
            if (i + j) % 2 and depth.min() > _MIN_DEPTH:
                pen.polygon(_points(camera.project(square, *size)[0]), fill=_DARK)


def _bodies(
    pen: "ImageDraw", robot: Robot, pos: Array, quat: Array, camera: Camera, size: tuple[int, int]
) -> None:
    surface = robot.surface
    index = surface.body_index
    center = pos[index] + rotation.rotate(quat[index], surface.center)
    pixel, scale = camera.project(center, *size)
    phase = np.linspace(0, 2 * np.pi, _RING, endpoint=False)
    ring = np.stack([np.cos(phase), np.sin(phase)], axis=1)
    outline = pixel[:, None] + (surface.radius * scale)[:, None, None] * ring
    depth = (center - camera.lookat) @ camera.axes[2]
    solid = sorted(set(index.tolist()), key=lambda b: -depth[index == b].mean())
    extent = max(float(np.ptp(depth)), 1e-9)
    for b in solid:
        own = index == b
        share = (depth[own].mean() - depth.min()) / extent
        colour = tuple(int(v) for v in _NEAR + share * (_FAR - _NEAR))
        hull = _hull(outline[own].reshape(-1, 2))
        pen.polygon(_points(hull), fill=colour, outline=_EDGE)
    joints, _ = camera.project(pos, *size)
    for b, parent in enumerate(robot.tree.parents):
        if parent >= 0:
            pen.line(_points(joints[[parent, b]]), fill=_BONE, width=max(1, size[1] // 200))


def _hull(points: Float[Array, "n 2"]) -> Float[Array, "k 2"]:
    """Corners of the convex hull in order (Andrew's monotone chain); flat sets are allowed."""
    points = np.unique(points, axis=0)
    if len(points) < 3:
        return points
    chains = []
    for ordered in (points, points[::-1]):
        chain: list[Array] = []
        for point in ordered:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        chains.extend(chain[:-1])
    return np.stack(chains)


def _turn(a: Array, b: Array, c: Array) -> float:
    """Twice the signed area of a triangle."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _points(pixels: Float[Array, "k 2"]) -> list[tuple[float, float]]:
    points = [(float(x), float(y)) for x, y in pixels]
    return points if len(points) > 1 else points * 2
