"""Where somebody's function runs: in a process of its own that may hang, crash or print."""
