"""A belt of layers on two V-pulleys as native code: a ring of stations with a complementarity problem of each pulley inside every step."""
