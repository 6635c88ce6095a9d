"""An open memory: its life, its opening and closing, and the rooms behind its verbs."""
