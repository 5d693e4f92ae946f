"""What the recorder uses of PyTorch."""

import types

version = types.SimpleNamespace(cuda="13.0")
cuda = types.SimpleNamespace(is_initialized=lambda: True)
