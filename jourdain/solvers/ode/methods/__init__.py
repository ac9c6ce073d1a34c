"""Methods of integration, one file a family."""
