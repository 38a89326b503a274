"""The process that renders: ``python -P gl_worker.py FOLDER``, for :mod:`motionkit.view.gl`.

Reads ``model.mjb`` and ``job.npz``, writes ``images.npy``. It needs MuJoCo and NumPy only. The
ground and the lamps are put into the scene, not into the model, so every model can be drawn.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

_TILE = 0.5  # [m], side of a square of the ground
_TILES = 14  # squares in each direction from the robot
_FAR = 60.0  # [m], half size of what lies beyond the squares
_LIGHT, _DARK = (0.93, 0.94, 0.95, 1.0), (0.80, 0.83, 0.86, 1.0)
_SKY = (0.97, 0.98, 1.0, 1.0)
_LOWER = 0.004  # [m], of the ground beyond the squares


def main(folder: Path) -> None:
    """Render every frame of the job."""
    import mujoco

    model = mujoco.MjModel.from_binary_path(str(folder / "model.mjb"))
    with np.load(folder / "job.npz") as job:
        qpos, lookat, view = job["qpos"], job["lookat"], job["view"]
        width, height = (int(v) for v in job["size"])
        model.vis.global_.fovy = float(job["fovy"])
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    model.vis.map.zfar = max(float(model.vis.map.zfar), 2 * _FAR / model.stat.extent)
    has_floor = np.any(
        (model.geom_bodyid == 0) & (model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE))
    )
    data = mujoco.MjData(model)
    camera = mujoco.MjvCamera()
    images = np.empty((len(qpos), height, width, 3), dtype=np.uint8)
    with mujoco.Renderer(model, height, width) as renderer:
        for i, row in enumerate(qpos):
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_camlight(model, data)
            camera.lookat[:] = lookat[i]
            camera.distance, camera.azimuth, camera.elevation = view[i]
            renderer.update_scene(data, camera)
            scene = renderer.scene
            if not has_floor:
                _add_ground(mujoco, scene, lookat[i])
            _add_sky(mujoco, scene, lookat[i], *np.radians(view[i, 1:]))
            _set_lights(mujoco, scene, lookat[i], np.radians(view[i, 1]))
            images[i] = renderer.render()
    np.save(folder / "images.npy", images)


def _add_box(
    mujoco: Any, scene: Any, size: Any, pos: Any, mat: Any, rgba: Any, emission: float
) -> None:
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(
        geom,
        mujoco.mjtGeom.mjGEOM_BOX,
        np.asarray(size, dtype=np.float64),
        np.asarray(pos, dtype=np.float64),
        np.asarray(mat, dtype=np.float64).ravel(),
        np.asarray(rgba, dtype=np.float32),
    )
    geom.emission, geom.specular = emission, 0.0
    scene.ngeom += 1


def _add_ground(mujoco: Any, scene: Any, center: Any) -> None:
    """Squares that stay where they are in the world, around the robot."""
    near = np.round(np.asarray(center[:2]) / _TILE).astype(int)
    for i in range(near[0] - _TILES, near[0] + _TILES):
        for j in range(near[1] - _TILES, near[1] + _TILES):
            pos = [(i + 0.5) * _TILE, (j + 0.5) * _TILE, -0.5 * _LOWER]
            size = [0.5 * _TILE, 0.5 * _TILE, 0.5 * _LOWER]
            _add_box(mujoco, scene, size, pos, np.eye(3), (_LIGHT, _DARK)[(i + j) % 2], 0.0)
    far = [center[0], center[1], -1.5 * _LOWER]
    _add_box(mujoco, scene, [_FAR, _FAR, 0.5 * _LOWER], far, np.eye(3), _LIGHT, 0.0)


def _add_sky(mujoco: Any, scene: Any, center: Any, azimuth: float, elevation: float) -> None:
    """A wall of one colour, square to the view, behind everything."""
    ahead = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth),
                      np.sin(elevation)])  # fmt: skip
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    mat = np.stack([ahead, right, np.cross(ahead, right)], axis=1)
    size = [0.01, _FAR, _FAR]
    _add_box(mujoco, scene, size, center + 0.9 * _FAR * ahead, mat, _SKY, 1.0)


def _set_lights(mujoco: Any, scene: Any, center: Any, azimuth: float) -> None:
    """The same two lamps for every model: one behind the camera, one above that throws shadows."""
    lamps = (
        ((np.cos(azimuth), np.sin(azimuth), -0.3), 0.35, 0.45, False),
        ((0.2, 0.1, -1.0), 0.0, 0.45, True),
    )
    scene.nlight = 0
    for direction, ambient, diffuse, casts_shadow in lamps:
        light = scene.lights[scene.nlight]
        light.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        light.dir[:] = np.array(direction) / np.linalg.norm(direction)
        light.pos[:] = np.asarray(center) - 4.0 * light.dir
        light.ambient[:] = ambient
        light.diffuse[:] = diffuse
        light.specular[:] = 0.1
        light.castshadow = casts_shadow
        light.headlight = False
        light.range = 20.0
        scene.nlight += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
