"""Rogers (2017): private hypothesis tests, Figures 5 to 25 and Table 3."""
