"""Who may do what: tokens, sessions of the pages, and identity providers."""
