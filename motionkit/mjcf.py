"""Reading an MJCF model: compile it safely, and take out its tree, limits and collision surface."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
from jaxtyping import Float, Int

from motionkit import rotation
from motionkit.errors import AssetError
from motionkit.kinematics import Tree

if TYPE_CHECKING:
    import mujoco

Array = np.ndarray

_NOT_FINITE = re.compile(r"(?i)(?<![a-z_])[-+]?(nan|inf|infinity)(?![a-z_])")
_FILE_KEYS = frozenset(("file", *(f"file{side}" for side in ("right", "left", "up", "down",
                                                             "front", "back"))))  # fmt: skip
_MAX_INCLUDES = 8  # levels: more is taken for a circle
_RIM_POINTS = 16  # on each rim of a cylinder: its lowest point is met to 1.9% of the radius
_DIRECTIONS = 26  # support points of an ellipsoid: corners, edges and faces of a cube


@dataclass(frozen=True, slots=True)
class Surface:
    """Spheres whose union has the lowest points of the collision geometry against any plane.

    A capsule is its two end spheres, a box its corners, a mesh the vertices of its hull.
    """

    body_index: Int[Array, "P"]
    """Body that carries each sphere, ascending."""
    center: Float[Array, "P 3"]
    """Centres in the body frame [m]."""
    radius: Float[Array, "P"]
    """Radii [m]; zero for corners."""


def compile_mjcf(where: str, mjcf: bytes, folder: Path | None) -> tuple["mujoco.MjModel", bytes]:
    """Compile a model whose files all lie in its folder, and hash everything it is made of.

    Args:
        where: name for messages.
        mjcf: the file's bytes.
        folder: the file's folder; ``None`` for a bundled model, which has no files.

    Returns:
        The model, and a SHA-256 digest of the text and of every file it refers to.

    Raises:
        AssetError: malformed, not finite, refers to files outside its folder, or refused by
            MuJoCo.
    """
    import mujoco

    digest = hashlib.sha256(mjcf)
    files: list[tuple[str, str]] = []
    compiler: dict[str, str] = {}
    _check_xml(where, mjcf, folder, digest, files, compiler)
    if folder is not None:
        _hash_files(where, folder, files, compiler, digest)
    try:
        if folder is None:
            model = mujoco.MjModel.from_xml_string(mjcf.decode("utf-8"))
        else:
            model = mujoco.MjModel.from_xml_path(str(folder / where))
    except (ValueError, UnicodeDecodeError) as error:
        line = " ".join(str(error).split())
        raise AssetError(f"MuJoCo refuses the model: {line}", where=where) from None
    for field in ("body_pos", "body_quat", "jnt_axis", "jnt_pos", "jnt_range", "geom_pos", "qpos0"):
        if not np.all(np.isfinite(getattr(model, field))):
            raise AssetError(f"{field} of the compiled model is not finite", where=where)
    return model, digest.digest()


def _check_xml(
    where: str,
    text: bytes,
    folder: Path | None,
    digest: "hashlib._Hash",
    files: list[tuple[str, str]],
    compiler: dict[str, str],
    depth: int = 0,
) -> None:
    """Refuse what is not finite; collect (tag, file) of all files and the compiler's settings."""
    if depth > _MAX_INCLUDES:
        raise AssetError(f"includes nest deeper than {_MAX_INCLUDES}", where=where)
    if b"<!ENTITY" in text or b"\0" in text:
        what = "declares XML entities" if b"\0" not in text else "is not UTF-8 text"
        raise AssetError(f"the model {what}", where=where, help="save it as plain UTF-8 MJCF")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise AssetError(f"not well-formed XML: {error}", where=where) from None
    for element in root.iter():
        if element.tag == "compiler":
            compiler.update(element.attrib)
        for key, value in element.attrib.items():
            if key in _FILE_KEYS:
                if element.tag != "include":
                    files.append((element.tag, value))
            elif key not in {"name", "class"} and _NOT_FINITE.search(value):
                label = element.get("name", "without name")
                raise AssetError(f"<{element.tag}> {label}: {key} is {value!r}", where=where,
                                 help="give finite numbers")  # fmt: skip
        _require_range(where, element)
        file = element.get("file")
        if element.tag == "include" and file is not None and folder is not None:
            content = _inside(where, folder, "", "include", file).read_bytes()
            digest.update(content)
            _check_xml(file, content, folder, digest, files, compiler, depth + 1)


def _hash_files(
    where: str,
    folder: Path,
    files: list[tuple[str, str]],
    compiler: dict[str, str],
    digest: "hashlib._Hash",
) -> None:
    assets = compiler.get("assetdir", "")
    for tag, file in files:
        setting = {"texture": "texturedir", "model": ""}.get(tag, "meshdir")
        if compiler.get("strippath") == "true":
            file = Path(file).name
        content = _inside(where, folder, compiler.get(setting, assets), tag, file).read_bytes()
        digest.update(content)


def _require_range(where: str, element: ElementTree.Element) -> None:
    """Refuse a range that is none: MuJoCo would take the joint for an unlimited one."""
    text = element.get("range")
    if element.tag != "joint" or text is None or element.get("limited") == "false":
        return
    try:
        low, high = (float(word) for word in text.split())
    except ValueError:
        return  # MuJoCo itself refuses it
    if low >= high:
        raise AssetError(f"joint {element.get('name', 'without name')}: range is {text!r}",
                         where=where, help="give low and high, or leave range out")  # fmt: skip


def _inside(where: str, folder: Path, subfolder: str, tag: str, file: str) -> Path:
    """The file, which exists and lies in the folder."""
    path = (folder / subfolder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise AssetError(f"<{tag}> refers to {file}, outside the model's folder", where=where,
                         help="copy the file into the folder")  # fmt: skip
    if not path.is_file():
        raise AssetError(f"<{tag}> refers to {file}, which is missing", where=where)
    return path


def read_tree(where: str, model: "mujoco.MjModel") -> tuple[Tree, tuple[int, ...], tuple[int, ...]]:
    """The tree below the free root, with the model's ids of its joints and bodies.

    Raises:
        AssetError: the model has not exactly one free root above hinges and slides.
    """
    import mujoco

    kinds = [int(kind) for kind in model.jnt_type]
    free = [i for i, kind in enumerate(kinds) if kind == int(mujoco.mjtJoint.mjJNT_FREE)]
    ball = [i for i, kind in enumerate(kinds) if kind == int(mujoco.mjtJoint.mjJNT_BALL)]
    if ball:
        raise AssetError(f"joint {model.joint(ball[0]).name or ball[0]} is a ball joint",
                         where=where, help="use three hinges")  # fmt: skip
    if len(free) != 1 or model.jnt_qposadr[free[0]] != 0:
        raise AssetError(
            f"found {len(free)} free joints, expected one, on the first body",
            where=where,
            help="add <freejoint/> to the root body, and take objects out of the model",
        )
    root = int(model.jnt_bodyid[free[0]])
    bodies = [b for b in range(1, model.nbody) if int(model.body_rootid[b]) == root]
    index = {b: i for i, b in enumerate(bodies)}
    joints = [j for j in range(model.njnt) if j != free[0]]
    stray = [j for j in joints if int(model.jnt_bodyid[j]) not in index]
    if stray:
        raise AssetError(f"joint {model.joint(stray[0]).name} does not hang from the free root",
                         where=where)  # fmt: skip
    mats = rotation.to_matrix(rotation.normalize(model.body_quat[bodies]))
    identity = np.all(model.body_quat[bodies] == rotation.IDENTITY, axis=1)
    mats[identity] = np.eye(3)
    axes = model.jnt_axis[joints].reshape(-1, 3)
    # MuJoCo normalises axes in float64; make coordinate axes exact, so that kernels see zeros.
    axes = np.where(np.abs(axes) < 1e-15, 0.0, axes)
    tree = Tree(
        parents=tuple(-1 if b == root else index[int(model.body_parentid[b])] for b in bodies),
        pos=model.body_pos[bodies].copy(),
        mat=mats,
        joint_body=tuple(index[int(model.jnt_bodyid[j])] for j in joints),
        axis=axes,
        anchor=model.jnt_pos[joints].reshape(-1, 3).copy(),
        is_slide=tuple(kinds[j] == int(mujoco.mjtJoint.mjJNT_SLIDE) for j in joints),
        ref=np.array([model.qpos0[model.jnt_qposadr[j]] for j in joints], dtype=np.float64),
    )
    return tree, tuple(joints), tuple(bodies)


def joint_range(
    where: str, model: "mujoco.MjModel", joints: tuple[int, ...]
) -> Float[Array, "n 2"]:
    """Limits rounded inwards to float32; ±inf for unlimited joints [rad or m].

    Raises:
        AssetError: a range holds no float32 number at all.
    """
    limits = np.full((len(joints), 2), [-np.inf, np.inf])
    for i, j in enumerate(joints):
        if model.jnt_limited[j]:
            low, high = model.jnt_range[j]
            stored = np.array([low, high], dtype=np.float32)
            if stored[0] < low:
                stored[0] = np.nextafter(stored[0], np.float32(np.inf))
            if stored[1] > high:
                stored[1] = np.nextafter(stored[1], np.float32(-np.inf))
            if stored[0] > stored[1]:
                raise AssetError(
                    f"joint {model.joint(j).name} has the range [{float(low)}, {float(high)}], "
                    "which holds no float32 number", where=where,
                    help="widen it, or take the joint out",
                )  # fmt: skip
            limits[i] = stored
    return limits


def collision_surface(model: "mujoco.MjModel", bodies: tuple[int, ...]) -> Surface:
    """Spheres for every colliding geom of the bodies, in the order of the bodies."""
    index, centers, radii = [], [], []
    for i, b in enumerate(bodies):
        start = int(model.body_geomadr[b])
        for g in range(start, start + int(model.body_geomnum[b])):
            if not (model.geom_contype[g] or model.geom_conaffinity[g]):
                continue
            local, radius = _geom_spheres(model, g)
            mat = rotation.to_matrix(rotation.normalize(model.geom_quat[g]))
            centers.append(local @ mat.T + model.geom_pos[g])
            radii.append(np.full(len(local), radius))
            index.append(np.full(len(local), i))
    if not centers:
        return Surface(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros(0))
    return Surface(np.concatenate(index), np.concatenate(centers), np.concatenate(radii))


def _geom_spheres(model: "mujoco.MjModel", geom: int) -> tuple[Float[Array, "P 3"], float]:
    """Centres in the geom frame [m] and their common radius [m]."""
    import mujoco

    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    types = mujoco.mjtGeom
    if kind == int(types.mjGEOM_SPHERE):
        return np.zeros((1, 3)), float(size[0])
    if kind == int(types.mjGEOM_CAPSULE):
        return np.array([[0, 0, -size[1]], [0, 0, size[1]]]), float(size[0])
    cube = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    if kind == int(types.mjGEOM_BOX):
        return cube[np.all(cube != 0, axis=1)] * size, 0.0
    if kind == int(types.mjGEOM_CYLINDER):
        phase = np.linspace(0, 2 * np.pi, _RIM_POINTS, endpoint=False)
        rim = np.stack([np.cos(phase) * size[0], np.sin(phase) * size[0]], axis=1)
        return np.concatenate(
            [np.c_[rim, np.full(_RIM_POINTS, z)] for z in (-size[1], size[1])]
        ), 0.0
    if kind == int(types.mjGEOM_ELLIPSOID):
        directions = cube[np.any(cube != 0, axis=1)]
        assert len(directions) == _DIRECTIONS
        support = directions * size**2
        return support / np.linalg.norm(directions * size, axis=1, keepdims=True), 0.0
    if kind == int(types.mjGEOM_MESH):
        from scipy.spatial import ConvexHull

        mesh = int(model.geom_dataid[geom])
        first = int(model.mesh_vertadr[mesh])
        vertices = model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])].astype(np.float64)
        return vertices[ConvexHull(vertices).vertices], 0.0
    return np.zeros((0, 3)), 0.0  # planes, height fields: no part of a body that can touch ground
