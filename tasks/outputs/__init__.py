"""What a run leaves behind: pickles, Parquet tables, schemas, data package, manifest."""
