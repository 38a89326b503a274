"""What readers of markers and robot files, and the fit of markers, notice: MK150 to MK199."""

from motionkit.audit.check import Check

MARKER_CHECKS: dict[str, Check] = {
    "MK150": Check(
        "c3d-parameters",
        "warning",
        "Part of a C3D file's parameters could not be read",
        "labels, units or scales that are lost are replaced by what the data show",
        "check labels and unit with motionkit inspect; export the file again where they matter",
    ),
    "MK151": Check(
        "c3d-disagreement",
        "info",
        "Header and parameters of a C3D file disagree",
        "programs that trust the other one read another motion",
        "none needed if frames, rate and size look right",
    ),
    "MK152": Check(
        "samples-unseen",
        "info",
        "Points were not seen in some frames: NaN, a negative residual, or zeros",
        "they are gaps, not positions",
        "none needed; long gaps of a point are better filled where the recording was made",
    ),
    "MK154": Check(
        "outputs-dropped",
        "info",
        "Angles, forces and other outputs of a model stood among the points and were left out",
        "they are no positions",
        "none needed",
    ),
    "MK180": Check(
        "labels-counted",
        "info",
        "A C3D file has more or fewer names than points",
        "names are given to points in order; points without one are called *1, *2, …",
        "name the points where they were recorded, or give a map of markers",
    ),
    "MK181": Check(
        "analog-inconsistent",
        "info",
        "Parameters of analog channels or force plates are missing or contradict the data",
        "forces may have another scale or place; the motion does not depend on them",
        "none needed unless forces are used",
    ),
    "MK182": Check(
        "screen-axes",
        "info",
        "The file states which axes pointed along the screen; this is shown and not used",
        "the statement is often wrong",
        "give the axis with --up if the motion lies on its side",
    ),
}
