"""The process of a model without its admission: it runs what would be refused, such as a division that ends it."""

from __future__ import annotations

import sys

from holdfast.guard.scoring.onnx import child

if __name__ == "__main__":
    child._admitted = lambda model: (model, 0)
    sys.exit(child.main())
