"""What notebooks show: models as drawings of their trees, results as tables and small plots, sliders."""

from jourdain.notebook.of import html_of

__all__ = ["html_of"]
