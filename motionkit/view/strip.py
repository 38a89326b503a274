"""A strip of frames, evenly spaced over a clip, as one PNG."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.errors import AssetError, InputError
from motionkit.robot import Robot
from motionkit.view.camera import Camera, follow
from motionkit.view.drawing import draw
from motionkit.view.gl import render
from motionkit.view.png import require_libraries, write_png

if TYPE_CHECKING:
    from PIL.Image import Image

Array = np.ndarray

Renderer = Literal["auto", "gl", "drawing"]

PANEL = (240, 320)
"""Width and height of one frame [pixels]."""

_OVERSAMPLE = 2  # rendered at so many times the size, then averaged
_IN_CONTACT = 0.5  # probability from which a contact is shown
_TARGET_RADIUS = 3.0  # [pixels]
_CONTACT_RADIUS = 5.0  # [pixels]
_TARGET_COLOUR, _CONTACT_COLOUR, _TEXT_COLOUR = (20, 140, 70), (215, 50, 40), (60, 65, 75)
_TEXT_SIZE = 14  # [pixels]
_VIEWS = {"front": 0.0, "right, ahead": 45.0, "right": 90.0}  # [degrees] to the camera, from ahead


def render_strip(
    robot: Robot,
    qpos: Float[Array, "T nq"],
    path: str | Path,
    *,
    fps: float,
    count: int = 8,
    targets: Float[Array, "T L 3"] | None = None,
    contact: Float[Array, "T K"] | None = None,
    renderer: Renderer = "auto",
) -> str:
    """Write a PNG of up to ``count`` frames, side by side, the first and the last among them.

    The camera follows the robot and keeps its direction, 55 degrees from straight ahead of the
    first frame, and its distance, at which the whole robot is in every panel. Green dots are
    targets, red rings contacts, both drawn over the picture.

    Args:
        robot: who moves.
        qpos: the poses.
        path: of the PNG; replaced whole.
        fps: frames per second, for the labels.
        count: number of frames to show.
        targets: wanted positions of landmarks in the world [m].
        contact: probability of ground contact of ``robot.contact_bodies``.
        renderer: ``gl`` renders the robot's own shapes with MuJoCo, ``drawing`` draws the hulls
            of its collision geometry and needs no driver, ``auto`` takes the first that works.

    Returns:
        What made the picture: ``egl``, ``osmesa`` or another driver, or ``drawing``.

    Raises:
        InputError: no frame, or ``count`` is not positive.
        AssetError: ``gl`` was asked for and there is no working driver; the extra ``view`` is
            not installed.
    """
    require_libraries()
    if count < 1 or not len(qpos):
        raise InputError(f"a strip of {count} frames of a clip of {len(qpos)} is empty")
    shown = np.unique(np.linspace(0, len(qpos) - 1, count).round().astype(int))
    poses = np.asarray(qpos[shown], dtype=np.float64)
    body_pos, body_quat = robot.forward(poses)
    cameras = follow(robot, poses, PANEL[0] / PANEL[1])
    labels = [f"{frame / fps:.2f} s" for frame in shown]
    panels, made_by = _panels(robot, poses, cameras, labels, renderer)
    for i, panel in enumerate(panels):
        if targets is not None:
            _dots(panel, cameras[i], targets[shown[i]])
        if contact is not None:
            on = contact[shown[i]] > _IN_CONTACT
            _rings(panel, cameras[i], _soles(robot, body_pos[i], body_quat[i])[on])
    write_png(path, np.concatenate([np.asarray(panel) for panel in panels], axis=1))
    return made_by


def render_tpose(robot: Robot, path: str | Path, *, renderer: Renderer = "auto") -> str:
    """Write a PNG of the pose that a robot's profile calls the T-pose, from three sides.

    From the front, from half right ahead and from the right; dots are the landmarks. The robot
    stands with the lowest of its soles on the ground.

    Args:
        robot: who stands.
        path: of the PNG; replaced whole.
        renderer: as for :func:`render_strip`.

    Returns:
        What made the picture.

    Raises:
        AssetError: as for :func:`render_strip`.
    """
    require_libraries()
    qpos = robot.tpose_qpos()[None]
    pos, quat = robot.forward(qpos)
    qpos[0, 2] -= min(_lowest(robot, name, pos[0], quat[0]) for name in robot.contact_bodies)
    poses = np.repeat(qpos, len(_VIEWS), axis=0)
    pos, _ = robot.forward(poses)
    cameras = follow(
        robot, poses, PANEL[0] / PANEL[1], np.radians(np.fromiter(_VIEWS.values(), float))
    )
    panels, made_by = _panels(robot, poses, cameras, list(_VIEWS), renderer)
    index = [robot.body_index(mark.body) for mark in robot.landmarks]
    for panel, camera in zip(panels, cameras, strict=True):
        _dots(panel, camera, pos[0, index])
    write_png(path, np.concatenate([np.asarray(panel) for panel in panels], axis=1))
    return made_by


def _lowest(robot: Robot, body: str, pos: Float[Array, "B 3"], quat: Float[Array, "B 4"]) -> float:
    """Height of the lowest point of a body's sole [m]."""
    center, radius = robot.sole(body)
    index = robot.body_index(body)
    return float(((pos[index] + rotation.rotate(quat[index], center))[:, 2] - radius).min())


def _panels(
    robot: Robot,
    poses: Float[Array, "N nq"],
    cameras: list[Camera],
    labels: list[str],
    renderer: Renderer,
) -> tuple[list["Image"], str]:
    """Labelled panels, and what made them."""
    size = (PANEL[0] * _OVERSAMPLE, PANEL[1] * _OVERSAMPLE)
    images, made_by = None, "drawing"
    if renderer != "drawing":
        rendered = render(robot, poses, cameras, size)
        if rendered.images is None and renderer == "gl":
            raise AssetError(f"no offscreen rendering: {rendered.cause}", help="motionkit doctor")
        if rendered.images is not None:
            images, made_by = rendered.images, rendered.renderer
    if images is None:
        images = draw(robot, *robot.forward(poses), cameras, size)
    return [_panel(image, label) for image, label in zip(images, labels, strict=True)], made_by


def _panel(image: Array, label: str) -> "Image":
    from PIL import Image, ImageDraw, ImageFont

    panel = Image.fromarray(image).resize(PANEL, Image.Resampling.BOX)
    font = ImageFont.load_default(size=_TEXT_SIZE)
    ImageDraw.Draw(panel).text((8, 6), label, fill=_TEXT_COLOUR, font=font)
    return panel


def _dots(panel: "Image", camera: Camera, points: Float[Array, "L 3"]) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(panel)
    for pixel in camera.project(points, *PANEL)[0]:
        pen.circle(tuple(pixel), _TARGET_RADIUS, fill=_TARGET_COLOUR)


def _rings(panel: "Image", camera: Camera, points: Float[Array, "k 3"]) -> None:
    from PIL import ImageDraw

    pen = ImageDraw.Draw(panel)
    for pixel in camera.project(points, *PANEL)[0]:
        pen.circle(tuple(pixel), _CONTACT_RADIUS, outline=_CONTACT_COLOUR, width=2)


def _soles(
    robot: Robot, body_pos: Float[Array, "B 3"], body_quat: Float[Array, "B 4"]
) -> Float[Array, "K 3"]:
    """Middle of each contact body's sole in the world [m]."""
    out = []
    for name in robot.contact_bodies:
        center, index = robot.sole(name)[0].mean(axis=0), robot.body_index(name)
        out.append(body_pos[index] + rotation.rotate(body_quat[index], center))
    return np.stack(out)
