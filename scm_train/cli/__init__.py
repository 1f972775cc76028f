"""The commands of ``python -m scm_train``."""
