"""Pictures: a strip of a motion's frames, a robot's T-pose, and a page of curves."""

from motionkit.view.plots import render_plots as render_plots
from motionkit.view.strip import render_strip as render_strip
from motionkit.view.strip import render_tpose as render_tpose
