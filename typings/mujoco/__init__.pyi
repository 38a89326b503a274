# MuJoCo's own names live in compiled modules without stubs; to the type checker they are Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
