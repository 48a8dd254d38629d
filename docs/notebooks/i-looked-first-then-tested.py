# %% [markdown]
# # I looked first, then tested
#
# You plot the data, something looks interesting, you test it on the same data, and the p-value is small. But the
# p-value is valid only for a hypothesis that was fixed before anybody looked at the data. This notebook tests after
# looking on data without any effect, measures how often this gives a false discovery, and corrects it in three lines.
# Then it does the same on real data.

# %%
import altair as alt
import numpy as np
import polars as pl
from scipy.stats import binomtest, chi2_contingency

from holdfast.accounting import Bits, PureDP
from holdfast.inference import AfterLooking, alternatives

alt.renderers.enable("svg")
n, features, alpha = 1000, 100, 0.05

# %% [markdown]
# ## Nothing in the data, and a discovery every time
#
# The data are a label and a hundred features, all of them coin tosses. Find the feature that agrees with the label most
# often, and test only this feature.


# %%
def best_of_noise(rng):
    """How often the best of the features agrees with the label: a binomial count for each, of which the extreme is kept."""
    agree = rng.binomial(n, 0.5, features)
    return int(agree[abs(agree - n / 2).argmax()])


rng = np.random.default_rng(11)
counts = [best_of_noise(rng) for _ in range(2000)]
plain = np.array([binomtest(count, n).pvalue for count in counts])
print(f"'significant' at {alpha}: {np.mean(plain <= alpha):.0%} of 2,000 data sets without any effect")

# %% [markdown]
# ## Say how you looked
#
# The result "this one of a hundred features looked best" has a hundred possible outcomes. `AfterLooking` records it and
# corrects every later p-value for it.

# %%
looking = AfterLooking(n).record(Bits.of_values(features), what="which of 100 features looked best")
print(looking.plan(alpha))
corrected = np.array([looking.correct(p).adjusted for p in plain])
print(f"after the correction: {np.mean(corrected <= alpha):.1%}")

# %%
both = pl.DataFrame(
    {
        "p": np.concatenate([plain, corrected]),
        "which": ["as if fixed in advance"] * len(plain) + ["after looking"] * len(plain),
    }
)
alt.Chart(both).mark_bar().encode(
    x=alt.X("p:Q", bin=alt.Bin(step=0.05, extent=[0, 1]), title="p-value"),
    y=alt.Y("count()", title="data sets"),
    color=alt.Color("which:N", title=None, scale=alt.Scale(range=["#1f5a7a", "#b3541e"]), legend=None),
    column=alt.Column("which:N", title=None, sort="descending"),
).properties(width=280, height=160)

# %% [markdown]
# For one choice from a list this is Bonferroni's correction, which is hard to improve. But often there is no list: you
# looked at noisy answers, a colleague chose with a private tool, or the analysis had more branches than anybody could
# count. Then the correction can use differential privacy instead of a count. Here everything that was seen before the
# test was 0.02-differentially private together:

# %%
private = AfterLooking(n).record(PureDP(0.02), what="everything that was seen")
for p in (0.03, 0.01, 0.001):
    found = private.correct(p)
    print(f"ordinary p = {p:<6} adjusted {found.adjusted:.4f}", "rejected" if found.rejected else "not rejected")

# %% [markdown]
# The following table shows which uncorrected p-value each valid method requires, for the same choice among a hundred
# features:

# %%
print(alternatives(n=n, candidates=features, epsilon=0.02))

# %% [markdown]
# On all thousand rows the private choice accepts a larger p-value than Bonferroni's correction, but it has another
# cost: with this epsilon and a thousand rows, it finds the feature that looks best only a little more often than a
# random draw would. With splitting you may look at one half of the rows without any correction, and test on the other
# half.
#
# ## On real people
#
# The data are a thousand loans: the German credit data of the UCI repository, in the folder that `HOLDFAST_DATA` names.
# Which of the thirteen coded attributes is related to a bad loan? Somebody looks at all of them, keeps one, and tests
# it. Whichever attribute it is, it was chosen from thirteen, and the correction is the same:

# %%
from holdfast_papers.real_data import data_file

lines = [line.split() for line in data_file("german-credit", "german.data").read_text().splitlines()]
coded = [i for i in range(20) if lines[0][i].startswith("A")]
bad = np.array([line[-1] == "2" for line in lines])


def p_value(column):
    values = np.array([line[column] for line in lines])
    kinds = sorted(set(values))
    table = [[int(((values == kind) & (bad == outcome)).sum()) for kind in kinds] for outcome in (False, True)]
    return chi2_contingency(table).pvalue


# The numbers of the attributes, and what each is about, are those of the description that is published with the data.
NAMES = {1: "account", 3: "history", 4: "purpose", 6: "savings", 7: "employment", 9: "status and sex", 10: "guarantors"}
NAMES |= {12: "property", 14: "other plans", 15: "housing", 17: "job", 19: "telephone", 20: "foreign worker"}
p_values = {column + 1: p_value(column) for column in coded}
credit = AfterLooking(len(lines)).record(Bits.of_values(len(coded)), what=f"one of {len(coded)} attributes")
for attribute, p in sorted(p_values.items(), key=lambda item: item[1]):
    found = credit.correct(p)
    print(
        f"{NAMES[attribute]:15} ordinary p {p:.2g}, after looking {found.adjusted:.2g}",
        "rejected" if found.rejected else "not rejected",
    )

# %% [markdown]
# The first attribute, the state of the account, stays significant after the correction for thirteen attributes. The
# correction removes findings whose p-values are just below the level.
#
# ## What to take home
#
# - If you test after looking without a correction, you find a "discovery" in nearly every data set.
# - Record how you looked. A look with `d` possible outcomes multiplies the p-value by `d`; the price of a private look
#   follows from its epsilon.
# - `holdfast correct --n 1000 --p 0.001 --spent bits:7` corrects a p-value without Python.
