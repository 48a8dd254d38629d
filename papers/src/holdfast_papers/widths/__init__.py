"""Rogers (2017): widths of adaptive answers, Figures 3 and 4, the attack and the gap."""
