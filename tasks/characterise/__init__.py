"""What a cluster's jobs say of it: pure functions from job tables to tidy tables.

In the manner of Hu et al., SC '21 ("Characterization and Prediction of Deep
Learning Workloads in Large-Scale GPU Datacenters", Helios) and of the derived
files that HeliosData describes. Every function takes the canonical job table of
one cluster (`schemas.jobs.Jobs`) and says its definition and its source.

Common to all: a GPU job holds more than 0 GPUs, a CPU job holds 0; a job of which
the log does not tell is neither. Run times and waits are `run_s` and `wait_s` of the
table; where they are null, nothing takes their place. A row's order changes no number.

- `window`: minutes and local days of a period, which bin a time falls in
- `capacity`: GPUs there are, by local day
- `occupancy`: jobs and GPUs minute by minute, of the cluster or of a virtual cluster
- `throughput`: jobs and GPUs submitted, started, ended
- `calendar`: by hour of day and by month
- `spans`: from when to when a job runs and waits, also where the log does not tell
- `users`, `status`, `vcs`: by user, by how jobs ended, by virtual cluster
- `ecdf`, `kinds`, `summary`, `integrity`: distributions, kinds of work, the published
  summary, what the telemetry says against the log (Hu et al., NSDI '24)
- `everything`: all of these for one cluster
"""
