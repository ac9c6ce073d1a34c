"""Ordinary differential equations: methods, time loop, events, interpolants, restart."""
