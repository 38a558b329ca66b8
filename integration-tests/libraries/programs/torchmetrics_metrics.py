"""torchmetrics: metrics of all kinds over batches, with states saved and loaded."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torchmetrics
import torchmetrics.clustering
from worker import numbers

CLASSES = (
    "Accuracy", "Precision", "Recall", "F1Score", "Specificity", "StatScores", "HammingDistance",
    "ConfusionMatrix", "CohenKappa", "MatthewsCorrCoef", "JaccardIndex", "AUROC",
    "AveragePrecision", "ROC", "PrecisionRecallCurve", "CalibrationError", "HingeLoss")
COUNTS = {"binary": {}, "multiclass": {"num_classes": 5}, "multilabel": {"num_labels": 5}}
#: Metric of numbers -> further arguments.
REGRESSION = {
    "MeanSquaredError": {}, "MeanAbsoluteError": {}, "MeanAbsolutePercentageError": {},
    "SymmetricMeanAbsolutePercentageError": {}, "WeightedMeanAbsolutePercentageError": {},
    "R2Score": {}, "ExplainedVariance": {}, "PearsonCorrCoef": {}, "SpearmanCorrCoef": {},
    "ConcordanceCorrCoef": {}, "KendallRankCorrCoef": {}, "LogCoshError": {},
    "RelativeSquaredError": {}, "MinkowskiDistance": {"p": 3}, "MeanSquaredLogError": {},
    "TweedieDevianceScore": {"power": 1.5},
}
IMAGES = {
    "PeakSignalNoiseRatio": {"data_range": 1.0}, "StructuralSimilarityIndexMeasure": {},
    "UniversalImageQualityIndex": {}, "TotalVariation": {}, "SpectralAngleMapper": {},
    "ErrorRelativeGlobalDimensionlessSynthesis": {}, "RelativeAverageSpectralError": {},
    "RootMeanSquaredErrorUsingSlidingWindow": {}, "SpatialCorrelationCoefficient": {},
    "VisualInformationFidelity": {}, "SpectralDistortionIndex": {},
    "MultiScaleStructuralSimilarityIndexMeasure": {"kernel_size": 3},
}
SOUND = ("SignalNoiseRatio", "ScaleInvariantSignalNoiseRatio", "SignalDistortionRatio",
         "ScaleInvariantSignalDistortionRatio", "SourceAggregatedSignalDistortionRatio")
WORDS = ("BLEUScore", "CHRFScore", "SacreBLEUScore", "WordErrorRate", "CharErrorRate",
         "MatchErrorRate", "WordInfoLost", "EditDistance", "ExtendedEditDistance",
         "TranslationEditRate")


def over_batches(metric: Any, batches: list[tuple[Any, ...]]) -> Any:
    """Values of each batch and of all, and those of a copy that has the saved state."""
    metric.persistent(True)
    steps = [metric(*batch) for batch in batches]
    copy = metric.clone()
    copy.load_state_dict(metric.state_dict())
    again = copy.compute()
    whole = metric.compute()
    metric.reset()
    metric.update(*batches[0])
    return steps, whole, again, metric.compute()


def classes(task: str, name: str) -> Any:
    batches = []
    for seed in range(3):
        if task == "binary":
            batches.append((numbers(20, seed=seed).sigmoid(),
                            (numbers(20, seed=seed + 9) > 0).int()))
        elif task == "multiclass":
            batches.append((numbers(20, 5, seed=seed).softmax(1),
                            (numbers(20, seed=seed + 9).sigmoid() * 5).long()))
        else:
            batches.append((numbers(20, 5, seed=seed).sigmoid(),
                            (numbers(20, 5, seed=seed + 9) > 0).int()))
    return over_batches(getattr(torchmetrics, name)(
        task=task, **COUNTS[task]), batches)


def regression(name: str) -> Any:
    batches = [(numbers(12, seed=seed).abs() + 0.1, numbers(12, seed=seed + 7).abs() + 0.1)
               for seed in range(3)]
    return over_batches(getattr(torchmetrics.regression, name)(**REGRESSION[name]), batches)


def images(name: str) -> Any:
    size = 192 if name.startswith("Multi") else 48
    batches = []
    for seed in range(2):
        x = numbers(2, 3, size, size, seed=seed).sigmoid()
        batches.append((x, (x + 0.1 * numbers(2, 3, size, size, seed=seed + 5)).clamp(0, 1)))
    if name == "TotalVariation":
        batches = [each[:1] for each in batches]
    return over_batches(getattr(torchmetrics.image, name)(**IMAGES[name]), batches)


def sound(name: str) -> Any:
    batches = [(numbers(2, 2, 600, seed=seed), numbers(2, 2, 600, seed=seed + 5))
               for seed in range(2)]
    return over_batches(getattr(torchmetrics.audio, name)(), batches)


def words(name: str) -> Any:
    said = ["the cat is on the mat", "a dog ran over the green field today"]
    meant = ["a cat sat on the mat", "the dog runs over a green field today"]
    lists = name in ("BLEUScore", "CHRFScore", "SacreBLEUScore", "TranslationEditRate")
    return over_batches(getattr(torchmetrics.text, name)(),
                        [(said, [[each] for each in meant] if lists else meant)])


def retrieval() -> Any:
    scores, target = numbers(24).sigmoid(), numbers(24, seed=3) > 0
    groups = torch.arange(24) % 4
    return [over_batches(getattr(torchmetrics.retrieval, name)(), [(scores, target, groups)])
            for name in ("RetrievalMAP", "RetrievalMRR", "RetrievalNormalizedDCG",
                         "RetrievalPrecision", "RetrievalRecall", "RetrievalHitRate",
                         "RetrievalRPrecision", "RetrievalFallOut", "RetrievalAUROC")]


def detection() -> Any:
    from torchmetrics.detection import GeneralizedIntersectionOverUnion, IntersectionOverUnion
    corner = numbers(5, 2).abs() * 10
    boxes = torch.cat([corner, corner + 5 + numbers(5, 2, seed=2).abs()], 1)
    moved = boxes + 0.5 * numbers(5, 4, seed=3)
    labels = torch.tensor([0, 1, 1, 0, 2])
    seen = [{"boxes": moved, "labels": labels, "scores": numbers(5, seed=5).sigmoid()}]
    true = [{"boxes": boxes, "labels": labels}]
    return [kind()(seen, true) for kind in (IntersectionOverUnion,
                                            GeneralizedIntersectionOverUnion)]


def clustering() -> Any:
    a, b = (numbers(30).sigmoid() * 4).long(), (numbers(30, seed=2).sigmoid() * 4).long()
    found = [over_batches(getattr(torchmetrics.clustering, name)(), [(a, b)]) for name in (
        "MutualInfoScore", "RandScore", "AdjustedRandScore", "FowlkesMallowsIndex",
        "HomogeneityScore", "VMeasureScore", "NormalizedMutualInfoScore",
        "AdjustedMutualInfoScore", "CompletenessScore")]
    x = numbers(30, 3)
    return found, [over_batches(getattr(torchmetrics.clustering, name)(), [(x, a)])
                   for name in ("CalinskiHarabaszScore", "DaviesBouldinScore", "DunnIndex")]


def nominal() -> Any:
    a, b = (numbers(30).sigmoid() * 4).long(), (numbers(30, seed=2).sigmoid() * 4).long()
    return [over_batches(getattr(torchmetrics.nominal, name)(num_classes=4), [(a, b)])
            for name in ("CramersV", "TheilsU", "TschuprowsT", "PearsonsContingencyCoefficient")]


def wrapped() -> Any:
    preds, target = numbers(30, 5).softmax(1), (numbers(30, seed=2).sigmoid() * 5).long()
    accuracy = functools.partial(torchmetrics.classification.MulticlassAccuracy, num_classes=5)
    many = torchmetrics.MetricCollection({"a": accuracy(), "b": accuracy(average="micro"),
                                          "f": torchmetrics.F1Score("multiclass", num_classes=5)})
    apart = torchmetrics.wrappers.ClasswiseWrapper(accuracy(average=None))
    boot = torchmetrics.wrappers.BootStrapper(accuracy(), num_bootstraps=5)
    boot.update(preds, target)
    tracker = torchmetrics.wrappers.MetricTracker(accuracy())
    for seed in range(3):
        tracker.increment()
        tracker.update(numbers(30, 5, seed=seed), target)
    lowest = torchmetrics.wrappers.MinMaxMetric(accuracy())
    sums = accuracy() + accuracy(average="micro") * 2
    sums.update(preds, target)
    return (many(preds, target), many.compute(), apart(preds, target), boot.compute(),
            tracker.best_metric(return_step=True), lowest(preds, target), sums.compute())


def aggregated() -> Any:
    values = numbers(10)
    kinds = torchmetrics.aggregation
    kept = [kind() for kind in (kinds.MeanMetric, kinds.SumMetric, kinds.MaxMetric,
                                kinds.MinMetric, kinds.CatMetric)]
    running = kinds.RunningMean(window=3)
    return [over_batches(each, [(values,), (values + 1,)]) for each in kept], [
        running(x) for x in values]


def gradient() -> Any:
    x = numbers(2, 3, 32, 32).sigmoid().requires_grad_()
    y = numbers(2, 3, 32, 32, seed=2).sigmoid()
    torchmetrics.functional.image.structural_similarity_index_measure(x, y).backward()
    return x.grad


CASES = {f"{task} {name}": functools.partial(classes, task, name)
         for task in ("binary", "multiclass", "multilabel") for name in CLASSES
         if not (task == "multilabel" and name in ("CohenKappa", "CalibrationError", "HingeLoss"))}
for function, names in ((regression, REGRESSION), (images, IMAGES), (sound, SOUND),
                        (words, WORDS)):
    CASES |= {f"{function.__name__} {name}": functools.partial(function, name) for name in names}
CASES |= {each.__name__: each for each in (retrieval, detection, clustering, nominal, wrapped,
                                           aggregated, gradient)}
