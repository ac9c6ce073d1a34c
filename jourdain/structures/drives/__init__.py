"""Elastic parts of belt drives: moving belts in splines, sheaves as plates, shafts with clearances; numbers in, numbers out."""
