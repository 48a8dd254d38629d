# %% [markdown]
# # I looked first, then tested
#
# You plot the data, something stands out, you test it, and the p-value is small. It was computed for a hypothesis that
# was fixed before anybody looked. This notebook does it the usual way on data with nothing in them, sees how often it
# goes wrong, and repairs it in three lines. Then it does the same on real data.

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
# A label and a hundred features, all coin tosses. Look for the feature that agrees with the label most, and test that one.


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
# Which of a hundred features looked best is an answer with a hundred outcomes. `AfterLooking` writes it down and
# corrects whatever p-value follows.

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
# For one choice from a list this is Bonferroni's correction, and hard to beat. But most looking has no list: you looked at
# noisy answers, a colleague chose with a private tool, the path had branches that nobody could count. Then privacy is the
# currency. Here everything that was seen before the test was 0.02-differentially private together:

# %%
private = AfterLooking(n).record(PureDP(0.02), what="everything that was seen")
for p in (0.03, 0.01, 0.001):
    found = private.correct(p)
    print(f"ordinary p = {p:<6} adjusted {found.adjusted:.4f}", "rejected" if found.rejected else "not rejected")

# %% [markdown]
# What does each honest way ask of the ordinary p-value? The same choice among a hundred features:

# %%
print(alternatives(n=n, candidates=features, epsilon=0.02))

# %% [markdown]
# The private choice asks little of p, and pays in another coin: at this epsilon, with a thousand rows, it finds the feature
# that looks best only a little more often than a random draw would. Splitting looks freely, at half of the rows, and has
# the other half for the test.
#
# ## On real people
#
# A thousand loans, the German credit data of the UCI repository in the folder that `HOLDFAST_DATA` names: which of the thirteen coded attributes goes with a bad loan? Somebody looks
# at all of them, keeps one, and tests it. Whichever it is, it was one of thirteen, and the correction is the same:

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
# The first attribute, the state of the account, survives any look at thirteen. What the looking takes away are the
# findings near the edge.
#
# ## What to take home
#
# - Test after looking as if you had not, and nearly every data set has a discovery in it.
# - Write down how you looked. A look with `d` outcomes costs a factor of `d`; private looks cost what their epsilon says.
# - `holdfast correct --n 1000 --p 0.001 --spent bits:7` does it without Python.
