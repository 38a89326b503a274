"""motionkit turns recorded human motion into robot references that a tracking trainer can trust."""

__version__ = "0.1.0"
