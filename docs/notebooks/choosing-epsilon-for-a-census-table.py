# %% [markdown]
# # Choosing epsilon for a census table
#
# A statistics office wants to publish records of its survey with differential privacy. Which epsilon should it choose?
# An epsilon is hard to judge. It is easier to judge this question: does a person's being in the release change how a
# stranger's predictor treats people like this person? This effect can be measured, and it can be limited by a
# guarantee. The notebook does both on the NIST excerpt of the American Community Survey (NIST Diverse Communities Data
# Excerpts, national 2019). The environment variable `HOLDFAST_DATA` names the folder that contains it.

# %%
import altair as alt
import polars as pl

from holdfast.coherence import Audit, curators, learners, run
from holdfast.coherence.planner import plan_epsilon, protected_groups
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import judge
from holdfast_papers.coherence.acs_data import DISABILITY, LENS, TARGET, load_acs

alt.renderers.enable("svg")
people = load_acs()
print(f"{len(people[DISABILITY]):,} people; the statement is 'has a cognitive disability', DREM = 1 in the survey")

# %% [markdown]
# ## Measure: what does a release do?
#
# Divide the people at random into two halves and release one half. A predictor learns from the release and makes
# predictions for everybody. If it treats the people who were released differently from those who were not, the release
# caused the difference. The distance between the predictions for the two halves is between 0 (alike) and 2 (a certain
# no became a certain yes for everybody). The code compares two releases: the records as they are, and noisy counts.


# %%
def show(curator, lens):  # the curator makes the release; the lens is what the stranger knows of a person
    audit = Audit(people, curator, learners.Linkage(), TARGET, lenses={"known": lens}, splits=12, seed=3)
    found = judge(assess(run(audit), permutations=999), alpha=0.2)
    print(f"{curator.name}: {found.outcome}")
    for one in found.findings[:3]:
        print(
            f"  {one.group:13} distance {one.mean:.2f}, chance {one.floor:.2f}, above alpha in {one.above} of {one.asked} splits"
        )


show(curators.Clear(), LENS)
domains = {"SEX": [1, 2], "EDU": list(range(1, 13)), DISABILITY: [1, 2]}
show(curators.NoisyHistogram(domains, epsilon=1), ("SEX", "EDU"))

# %% [markdown]
# If the records are released as they are, a predictor that links records knows the disability of those who were
# released. For people with a disability the distance is 1.64, of at most 2. With the noisy counts it is about a
# hundredth, far below the tolerance. These are results for one predictor and one release. Another predictor may find
# more.
#
# ## Promise: which epsilon keeps a tolerance?
#
# The tolerance `alpha = 0.2` means that being released may reverse the prediction for at most a tenth of a group. The
# planner computes the largest epsilon that keeps this tolerance for every possible predictor, here for a country of
# five million people. A guarantee for all predictors allows less than a measurement of one predictor suggests: the
# counts above were released at an epsilon of 1.

# %%
plan = plan_epsilon(alpha=0.2, beta=0.01, groups=20, n=5_000_000, size=250_000, mode="sharp")
print(plan.words()[0])

# %%
sizes = [2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]
rows = []
for alpha in (0.1, 0.2, 0.4):
    for size in sizes:
        found = plan_epsilon(alpha=alpha, beta=0.01, groups=20, n=5_000_000, size=size, mode="sharp")
        if found.epsilon:
            rows.append({"smallest protected group": size, "epsilon": found.epsilon, "alpha": str(alpha)})
alt.Chart(pl.DataFrame(rows)).mark_line(point=True).encode(
    x=alt.X("smallest protected group:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=sizes, format="~s")),
    y=alt.Y(
        "epsilon:Q",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]),
        title="largest epsilon that keeps the tolerance",
    ),
    color=alt.Color("alpha:N", scale=alt.Scale(range=["#1f5a7a", "#b3541e", "#5b7f2b"])),
).properties(width=420, height=240)

# %% [markdown]
# The lines do not reach the left end of the picture: no epsilon protects groups that small, because chance alone makes
# their two halves differ.
#
# ## Whom does an epsilon protect?

# %%
groups = {"everyone": 5_000_000, "over 80": 190_000, "blind": 110_000, "one town": 9_000, "one street": 300}
for group in protected_groups(0.02, 0.2, 0.01, groups, 5_000_000, "sharp", "finite"):
    kept = f"tolerance that is kept {group.alpha:.3f}" if group.alpha < 2 else "no tolerance is kept"
    print(f"{group.name:12}{'protected' if group.protected else 'not protected':15}{kept}")

# %% [markdown]
# ## What to take home
#
# - Measure what a release does before you decide about it. `holdfast audit` does this for a file and writes one page.
# - Decide on a tolerance that people understand, and let the planner compute the epsilon.
# - Some groups are too small for any guarantee. Then do not publish data at that level of detail.
