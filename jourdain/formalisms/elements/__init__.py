"""Element types of assembled systems, declared in symbols, and the derivation of their time steps."""

from .element import Composite, Element, Internal, Reduction, Servo, Symbols, Term, symbols_of

__all__ = ["Composite", "Element", "Internal", "Reduction", "Servo", "Symbols", "Term", "symbols_of"]
