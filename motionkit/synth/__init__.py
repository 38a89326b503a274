"""Motion with a known truth: gaits, squats, arms; the demo's input and the tests' oracle."""

from motionkit.synth.bvh import write_bvh as write_bvh
from motionkit.synth.config import SynthConfig as SynthConfig
from motionkit.synth.motion import SynthMotion as SynthMotion
from motionkit.synth.motion import sole_points as sole_points
from motionkit.synth.motion import synthesize as synthesize
