"""Pictures: a strip of a motion's frames, a robot's T-pose, a page of curves, markers."""

from motionkit.view.markers import render_markers as render_markers
from motionkit.view.markers import render_person as render_person
from motionkit.view.plots import render_plots as render_plots
from motionkit.view.strip import render_strip as render_strip
from motionkit.view.strip import render_tpose as render_tpose
