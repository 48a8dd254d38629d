"""OpenID Connect, an extra (`holdfast[oidc]`): one issuer's tokens in place of ours, and signing in on the page.

`claims` checks a token, `provider` keeps the issuer's keys, `outbound` is the only way out to it, `subjects` says who a
token stands for here, `login` is the browser's way in. Off unless `oidc_issuer` is set.
"""
