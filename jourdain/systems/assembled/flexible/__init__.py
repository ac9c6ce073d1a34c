"""Parts of large deformation: meshes, beams and cables, and flexible bodies of models made of them."""
