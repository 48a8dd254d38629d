"""Operators that a submitted model may use: their time and memory go by shapes, never by what a row holds.

So no control flow (`If`, `Loop`, `Scan`), nothing random, nothing whose result is as large as the values say
(`NonZero`, `Unique`, `Compress`), nothing that reads or writes, and none of a custom domain. Some operators take a
shape as an input: that input must not depend on the row.
"""

from __future__ import annotations

#: Names that the domains of the standard go by.
STANDARD = ("", "ai.onnx")
LEARNING = "ai.onnx.ml"

_ELEMENTWISE = """Abs Acos Acosh Add And Asin Asinh Atan Atanh Cast Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor
    Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min
    Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum
    Tan Tanh ThresholdedRelu Where Xor"""
_ALONG_AXES = """ArgMax ArgMin BatchNormalization CumSum Gemm InstanceNormalization LayerNormalization LogSoftmax
    LpNormalization MatMul ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare Softmax TopK Conv AveragePool MaxPool GlobalAveragePool GlobalMaxPool"""
_MOVING = """Concat Constant ConstantOfShape Dropout Expand Flatten Gather GatherElements OneHot Range Reshape Shape
    Size Slice Split Squeeze Tile Transpose Unsqueeze"""

ALLOWED: dict[str, frozenset[str]] = {
    "": frozenset(f"{_ELEMENTWISE} {_ALONG_AXES} {_MOVING}".split()),
    LEARNING: frozenset(
        """ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder LinearClassifier
        LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsembleClassifier
        TreeEnsembleRegressor ZipMap""".split()
    ),
}
"""Operators by domain."""

SHAPE_INPUTS: dict[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "Dropout": (1, 2),
    "Expand": (1,),
    "OneHot": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1, 2),
    "TopK": (1,),
    "Unsqueeze": (1,),
} | {name: (1,) for name in ALLOWED[""] if name.startswith("Reduce")}
"""Which inputs of an operator say how large its result is."""

SHAPES_ONLY = frozenset(("Shape", "Size"))
"""Operators whose result goes by the shape of their input, whatever it holds."""

TREES = frozenset(("TreeEnsembleClassifier", "TreeEnsembleRegressor"))

__all__ = ["ALLOWED", "LEARNING", "SHAPES_ONLY", "SHAPE_INPUTS", "STANDARD", "TREES"]
