"""OpenID Connect, an extra (`holdfast[oidc]`): one issuer's tokens in place of ours, and signing in on the page.

`sign_in` checks a token and is the browser's way in, `provider` keeps the issuer's keys and is the only way out to it,
`service` says who a token stands for here. Off unless `oidc_issuer` is set.
"""
