"""Submitted ONNX models, evaluated on hidden rows in a process of their own. `docs/onnx.md` says what they may do."""
