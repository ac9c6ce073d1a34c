"""Runs with contacts that can be differentiated: who touches where, what happened when, and how the motion goes on."""
