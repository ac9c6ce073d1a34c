"""Bodies that touch, in what is asked about a state: what stands, small motions with an active set, forces inside cones."""
