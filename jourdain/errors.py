"""The exceptions Jourdain raises: each names the object, the value and the remedy."""


class JourdainError(Exception):
    """Base of every error that Jourdain raises on purpose."""


class ModelError(JourdainError, ValueError):
    """The model described is inconsistent: a bad value, a broken reference, an impossible topology."""


class InputError(JourdainError, ValueError):
    """An argument given to a function has the wrong shape, type, unit or value."""


class SolverError(JourdainError, RuntimeError):
    """A numerical method could not go on; the message says where, when and what to try."""
