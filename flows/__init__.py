"""When and where it runs: Prefect flows, settings, the Dask cluster, the command line."""
