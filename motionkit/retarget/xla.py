"""How XLA must be started: before jax is first imported, or not at all."""

import os
import sys

SCHEDULER_FLAG = "--xla_cpu_enable_concurrency_optimized_scheduler"


def prepare_xla() -> str:
    """Turn off XLA's concurrent CPU scheduler, under which programs of ≥ 100 frames can hang.

    XLA reads its flags once, when jax starts, so this comes before the first import of jax. What
    the user says of this flag in ``XLA_FLAGS`` stands, and so do all their other flags.

    Returns:
        What a person should know: empty if the flag is set in time.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if any(flag.split("=")[0] == SCHEDULER_FLAG for flag in flags.split()):
        return ""
    wanted = f"{SCHEDULER_FLAG}=false"
    if "jax" in sys.modules:
        return (
            "jax was imported before motionkit could set XLA_FLAGS; on some CPUs XLA hangs on "
            f"long clips: start Python with XLA_FLAGS={wanted}"
        )
    os.environ["XLA_FLAGS"] = f"{flags} {wanted}".strip()
    return ""
