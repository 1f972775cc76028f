"""Training with the rows on the workers of a Dask cluster."""
