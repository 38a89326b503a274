"""From the table to MJCF text, without MuJoCo; the same bytes on every machine.

A part with three hinges becomes three bodies at one origin: ``<Part>_x_link`` carries the first
hinge, ``<Part>_y_link`` the second, the part itself the third. Only ``+ - * / sqrt`` are used,
which IEEE 754 rounds the same everywhere, and numbers are printed with ten significant digits.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from xml.etree.ElementTree import Comment, Element, SubElement, indent, tostring

from .inertia import Inertia, solid_inertia
from .table import (
    CARRIER_FRACTION,
    CARRIER_RADIUS,
    DAMPING_RATIO,
    EFFORT_FACTOR,
    MOTORS,
    NATURAL_HZ,
    NEAR_PAIRS,
    PARTS,
    SPEED_FACTOR,
    Box,
    Capsule,
    Hinge,
    Motor,
    Part,
    Rails,
    Vector,
)

PHYSICS_HZ = 960  # docs: with implicitfast; a 30 Hz policy acts every 32 steps
_ENDS = frozenset({"Head", "Hand", "Foot", "ToeBase"})  # drawn darker
_RAILS = (-2, -1, 0, 1, 2)  # docs: five; the first is the outermost
_NOTE = (
    " Built by motionkit/assets/anatomic_soma/builder.py from table.py, which gives the source "
    "of every figure. Do not edit; build it again: motionkit robots build anatomic_soma "
)


@dataclass(frozen=True, slots=True)
class Side:
    """A part on one side of the body, as it goes into the model."""

    part: Part
    """Its entry, mirrored for the left."""
    prefix: str
    """``Right``, ``Left`` or nothing."""
    parent: str
    """Name of the parent's body; empty for the root."""

    @property
    def name(self) -> str:
        """Body name."""
        return self.prefix + self.part.name

    @property
    def bodies(self) -> tuple[str, ...]:
        """Carriers, then the part."""
        carriers = ("_x_link", "_y_link")[: max(0, len(self.part.hinges) - 1)]
        return (*(self.name + suffix for suffix in carriers), self.name)

    @property
    def joints(self) -> tuple[str, ...]:
        """Hinges from the parent outwards."""
        return tuple(f"{self.name}_{hinge.letter}" for hinge in self.part.hinges)


def walk(name: str = "Hips", prefix: str = "", parent: str = "") -> Iterator[Side]:
    """A part and all below it, depth first: the centre line, then right before left."""
    part = _part(name)
    yield Side(_mirrored(part) if prefix == "Left" else part, prefix, parent)
    children = [p for p in PARTS if p.parent == name]
    for child in sorted(children, key=lambda p: p.left_offset is not None):
        sided = child.left_offset is not None
        for side in ("Right", "Left") if sided and not prefix else (prefix,):
            yield from walk(child.name, side, prefix + name)


def motor_of(joint: str) -> Motor:
    """The class that drives a joint."""
    (motor,) = (m for m in MOTORS if any(fnmatchcase(joint, pattern) for pattern in m.joints))
    return motor


def gains(motor: Motor) -> dict[str, float]:
    """What a motor class does: kp [N m/rad], kd [N m s/rad], armature [kg m²], effort, speed.

    ``kp = armature ω²`` and ``kd = 2 ζ armature ω`` with ω = 2π · 10 Hz and ζ = 2 (docs).
    """
    omega = 2.0 * math.pi * NATURAL_HZ
    armature = EFFORT_FACTOR * motor.base_armature
    return {
        "kp": armature * omega * omega,
        "kd": 2.0 * DAMPING_RATIO * armature * omega,
        "armature": armature,
        "effort": EFFORT_FACTOR * motor.base_effort,
        "speed": SPEED_FACTOR * motor.base_speed,
    }


def build_mjcf() -> str:
    """The robot as MJCF text: its T-pose, standing on the plane z = 0, without a floor."""
    root = Element("mujoco", model="anatomic_soma")
    root.append(Comment(_NOTE))
    SubElement(root, "compiler", angle="degree", autolimits="true", inertiafromgeom="false")
    SubElement(root, "option", integrator="implicitfast", timestep=repr(1.0 / PHYSICS_HZ))
    _add_appearance(root)
    _add_defaults(root)
    _add_bodies(SubElement(root, "worldbody"))
    contact = SubElement(root, "contact")
    for first, second in _excluded():
        SubElement(contact, "exclude", body1=first, body2=second)
    actuator = SubElement(root, "actuator")
    for joint in (joint for side in walk() for joint in side.joints):
        attributes = {"name": joint, "joint": joint, "class": motor_of(joint).name}
        SubElement(actuator, "position", attributes)
    indent(root, "  ")
    return tostring(root, encoding="unicode") + "\n"


def _add_appearance(root: Element) -> None:
    visual = SubElement(root, "visual")
    SubElement(visual, "global", offwidth="1920", offheight="1080")
    SubElement(visual, "headlight", ambient="0.35 0.35 0.35", diffuse="0.5 0.5 0.5",
               specular="0.1 0.1 0.1")  # fmt: skip
    SubElement(visual, "quality", shadowsize="4096", offsamples="8")
    asset = SubElement(root, "asset")
    for name, rgba in (("body", "0.62 0.70 0.78 1"), ("end", "0.22 0.29 0.37 1")):
        SubElement(asset, "material", name=name, rgba=rgba, specular="0.3", shininess="0.4")


def _add_defaults(root: Element) -> None:
    default = SubElement(root, "default")
    SubElement(default, "geom", condim="3", friction="1 0.005 0.0001", material="body")
    SubElement(default, "joint", type="hinge", stiffness="0", damping="0")
    SubElement(default, "position", gear="1", inheritrange="1")
    for motor in MOTORS:
        value = {key: _text(figure) for key, figure in gains(motor).items()}
        own = SubElement(default, "default", {"class": motor.name})
        SubElement(own, "joint", armature=value["armature"])
        effort = f"-{value['effort']} {value['effort']}"
        SubElement(own, "position", kp=value["kp"], kv=value["kd"], forcerange=effort)


def _add_bodies(world: Element) -> None:
    """All bodies below ``world``, the root so high that the lowest sole touches z = 0."""
    elements: dict[str, Element] = {"": world}
    for side in walk():
        part, element = side.part, elements[side.parent]
        offset = part.offset if side.parent else (0.0, 0.0, _standing_height())
        inertia = _part_inertia(part)
        for index, name in enumerate(side.bodies):
            element = SubElement(element, "body", name=name)
            if index == 0:
                element.set("pos", _text(*offset))
            is_part = name == side.name
            _add_inertial(element, inertia if is_part else _carrier_inertia(part))
            if part.hinges:
                _add_hinge(element, side, part.hinges[index])
            else:
                SubElement(element, "freejoint", name="root")
        _add_geoms(element, side)
        elements[side.name] = element


def _add_inertial(body: Element, inertia: Inertia) -> None:
    xx, yy, zz, *products = inertia.about_com
    figures = {"pos": _text(*inertia.com), "mass": _text(inertia.mass)}
    if any(products):
        figures["fullinertia"] = _text(xx, yy, zz, *products)
    else:
        figures["diaginertia"] = _text(xx, yy, zz)
    SubElement(body, "inertial", figures)


def _add_hinge(body: Element, side: Side, hinge: Hinge) -> None:
    lateral = -1.0 if side.prefix == "Left" else 1.0
    axis = {"x": (0.0, lateral, 0.0), "y": (-1.0, 0.0, 0.0), "z": (0.0, 0.0, 1.0)}[hinge.letter]
    if hinge.along:
        x, y, z = _part(hinge.along).offset
        length = math.sqrt(x * x + y * y + z * z)
        axis = (x / length, y / length, z / length)
    name = f"{side.name}_{hinge.letter}"
    attributes = {"name": name, "class": motor_of(name).name, "axis": _text(*axis)}
    SubElement(body, "joint", attributes, range=_text(hinge.low, hinge.high))


def _add_geoms(body: Element, side: Side) -> None:
    shape, look = side.part.shape, {}
    if side.part.name in _ENDS:
        look = {"material": "end"}
    if isinstance(shape, Box):
        figures = {"pos": _text(*shape.center), "size": _text(*shape.half)}
        SubElement(body, "geom", {"name": side.name, "type": "box", **figures, **look})
        return
    names = [f"{side.name}_rail{i}" for i in range(len(_RAILS))]
    rails = isinstance(shape, Rails)
    for name, capsule in zip(
        names if rails else [side.name], _rails(side) if rails else [shape], strict=True
    ):
        figures = {"fromto": _text(*capsule.start, *capsule.end), "size": _text(capsule.radius)}
        SubElement(body, "geom", {"name": name, "type": "capsule", **figures, **look})


def _rails(side: Side) -> list[Capsule]:
    """The capsules of a sole, as wide and long as its box and level with its bottom."""
    shape = side.part.shape
    assert isinstance(shape, Rails)
    (x, y, z), (length, _, height) = shape.box.center, shape.box.half
    reach, level = length - shape.radius, z - height + shape.radius
    outwards = 1.0 if side.prefix == "Right" else -1.0
    across = [y + outwards * k * shape.spacing for k in _RAILS]
    return [Capsule((x - reach, v, level), (x + reach, v, level), shape.radius) for v in across]


def _carrier_inertia(part: Part) -> Inertia:
    """A small ball at the origin."""
    mass = CARRIER_FRACTION * part.mass
    moment = 0.4 * mass * CARRIER_RADIUS * CARRIER_RADIUS
    return Inertia(mass, (0.0, 0.0, 0.0), (moment, moment, moment, 0.0, 0.0, 0.0))


def _part_inertia(part: Part) -> Inertia:
    """The solid less its carriers; at rest, part and carriers keep the centre of mass."""
    carriers = max(0, len(part.hinges) - 1)
    solid = solid_inertia(part.shape, part.mass)
    rest = 1.0 - carriers * CARRIER_FRACTION
    x, y, z = solid.com
    moments = tuple(rest * value for value in solid.about_com)
    return replace(
        solid, mass=rest * part.mass, com=(x / rest, y / rest, z / rest), about_com=moments
    )


def _standing_height() -> float:
    """Height of the root origin above the lowest sole at rest [m]."""
    height: dict[str, float] = {"": 0.0}
    lowest = 0.0
    for side in walk():
        height[side.name] = height[side.parent] + side.part.offset[2]
        if isinstance(side.part.shape, Rails):
            box = side.part.shape.box
            lowest = min(lowest, height[side.name] + box.center[2] - box.half[2])
    return -lowest


def _excluded() -> list[tuple[str, str]]:
    """Pairs that never collide: parent and child, which carriers part, and near neighbours."""
    return [(side.parent, side.name) for side in walk() if side.parent] + list(NEAR_PAIRS)


def _part(name: str) -> Part:
    return next(part for part in PARTS if part.name == name)


def _mirrored(part: Part) -> Part:
    """The left twin: reflected in y = 0, with ranges for ``q_left = -q_right``."""
    assert part.left_offset is not None
    shape = part.shape
    if isinstance(shape, Capsule):
        shape = replace(shape, start=_reflect(shape.start), end=_reflect(shape.end))
    elif isinstance(shape, Box):
        shape = replace(shape, center=_reflect(shape.center))
    else:
        shape = replace(shape, box=replace(shape.box, center=_reflect(shape.box.center)))
    hinges = tuple(replace(hinge, low=-hinge.high, high=-hinge.low) for hinge in part.hinges)
    return replace(part, offset=part.left_offset, hinges=hinges, shape=shape)


def _reflect(vector: Vector) -> Vector:
    return (vector[0], -vector[1], vector[2])


def _text(*values: float) -> str:
    """Numbers with ten significant digits, without a negative zero."""
    return " ".join(f"{value + 0.0:.10g}" for value in values)
