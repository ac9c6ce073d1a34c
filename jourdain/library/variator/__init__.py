"""A push-belt variator and its parts: geometry and estimates, belt, pulleys, control, steady states, what they must look like."""
