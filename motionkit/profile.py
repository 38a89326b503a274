"""The profile of a robot: the TOML file that says how a model pairs with a human.

``docs/robots.md`` describes it. What is read here needs no model; names of bodies and joints are
checked where the model is known, in :mod:`motionkit.robot`.
"""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import ConfigError

_SCHEMA = 1
_REQUIRED = ("name", "landmarks", "feet")
_VALUES = ("schema", "name", "title", "forward")
_PAIRING = ("budget", "landmarks", "feet", "tpose")
_TRAINING = ("mirror", "motors", "anchor", "track")
_STAGES = ("clip", "read", "human", "retarget", "audit")  # settings of the commands
_TABLES = (*_PAIRING, *_TRAINING, *_STAGES)
_BUDGET = ("max_velocity", "max_acceleration")
_WEIGHTS = ("position_weight", "rotation_weight")
_SIDES = ("left", "right")
_FOOT = ("heel", "toe")
_SEE = "docs/robots.md lists the tables of a profile"


@dataclass(frozen=True, slots=True)
class JointBudget:
    """Caps on joint motion that a reference must keep."""

    max_velocity: float = 20.0
    """Largest joint speed [rad/s]."""
    max_acceleration: float = 300.0
    """Largest joint acceleration [rad/s²]."""

    def __post_init__(self) -> None:
        """Both caps are positive."""
        if not (self.max_velocity > 0 and self.max_acceleration > 0):
            raise ConfigError(f"joint budgets must be positive, found {self}")


@dataclass(frozen=True, slots=True)
class Landmark:
    """A robot body that stands for a joint of the human."""

    human: str
    """Joint of :data:`motionkit.clip.SMPLH_JOINTS`."""
    body: str
    """Robot body, whose origin is the landmark."""
    position_weight: float
    """Relative weight of its position."""
    rotation_weight: float
    """Relative weight of its orientation."""
    mount: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Orientation (wxyz) of the body when the robot stands in the T-pose facing +X."""


@dataclass(frozen=True, slots=True)
class Foot:
    """The two bodies of a foot that meet the ground."""

    heel: str
    """Body that pairs with the human ankle."""
    toe: str
    """Body that pairs with the human toe base; the same as ``heel`` for a one-piece foot."""


def parse_profile(where: str, text: bytes) -> dict[str, Any]:
    """The profile as tables of which none is unknown and none is missing.

    Raises:
        ConfigError: not TOML, another schema, or a table or key that is unknown or missing.
    """
    try:
        profile = tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the profile is not valid TOML: {error}", where=where) from None
    if profile.get("schema") != _SCHEMA:
        raise ConfigError(
            f"the profile has schema {profile.get('schema')!r}, expected {_SCHEMA}",
            where=where,
            help=f"write schema = {_SCHEMA} at the top of the profile",
        )
    _require_known(profile, (*_VALUES, *_TABLES), where)
    if missing := [key for key in _REQUIRED if key not in profile]:
        raise ConfigError(f"the profile lacks {', '.join(missing)}", where=where, help=_SEE)
    for key in _TABLES:
        require_table(profile.get(key, {}), f"[{key}]", where)
    _require_known(profile.get("budget", {}), _BUDGET, f"{where}: [budget]")
    _require_known(profile["feet"], _SIDES, f"{where}: [feet]")
    return profile


def read_budget(where: str, table: Mapping[str, Any]) -> JointBudget:
    """Caps of the table ``[budget]``.

    Raises:
        ConfigError: a cap is no positive number.
    """
    return JointBudget(
        **{key: number(value, f"{where}: [budget] {key}") for key, value in table.items()}
    )


def read_feet(where: str, table: Mapping[str, Any]) -> tuple[Foot, Foot]:
    """Left and right foot of the table ``[feet]``.

    Raises:
        ConfigError: a side or its heel is missing, or a key is unknown.
    """
    feet = []
    for side in _SIDES:
        foot = table.get(side)
        if not isinstance(foot, dict):
            raise ConfigError(f"the profile lacks [feet.{side}] with the key heel", where=where)
        _require_known(foot, _FOOT, f"{where}: [feet.{side}]")
        if "heel" not in foot:
            raise ConfigError(f"the profile lacks [feet.{side}] with the key heel", where=where)
        feet.append(Foot(str(foot["heel"]), str(foot.get("toe", foot["heel"]))))
    return feet[0], feet[1]


def read_landmark(where: str, body: str, table: Any) -> Landmark:
    """The table ``[landmarks.<body>]``, as yet without a mount.

    Raises:
        ConfigError: the human joint or a key is unknown, or a weight is no number from 0.
    """
    require_table(table, f"[landmarks.{body}]", where)
    _require_known(table, ("human", *_WEIGHTS), f"{where}: [landmarks.{body}]")
    human = table.get("human")
    if human not in SMPLH_JOINTS:
        raise ConfigError(f"landmark {body} pairs with {human!r}", where=where,
                          help=_suggest(str(human), SMPLH_JOINTS, "human is one of"))  # fmt: skip
    position, turn = (
        number(table.get(key, 1.0), f"{where}: [landmarks.{body}] {key}", low=0.0)
        for key in _WEIGHTS
    )
    return Landmark(human, body, position, turn)


def require_table(value: Any, name: str, where: str) -> None:
    """Refuse a value where a table belongs.

    Raises:
        ConfigError: naming the table.
    """
    if not isinstance(value, dict):
        raise ConfigError(f"{name} is no table", where=where, help=_SEE)


def number(value: Any, where: str, low: float = -np.inf) -> float:
    """A finite number of at least ``low``.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < np.inf:
        least = "" if low == -np.inf else f" of at least {low:g}"
        raise ConfigError(f"found {value!r}, expected a finite number{least}", where=where)
    return float(value)


def _require_known(keys: Iterable[str], known: tuple[str, ...], where: str) -> None:
    for key in keys:
        if key not in known:
            raise ConfigError(f"unknown key: {key}", where=where,
                              help=_suggest(key, known, "the keys are"))  # fmt: skip


def _suggest(name: str, known: Iterable[str], intro: str) -> str:
    known = list(known)
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1)
    start = f"did you mean {near[0]}? " if near else ""
    return f"{start}{intro}: {', '.join(known)}"
