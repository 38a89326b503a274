"""Pictures of a motion: a strip of frames, and a page of curves."""

from motionkit.view.plots import render_plots as render_plots
from motionkit.view.strip import render_strip as render_strip
