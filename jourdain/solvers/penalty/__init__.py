"""Forces of contacts whose surfaces give way, found before every evaluation of a right-hand side."""
