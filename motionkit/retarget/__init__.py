"""Retargeting: a human in motion becomes a motion of a robot, within its joint budgets."""
