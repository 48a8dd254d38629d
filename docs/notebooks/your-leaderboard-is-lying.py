# %% [markdown]
# # Your leaderboard is lying
#
# Many people tune their models on the same test set, and the best score wins. How much of that score is true? This
# notebook takes the predictions of thirty published CIFAR-10 models and climbs a leaderboard by using nothing but its
# scores. Then it repeats the climb on a leaderboard that answers through a guard. Finally it asks which of twenty-nine
# language models really differ on MMLU-Pro.
#
# The data are predictions published with CIFAR-10.1 (Recht, Roelofs, Schmidt and Shankar 2019), and a matrix of right
# and wrong answers on MMLU-Pro. The environment variable `HOLDFAST_DATA` names the folder that contains them.

# %%
import altair as alt
import numpy as np
import polars as pl

import holdfast as hf
from holdfast_papers.real_data import load_cifar, load_mmlu

alt.renderers.enable("svg")
cifar = load_cifar()
rng = np.random.default_rng(7)
print(len(cifar.models), "models on", cifar.old.shape[1], "test images")

# %% [markdown]
# ## Climb with scores alone
#
# A thousand of the ten thousand images are the hidden set of the leaderboard. The other nine thousand, which nobody
# looks at, give the true accuracy. The climber starts with a model of medium accuracy. At each step it takes another
# model's predictions on a random twentieth of the images, asks for the score, and keeps the change if the score went
# up. This imitates tuning by trial and error.

# %%
images = rng.permutation(cifar.old.shape[1])
hidden, truth = images[:1000], images[1000:]
middling = int(np.argsort(cifar.old.mean(axis=1))[15])
steps = 400


def mixture_of(models, start, share=0.05):
    """Another candidate: a random share of the images is answered by another model."""
    swap = rng.random(len(start)) < share
    return np.where(swap, rng.integers(len(models), size=len(start)), start)


def right(who):
    """Which images the mixture `who` of models gets right."""
    return cifar.old[who, np.arange(len(who))]


def climb(better):
    """Keep a candidate when `better` says so; what is true of the kept one after each step."""
    kept, path = np.full(cifar.old.shape[1], middling), []
    for _ in range(steps):
        candidate = mixture_of(cifar.models, kept)
        if better(right(candidate)[hidden]):
            kept = candidate
        path.append(right(kept)[truth].mean())
    return path


best, believed = 0.0, []


def plain(scores):
    global best
    higher = scores.mean() > best
    best = max(best, scores.mean())
    believed.append(best)
    return higher


true = climb(plain)
print(f"at first  believed {believed[0]:.3f}, true {true[0]:.3f}")
off = 100 * (believed[-1] - true[-1])
print(f"at last   believed {believed[-1]:.3f}, true {true[-1]:.3f}: off by {off:.1f} points")

# %% [markdown]
# By its scores on the leaderboard, the model got better with every change that was kept. Its true accuracy got worse.
#
# ## The same climb on a guarded board
#
# The guarded leaderboard uses the rule `ladder`: it shows a score, with an interval, only when the score beats the best
# one so far by a step. With 95% probability *all* intervals that the leaderboard ever shows contain the true accuracy,
# whatever the climber does.

# %%
board = hf.guard.Board("cifar", key="image", label="right", metric="accuracy", rule="ladder", step=0.01)
# Accuracy asks only whether a model is right. So a "prediction" is right or wrong here, and the label is always right.
rows = hf.data.table({"image": list(range(1000)), "right": [True] * 1000})
guard = hf.Guard.open(None, rows, hf.guard.Policy(questions=1000, failures=60, boards=[board]))
shown = []


def guarded(scores):
    submission = hf.guard.score("cifar", dict(enumerate(scores.tolist())))
    answer = guard.ask(submission, analyst="climber")
    improved = answer.details["improved"] and not answer.repeated
    if improved:
        shown.append(answer)
    last = shown[-1] if shown else None
    told.append((np.nan,) * 3 if last is None else (last.value, *last.interval))
    return improved


told = []
guarded_true = climb(guarded)
print(
    f"told {told[-1][0]:.2f} in [{told[-1][1]:.3f}, {told[-1][2]:.3f}], true {guarded_true[-1]:.3f}; "
    f"scores shown in {steps} submissions: {len(shown)}"
)

# %% [markdown]
# The picture compares the accuracy that the climber believes with the true one, step by step. On the left, for the
# plain leaderboard, the two lines separate, and nothing on the leaderboard shows this. On the right, for the guarded
# leaderboard, the true accuracy stays inside the interval.

# %%
step = np.arange(steps)
left = pl.DataFrame(
    {"step": np.tile(step, 2), "accuracy": believed + true, "line": ["the board says"] * steps + ["true"] * steps}
)
values, low, high = np.array(told).T
right_hand = pl.DataFrame(
    {
        "step": np.tile(step, 2),
        "accuracy": np.concatenate([values, guarded_true]),
        "line": ["the board says"] * steps + ["true"] * steps,
    }
)
band = pl.DataFrame({"step": step, "low": low, "high": high})
colour = alt.Color(
    "line:N", title=None, scale=alt.Scale(range=["#b3541e", "#1f5a7a"]), legend=alt.Legend(orient="bottom")
)
y = alt.Y("accuracy:Q", scale=alt.Scale(zero=False), title="accuracy")
one = alt.Chart(left, title="plain scores").mark_line().encode(x="step:Q", y=y, color=colour)
area = (
    alt.Chart(band)
    .mark_area(opacity=0.2, color="#b3541e")
    .encode(x="step:Q", y=alt.Y("low:Q", scale=alt.Scale(zero=False), title="accuracy"), y2="high:Q")
)
two = alt.Chart(right_hand, title="guarded board").mark_line().encode(x="step:Q", y=y, color=colour)
(one.properties(width=300, height=220) | (area + two).properties(width=300, height=220)).resolve_scale(y="shared")

# %% [markdown]
# ## Which models are really apart?
#
# A leaderboard of language models shows scores with three digits. We split the questions of MMLU-Pro: a third is
# public, the rest is hidden. The list of models is fixed, so one *final* on the hidden questions gives all results:
# exact scores, an interval for each model, and which model is certainly better than which other. Two models are
# compared on the same questions, and the public questions suggest for which pairs a difference is to be expected. With
# 95% probability everything that the final claims is true at once.

# %%
mmlu = load_mmlu()
order = rng.permutation(mmlu.right.shape[1])
public, held = order[: len(order) // 3], order[len(order) // 3 :]
hidden_columns = {name: row[held].astype(bool) for name, row in zip(mmlu.models, mmlu.right, strict=True)}
public_columns = {name: row[public].astype(bool) for name, row in zip(mmlu.models, mmlu.right, strict=True)}
exam = hf.ReusableHoldout(n=len(held), final=1.0)
result = exam.final(hidden_columns, claims=["intervals", "ranks"], other=public_columns)
frame = pl.DataFrame(
    [
        {
            "model": name,
            "score": score,
            "low": result.interval[name][0],
            "high": result.interval[name][1],
            "rank": "{}-{}".format(*result.ranks[name]),
        }
        for name, score in sorted(result.values.items(), key=lambda one: -one[1])
    ]
)
overlapping = sum(
    low < other[1] and other[0] < high
    for place, (low, high) in enumerate(result.interval.values())
    for other in list(result.interval.values())[:place]
)
pairs = len(result.values) * (len(result.values) - 1) // 2
print(f"{len(held):,} hidden questions, {len(result.values)} models")
print(
    f"{len(result.better)} of {pairs} pairs of models are certainly apart; by their intervals alone {pairs - overlapping}"
)
frame.head(8)

# %%
base = alt.Chart(frame).encode(y=alt.Y("model:N", sort=frame["model"].to_list(), title=None))
bars = base.mark_rule(strokeWidth=4, color="#1f5a7a").encode(
    x=alt.X(
        "low:Q",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=7),
        title="accuracy, with an interval that holds for all models at once",
    ),
    x2="high:Q",
)
points = base.mark_point(filled=True, color="#b3541e").encode(x="score:Q")
(bars + points).properties(width=480, padding={"left": 30, "right": 5, "top": 5, "bottom": 5})

# %% [markdown]
# ## What to take home
#
# - The best score on a plain leaderboard is too high. The climber fitted its model to the thousand hidden images, and
#   the model is worse than at the start.
# - The guarded leaderboard was asked as often. What it showed stayed true, because it showed little: none of the later
#   changes beat its first score by a step, so the climber kept the better model.
# - Some neighbours on a real leaderboard are ties, and their three digits do not show it. A final shows which models
#   really differ: paired tests separate more models than comparing two intervals does.
#
# `holdfast serve` runs such a leaderboard for a team. `holdfast plan --workflow contest --n ROWS` computes, before you
# begin, how narrow your intervals can be.
