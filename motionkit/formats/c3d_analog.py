"""Analog channels and force plates of a C3D file, scaled as its parameters say.

``value = (stored - OFFSET) · SCALE · GEN_SCALE``, per channel. What the parameters leave out or say
twice is a note, never a failure: a motion does not depend on it. (The C3D User Guide, Motion Lab
Systems, 2021, "The ANALOG Group", "The FORCE_PLATFORM Group".)
"""

import numpy as np
from jaxtyping import Float

from motionkit.clip import Analog, ForcePlate, Note
from motionkit.formats.c3d_data import Layout, read_analog_counts
from motionkit.formats.c3d_file import C3dFile
from motionkit.formats.source import Source

Array = np.ndarray

SAME_RATE = 1e-3
"""Relative difference below which ``ANALOG:RATE`` and the samples per frame agree."""
WRAP = 65536.0
"""What a 16-bit integer without sign has more than the one with sign of the same bits."""
CALIBRATED = 4
"""Types of force plates from which on ``CAL_MATRIX`` counts."""


def read_analog(
    source: Source, file: C3dFile, layout: Layout, fps: float
) -> tuple[Analog | None, list[Note]]:
    """The channels beside the points; none where there are none or their number is not whole.

    Args:
        source: the file.
        file: its header and parameters.
        layout: its data.
        fps: of the points, settled; channels have a whole multiple of it.
    """
    if layout.num_analog == 0:
        return None, []
    samples = max(file.header.num_samples, 1)
    channels, rest = divmod(layout.num_analog, samples)
    if rest:
        text = f"{layout.num_analog} analog values a frame are no multiple of {samples} samples"
        return None, [_note(f"{text}; channels are left out")]
    notes = []
    used = file.count("ANALOG", "USED")
    if np.isfinite(used) and used != channels:
        notes.append(_note(f"ANALOG:USED says {used:g} channels, the header {channels}, taken"))
    rate, stated = fps * samples, file.number("ANALOG", "RATE")
    if np.isfinite(stated) and abs(stated / rate - 1.0) > SAME_RATE:
        text = f"ANALOG:RATE says {stated:g}, {samples} samples a frame make {rate:g}, taken"
        notes.append(_note(text))
    is_signed = not file.text("ANALOG", "FORMAT").upper().startswith("UNSIGNED")
    offset = _per_channel(file, "OFFSET", channels, 0.0, notes)
    general = file.number("ANALOG", "GEN_SCALE")
    scale = _per_channel(file, "SCALE", channels, 1.0, notes)
    scale = scale * (general if np.isfinite(general) else 1.0)
    if not (np.isfinite(scale).all() and np.isfinite(offset).all()):
        return None, [*notes, _note("ANALOG:SCALE or OFFSET is no number; channels are left out")]
    values = read_analog_counts(source, layout, channels, signed=is_signed)
    offset = _without_sign(offset, values, is_signed, layout.is_float, notes)
    with np.errstate(invalid="ignore"):  # channels may hold infinities, which nothing here uses
        values = (values - offset) * scale
    labels = _channel_labels(file, channels)
    units = (*file.texts("ANALOG", "UNITS"), *[""] * channels)[:channels]
    return Analog(rate, labels, units, values), notes


def read_plates(file: C3dFile, analog: Analog | None) -> tuple[list[ForcePlate], list[Note]]:
    """Force plates, corners and origins in units and axes of the file.

    Plates without place or whose channels are not there are left out with a note.
    """
    used = file.count("FORCE_PLATFORM", "USED")
    types = file.numbers("FORCE_PLATFORM", "TYPE")
    count = min(int(used), len(types)) if np.isfinite(used) and used > 0 else 0
    if not count:
        return [], []
    corners = _columns(file, "CORNERS", 12, count)
    origins = _columns(file, "ORIGIN", 3, count)
    parameter = file.parameters.get(("FORCE_PLATFORM", "CHANNEL"))
    width = parameter.dims[0] if parameter and parameter.dims else 0
    channels = _columns(file, "CHANNEL", width, count)
    plates, faults = [], []
    for i in range(count):
        fault = ""
        labels: list[str] = []
        numbers = [] if channels is None else [int(n) for n in np.nan_to_num(channels[i])]
        if corners is None or origins is None:
            fault = "has no corners or origin"
        elif not (np.isfinite(corners[i]).all() and np.isfinite(origins[i]).all()):
            fault = "has corners that are no numbers"
        elif np.ptp(corners[i].reshape(4, 3), axis=0).max() == 0.0:
            fault = "has all corners in one place"
        elif analog is None or not numbers:
            fault = "has no channels"
        elif not all(1 <= n <= len(analog.labels) for n in numbers):
            fault = f"has channels {numbers}, there are {len(analog.labels)}"
        else:
            labels = [analog.labels[n - 1] for n in numbers]
        if fault or corners is None or origins is None:
            faults.append(f"force plate {i + 1} {fault}")
            continue
        kind = int(types[i])
        matrix = _calibration(file, i, count) if kind >= CALIBRATED else None
        square = corners[i].reshape(4, 3)
        plates.append(ForcePlate(kind, square, origins[i], tuple(labels), matrix))
    if faults:
        return plates, [_note("; ".join(faults) + "; left out")]
    return plates, []


def _per_channel(
    file: C3dFile, name: str, channels: int, default: float, notes: list[Note]
) -> Float[Array, "A"]:
    """A parameter's value for each channel; channels that it leaves out have the default."""
    found = file.numbers("ANALOG", name)
    if len(found) >= channels:
        return found[:channels]
    text = f"ANALOG:{name} has {len(found)} values for {channels} channels; others take {default:g}"
    notes.append(_note(text))
    return np.concatenate([found, np.full(channels - len(found), default)])


def _without_sign(
    offset: Float[Array, "A"],
    values: Float[Array, "S A"],
    is_signed: bool,
    is_float: bool,
    notes: list[Note],
) -> Float[Array, "A"]:
    """Offsets of counts without sign, which parameters hold as integers with one.

    ``FORMAT`` says so; or floats do, which it does not speak of: a channel rests near its offset,
    and counts about 32768 do not have one of -32768.
    """
    wraps = offset < 0
    if is_signed:
        if not (is_float and wraps.any()):
            return offset
        with np.errstate(invalid="ignore"):
            rest = np.median(values, axis=0)
            wraps &= np.abs(rest - offset - WRAP) < np.abs(rest - offset)
        if wraps.any():
            text = f"ANALOG:OFFSET of {wraps.sum()} channels is taken without sign, as values are"
            notes.append(_note(text))
    return np.where(wraps, offset + WRAP, offset)


def _channel_labels(file: C3dFile, channels: int) -> tuple[str, ...]:
    """Names of the channels, each once: a plate finds its own by name."""
    given = file.texts("ANALOG", "LABELS")
    labels: list[str] = []
    seen: set[str] = set()
    for i in range(channels):
        plain = (given[i] if i < len(given) else "") or f"channel {i + 1}"
        label, number = plain, 2
        while label in seen:
            label, number = f"{plain}#{number}", number + 1
        seen.add(label)
        labels.append(label)
    return tuple(labels)


def _columns(file: C3dFile, name: str, width: int, count: int) -> Float[Array, "n w"] | None:
    """A parameter of the force plates, a row a plate; None where it is too short."""
    values = file.numbers("FORCE_PLATFORM", name)
    if width == 0 or len(values) < width * count:
        return None
    return values[: width * count].reshape(count, width)


def _calibration(file: C3dFile, plate: int, count: int) -> Float[Array, "R C"] | None:
    """``CAL_MATRIX`` of one plate: stored by columns, unless ``MATRIX_STORE`` says by rows."""
    parameter = file.parameters.get(("FORCE_PLATFORM", "CAL_MATRIX"))
    if parameter is None or len(parameter.dims) < 2:
        return None
    rows, columns = parameter.dims[:2]
    values = _columns(file, "CAL_MATRIX", rows * columns, count)
    if values is None or not np.isfinite(values[plate]).all():
        return None
    by_row = file.text("FORCE_PLATFORM", "MATRIX_STORE").upper() == "BYROW"
    return values[plate].reshape((rows, columns), order="C" if by_row else "F")


def _note(text: str) -> Note:
    return Note("MK181", text)
