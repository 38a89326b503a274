"""The whole fit: recognise, start, shape from chosen frames, pose of all frames, checks.

The order follows what each step needs: the shape is fitted together with the poses of at most
:data:`KEY_FRAMES` frames, then every frame's pose with the shape held. Markers that turn out to
have changed places are put right, said so, and the fit is done again.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from motionkit.clip import MarkerClip, Note, slice_frames
from motionkit.errors import InputError
from motionkit.human.body import MAX_STATURE, MIN_STATURE
from motionkit.human.markers import body, gaps, swaps
from motionkit.human.markers.config import MarkerConfig
from motionkit.human.markers.hips_prior import HipPrior
from motionkit.human.markers.objective import Markers, Pose, Terms, Weights
from motionkit.human.markers.person import as_human
from motionkit.human.markers.quality import check_hips, residual_notes
from motionkit.human.markers.result import MarkerFit
from motionkit.human.markers.sets import Recognition, SetMarker, recognise
from motionkit.human.markers.shape import ShapeFit, Subject, fit_shape, joint_sigma
from motionkit.human.markers.start import first_pose, first_stature, mirror_gain
from motionkit.human.markers.track import track

Array = np.ndarray

KEY_FRAMES = 60
"""Frames from which shape and places are fitted."""
STATIC_FRAMES = 10
"""Frames of a static trial that go with them."""
ROBUST = 3.0
"""Standard deviations at which the loss turns, at least."""
LEAST_SIGMA = 0.002
"""Least standard deviation of a marker about its place [m], whatever the residuals say."""
FEW = 0.05
"""Share of frames up to which an exchange cannot have spoilt the shape."""
ROUNDS = 4
"""How often exchanged markers are looked for."""
MIRRORED = 0.6
"""Share of the residual that a mirror image must leave at most, to be told."""
JOINT_SIGMA = 0.004
"""Standard deviation of the place of a point that is a joint's centre by the reader's word [m]."""
USUAL_STATURE = (0.9, 2.4)
"""Statures [m] from a child of three to the tallest people; others are noted."""
PEOPLE = 3.0
"""Number of independent poses that the frames of one clip are worth."""


def fit_markers(
    clip: MarkerClip, config: MarkerConfig | None = None, *, static: MarkerClip | None = None
) -> MarkerFit:
    """The person whose body and motion explain the markers best.

    Stature, proportions, places of the markers on their parts and the poses are fitted together,
    with a robust loss. Frames beyond gaps that are too long to bridge are left out, with a note.

    Args:
        clip: of markers or joint centres.
        config: settings.
        static: a calibration trial of the same subject with the same markers, perhaps more of them.

    Raises:
        ConfigError: a marker map or the name of a set is wrong.
        InputError: labels tell no body, no stretch of frames shows one, or it is mirrored.
    """
    config = MarkerConfig() if config is None else config
    where = clip.provenance.path
    found = _recognise(clip, static, config)
    problem = _Problem.make(clip, static, found, where)
    shown = gaps.find_shown(problem.markers)
    kept = gaps.choose_interval(shown, config.max_gap, clip.fps)
    if kept.stop - kept.start < 1:
        raise InputError(
            f"no frame shows a body: {kept.reason}",
            where=where,
            help="raise --max-gap, or give a marker map that names more markers",
        )
    notes = list(found.notes)
    if kept.reason:
        frames = clip.num_frames
        text = f"frames [{kept.start}, {kept.stop}) of {frames} are kept: {kept.reason}"
        notes.append(Note("MK171", text, (kept.stop - kept.start) / frames))
    problem = replace(problem, markers=problem.markers.frames(slice(kept.start, kept.stop)))
    solved, more = _solve(problem, config, clip.fps, where)
    more += _stature_notes(solved.subject, where)
    kept_clip = slice_frames(clip, kept.start, kept.stop)
    shown = gaps.find_shown(solved.markers)
    checks, hip_notes = check_hips(solved.terms, solved.subject, problem.hips)
    more += [*residual_notes(problem.labels, solved.terms), *hip_notes]
    if not solved.converged:
        more.append(Note("MK175", "the fit of the markers was stopped before it converged"))
    human = as_human(kept_clip, solved.subject, solved.pose, shown.joints,
                     notes=[*notes, *more])  # fmt: skip
    pos = np.where(solved.markers.seen[..., None], solved.markers.pos, np.nan)
    return MarkerFit(
        human=human,
        marker_set=found.marker_set.name,
        labels=problem.labels,
        unmapped=found.unmapped,
        segments=tuple(body.JOINTS[i] for i in problem.markers.part),
        offset=solved.subject.place,
        pos_w=pos,
        model_pos_w=solved.terms.model,
        weight=solved.terms.robust,
        joint_sigma=np.where(shown.joints, joint_sigma(solved.shape_fit, problem.hips), np.nan),
        hips=checks,
        first_frame=kept.start,
        filled=gaps.filled_share(shown),
    )


def _stature_notes(subject: Subject, where: str) -> list[Note]:
    """A note where a body is hardly a person's.

    Raises:
        InputError: it is none at all.
    """
    height = body.stature_of(subject.offsets)
    if not MIN_STATURE <= height <= MAX_STATURE:
        raise InputError(
            f"the body that fits the markers stands {height:.3g} m tall, people {MIN_STATURE:g} to "
            f"{MAX_STATURE:g}",
            where=where,
            help="give the length of the file's unit in metres with --scale",
        )
    low, high = USUAL_STATURE
    if low <= height <= high:
        return []
    text = f"limbs of a stature of {height:.3g} m, people have {low:g} to {high:g} m"
    return [Note("MK114", text, height, "m")]


@dataclass(frozen=True, slots=True)
class _Problem:
    """The markers of a clip on their parts."""

    labels: tuple[str, ...]
    """Of the markers that take part (K)."""
    markers: Markers
    """Of the clip."""
    static: Markers | None
    """Of some frames of a static trial."""
    nominal: Float[Array, "K 3"]
    """Expected places per metre of stature."""
    sigma: Float[Array, "K"]
    """Standard deviations of them [m]."""
    near: Int[Array, "K"]
    """Joint that each place keeps its distance from."""
    hips: HipPrior | None
    """Where hip joints are expected."""
    are_joints: bool
    """Whether most points are joint centres, so that they show proportions."""

    @classmethod
    def make(
        cls, clip: MarkerClip, static: MarkerClip | None, found: Recognition, where: str
    ) -> "_Problem":
        """Pair markers with parts.

        Raises:
            InputError: too few markers are ever seen.
        """
        own = set(np.array(clip.labels)[clip.visible.any(axis=0)])
        if static is not None:
            own |= set(np.array(static.labels)[static.visible.any(axis=0)])
        labels = tuple(label for label in found.markers if label in own)
        if len(labels) < gaps.LEAST_MARKERS:
            raise InputError(f"only {len(labels)} mapped markers are ever seen", where=where,
                             help="motionkit inspect shows what is seen")  # fmt: skip
        known = [found.markers[label] for label in labels]
        part = np.array([body.INDEX[marker.segment] for marker in known])
        rest = None
        if static is not None:
            at = np.unique(np.linspace(0, static.num_frames - 1, STATIC_FRAMES).astype(int))
            rest = _markers(static, labels, part, at)
        return cls(
            labels, _markers(clip, labels, part, None), rest,
            np.array([marker.place for marker in known], dtype=float),
            np.array([marker.sigma for marker in known], dtype=float),
            np.array([body.INDEX.get(marker.near or marker.segment, -1) for marker in known]),
            _hip_prior(known), bool(np.mean([marker.is_joint for marker in known]) > 0.5),
        )  # fmt: skip


def _markers(
    clip: MarkerClip, labels: Sequence[str], part: Int[Array, "K"], at: Int[Array, "n"] | None
) -> Markers:
    frames = np.arange(clip.num_frames) if at is None else at
    pos = np.full((len(frames), len(labels), 3), np.nan)
    for k, label in enumerate(labels):
        if label in clip.labels:
            pos[:, k] = clip.pos_w[frames, clip.labels.index(label)]
    return Markers(np.nan_to_num(pos), ~np.isnan(pos[..., 0]), part)


def _recognise(clip: MarkerClip, static: MarkerClip | None, config: MarkerConfig) -> Recognition:
    labels = list(clip.labels)
    if static is not None:
        labels += [label for label in static.labels if label not in labels]
    where = clip.provenance.path
    if config.marker_map is not None:
        from motionkit.human.markers.sets import read_marker_map

        return read_marker_map(config.marker_map, labels, where=where)
    if clip.roles and config.marker_set is None:
        return _by_roles(clip)
    return recognise(labels, config.marker_set, where=where)


def _by_roles(clip: MarkerClip) -> Recognition:
    """Joint centres whose roles the reader found."""
    from motionkit.human.markers.sets import MarkerSet

    known = {
        label: SetMarker(label, (), role, (0.0, 0.0, 0.0), JOINT_SIGMA, is_joint=True)
        for role, label in clip.roles.items()
        if role in body.INDEX
    }
    title = "joint centres, as their reader names them"
    roles = MarkerSet("joints", title, clip.provenance.format, tuple(known.values()))
    rest = tuple(sorted(set(clip.labels) - set(known)))
    return Recognition(roles, known, rest, 1.0, ())


def _hip_prior(known: Sequence[SetMarker]) -> HipPrior | None:
    at = {marker.landmark: k for k, marker in enumerate(known) if marker.landmark}
    psis = [at[name] for name in ("LPSI", "RPSI") if name in at]
    if len(psis) < 2:
        psis = [at["SACR"]] if "SACR" in at else []
    if "LASI" in at and "RASI" in at and psis:
        return HipPrior((at["LASI"], at["RASI"]), tuple(psis))
    return None


@dataclass(frozen=True, slots=True)
class _Solved:
    """Shape, poses and what was found on the way."""

    subject: Subject
    pose: Pose
    terms: Terms
    shape_fit: ShapeFit
    markers: Markers
    """With exchanges put right."""
    converged: bool


def _solve(
    problem: _Problem, config: MarkerConfig, fps: float, where: str
) -> tuple[_Solved, list[Note]]:
    shape = body.shape_model(joints_are_given=problem.are_joints)
    markers = problem.markers
    stature = first_stature(markers, problem.nominal, shape.mean)
    subject = Subject(shape, stature, np.zeros(shape.basis.shape[-1]), stature * problem.nominal,
                      problem.nominal, problem.sigma, problem.near, markers.part)  # fmt: skip
    gain = mirror_gain(markers, subject.offsets, subject.place)
    if gain < MIRRORED:
        raise InputError(
            f"the mirror image of a body fits better (residual {gain:.2f} of the straight one)",
            where=where,
            help="left and right are exchanged in the labels, or the axes are left-handed: "
            "rename them in a --marker-map, or export with right-handed axes",
        )
    exchanged: list[tuple[int, int, int, int]] = []
    solved, found = _attempt(problem, markers, subject, config, fps)
    for _ in range(ROUNDS - 1):
        if not found:
            break
        exchanged += found
        markers = swaps.exchange(markers, found)
        few = sum(stop - start for _, _, start, stop in found) <= FEW * len(markers.pos)
        known = solved.shape_fit if few else None
        solved, found = _attempt(problem, markers, solved.subject, config, fps, known)
    return solved, _swap_notes(problem.labels, exchanged)


def _attempt(
    problem: _Problem, markers: Markers, subject: Subject, config: MarkerConfig, fps: float,
    known: ShapeFit | None = None,
) -> tuple[_Solved, list[tuple[int, int, int, int]]]:  # fmt: skip
    """Shape, then poses; and which markers turn out to have changed places.

    Exchanges are looked for first where the body has been placed part by part, which is cheap and
    finds nearly all; then the poses are not fitted. A shape that is known is not fitted again.
    """
    fit = known or _fit_key_frames(problem, markers, subject, config.robust_scale)
    weights = replace(fit.terms.weights, share=1.0)
    subject = fit.subject
    pose, converged = first_pose(markers, subject.offsets, subject.place), False
    found = swaps.find_swaps(markers, _model(pose, subject, markers), fps, swaps.COARSE)
    if not found:
        pose, converged = track(markers, weights, pose, subject, fps)
        found = swaps.find_swaps(markers, _model(pose, subject, markers), fps, swaps.FINE)
    terms = Terms(markers, weights, pose, subject.offsets, subject.place)
    return _Solved(subject, pose, terms, fit, markers, converged and fit.converged), found


def _model(pose: Pose, subject: Subject, markers: Markers) -> Float[Array, "T K 3"]:
    """Where the body has its markers [m]."""
    x, R = body.forward(subject.offsets, pose.root, pose.local)
    return x[:, markers.part] + (R[:, markers.part] @ subject.place[..., None])[..., 0]


def _fit_key_frames(
    problem: _Problem, markers: Markers, subject: Subject, scale: float
) -> ShapeFit:
    """Shape and places, from a coarse to a fine loss.

    The loss always turns at :data:`ROBUST` standard deviations, so that no outlier outweighs what
    is known of people.
    """
    at = _key_frames(markers)
    few = markers.frames(at)
    if problem.static is not None:
        both = [np.concatenate(pair) for pair in ((few.pos, problem.static.pos),
                                                  (few.seen, problem.static.seen))]  # fmt: skip
        few = Markers(both[0], both[1], few.part)
    share = min(1.0, PEOPLE / len(few.pos))
    pose = first_pose(few, subject.offsets, subject.place)
    fit = fit_shape(few, _weights(10.0 * scale, share), pose, subject, problem.hips,
                    is_shape_free=False, max_iterations=15)  # fmt: skip
    for factor in (5.0, 2.0, 1.0):
        weights = _weights(factor * scale, share)
        fit = fit_shape(few, weights, fit.pose, fit.subject, problem.hips, tolerance=1e-3)
    error = np.linalg.norm(fit.terms.error, axis=-1)[few.seen]
    # Four of five lengths of a three-dimensional normal are below 2.154 standard deviations. Limbs
    # that reach all their markers have no residual, so that a median would tell of them alone.
    sigma = float(np.clip(np.quantile(error, 0.8) / 2.154, LEAST_SIGMA, scale / ROBUST))
    return fit_shape(few, Weights(sigma, scale, share), fit.pose, fit.subject, problem.hips)


def _weights(scale: float, share: float) -> Weights:
    return Weights(scale / ROBUST, scale, share)


def _key_frames(markers: Markers) -> Int[Array, "n"]:
    """Frames spread over the clip, in each stretch the one that sees the most."""
    frames = len(markers.pos)
    count = markers.seen.sum(axis=1)
    edges = np.unique(np.linspace(0, frames, min(KEY_FRAMES, frames) + 1).astype(int))
    best = [a + int(np.argmax(count[a:b])) for a, b in itertools.pairwise(edges)]
    return np.array([t for t in best if count[t] >= gaps.LEAST_MARKERS], dtype=int)


def _swap_notes(labels: Sequence[str], found: Sequence[tuple[int, int, int, int]]) -> list[Note]:
    frames: dict[tuple[int, int], int] = {}
    for k, m, start, stop in found:
        pair = (min(k, m), max(k, m))
        frames[pair] = frames.get(pair, 0) + stop - start
    return [
        Note("MK172", f"{labels[k]} and {labels[m]} change places in {n} frames; put right", n)
        for (k, m), n in frames.items()
    ]
