"""Systems assembled from elements, marched by energy-consistent and other schemes."""
