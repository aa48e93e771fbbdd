"""The tables that say what a cluster's jobs are like; how each is reckoned is in `tasks.characterise`.

Every one has the cluster in its first column. Shares are fractions of 1, unless a
name ends in `_pct`. Times of local clocks say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pandera.engines.pandas_engine import DateTime
from pandera.typing import Series

from schemas.columns import OfCluster, Table, column, instant, maybe
from schemas.jobs import Quota

_GPUS, _JOBS, _S, _GPU_S = "GPUs", "jobs", "s", "GPU·s"


class Ecdf(OfCluster):
    """Cumulative distributions of GPU jobs; `jobs/ecdf.parquet`."""

    measure: Series[str] = column("duration, queue (the log's own), run, wait (from its times), or gpu_num")
    weight: Series[str] = column("what is counted: jobs, gpu_time (gpu_num × duration), own_gpu_time (× run)")
    type: Series[str] = column("kind of work, or all")
    x: Series[float] = column("value of the measure", "s or GPUs", low=0)
    share_pct: Series[float] = column("share with a measure ≤ x", "%", low=0, high=100.0001, nullable=True)
    jobs: Series[int] = column("jobs the curve stands on", _JOBS, low=0)


class Types(OfCluster):
    """GPU jobs by kind of work; `jobs/types.parquet`."""

    type: Series[str] = column("kind of work")
    jobs: Series[int] = column("GPU jobs", _JOBS, low=0)
    jobs_pct: Series[float] = maybe("share of the GPU jobs", "%")
    gpu_time_s: Series[float] = maybe("the log's own GPU time", _GPU_S)
    gpu_time_pct: Series[float] = maybe("share of it", "%")
    own_gpu_time_s: Series[float] = maybe("gpu_num × (end − start)", _GPU_S)
    own_gpu_time_pct: Series[float] = maybe("share of it", "%")
    gpus_low: Series[float] = maybe("lower whisker of gpu_num", _GPUS)
    gpus_q1: Series[float] = maybe("first quartile of gpu_num", _GPUS)
    gpus_median: Series[float] = maybe("median of gpu_num", _GPUS)
    gpus_q3: Series[float] = maybe("third quartile of gpu_num", _GPUS)
    gpus_high: Series[float] = maybe("upper whisker of gpu_num", _GPUS)
    duration_median_s: Series[float] = maybe("median of the log's own duration", _S)
    queue_within_1s_pct: Series[float] = maybe("share that waits at most 1 s", "%")
    queue_p90_s: Series[float] = maybe("90 % wait at most so long", _S)
    failed_pct: Series[float] = maybe("share that failed", "%")


class Status(OfCluster):
    """How jobs ended, by number and GPU time; `jobs/status.parquet`."""

    group: Series[str] = column("GPU jobs, CPU jobs, or the GPU jobs of a class of sizes")
    state: Series[str] = column("COMPLETED, CANCELLED or FAILED")
    jobs: Series[int] = column("jobs that ended so", _JOBS, low=0)
    job_share: Series[float] = maybe("of the group's jobs", "1")
    gpu_time_s: Series[float] = maybe("their GPU time", _GPU_S)
    gpu_time_share: Series[float] = maybe("of the group's GPU time", "1")


class Completion(OfCluster):
    """How GPU jobs ended, by their exact size; `jobs/completion.parquet`."""

    gpu_num: Series[float] = column("GPUs of the job", _GPUS, low=0)
    jobs: Series[int] = column("jobs of this size", _JOBS, low=0)
    completed: Series[float] = maybe("share that was completed", "1")
    cancelled: Series[float] = maybe("share that was cancelled", "1")
    failed: Series[float] = maybe("share that failed", "1")


class HourlyPattern(OfCluster):
    """The mean day; `jobs/hourly_pattern.parquet`."""

    hour: Series[int] = column("local hour of day", low=0, high=23)
    minutes: Series[int] = column("minutes of the period in that hour of day", "min", low=0)
    gpu_utilization: Series[float] = maybe("mean share of the GPUs that jobs hold", "1")
    submit_gpu_job: Series[float] = maybe("GPU jobs submitted in such an hour", "jobs/h")


class Monthly(OfCluster):
    """Month by month; `jobs/monthly.parquet`."""

    month: Series[str] = column("local month, YYYY-MM")
    job_num: Series[int] = column("jobs submitted", _JOBS, low=0)
    cpu_job_num: Series[int] = column("CPU jobs of these", _JOBS, low=0)
    gpu_job_num: Series[int] = column("GPU jobs of these", _JOBS, low=0)
    gpu_job_num_single: Series[int] = column("GPU jobs with one GPU or less", _JOBS, low=0)
    gpu_job_num_multi: Series[int] = column("GPU jobs with more", _JOBS, low=0)
    gpu_utilization: Series[float] = maybe("mean share of the GPUs that jobs hold", "1")
    gpu_utilization_multi: Series[float] = maybe("that of jobs with more than one GPU", "1")
    gpu_utilization_single: Series[float] = maybe("that of the others", "1")


class Users(OfCluster):
    """HeliosData's `cluster_user`, one row a user; `jobs/users.parquet`. Percents are fractions of 1."""

    user: Series[str] = column("name of the user")
    cpu_only: Series[bool] = column("has no GPU job")
    vc_list: Series[str] = column("virtual clusters of all jobs, joined by a blank")
    vc_list_gpu: Series[str] = column("virtual clusters of the GPU jobs, joined by a blank")
    vc_num: Series[int] = column("number of virtual clusters", low=0)
    vc_num_gpu: Series[int] = column("number of those of GPU jobs", low=0)
    job_num: Series[int] = column("jobs", _JOBS, low=0)
    gpu_job_num: Series[int] = column("GPU jobs", _JOBS, low=0)
    cpu_job_num: Series[int] = column("CPU jobs", _JOBS, low=0)
    avg_run_time: Series[float] = maybe("mean run time", _S)
    avg_gpu_run_time: Series[float] = maybe("mean run time of GPU jobs", _S)
    avg_cpu_run_time: Series[float] = maybe("mean run time of CPU jobs", _S)
    avg_pend_time: Series[float] = maybe("mean wait", _S)
    avg_gpu_pend_time: Series[float] = maybe("mean wait of GPU jobs", _S)
    avg_cpu_pend_time: Series[float] = maybe("mean wait of CPU jobs", _S)
    avg_gpu_num: Series[float] = maybe("mean GPUs of all jobs", _GPUS)
    avg_cpu_num: Series[float] = maybe("mean CPUs of all jobs", "CPUs")
    total_gpu_time: Series[float] = maybe("GPU time", _GPU_S)
    total_cpu_time: Series[float] = maybe("CPU time of all jobs", "CPU·s")
    total_cpu_only_time: Series[float] = maybe("CPU time of CPU jobs", "CPU·s")
    total_gpu_pend_time: Series[float] = maybe("waits of GPU jobs", _S)
    completed_percent: Series[float] = maybe("share that was completed", "1")
    completed_gpu_percent: Series[float] = maybe("the same of GPU jobs", "1")
    completed_cpu_percent: Series[float] = maybe("the same of CPU jobs", "1")
    cancelled_percent: Series[float] = maybe("share that was cancelled", "1")
    cancelled_gpu_percent: Series[float] = maybe("the same of GPU jobs", "1")
    cancelled_cpu_percent: Series[float] = maybe("the same of CPU jobs", "1")
    failed_percent: Series[float] = maybe("share in the state FAILED itself", "1")
    failed_gpu_percent: Series[float] = maybe("the same of GPU jobs", "1")
    failed_cpu_percent: Series[float] = maybe("the same of CPU jobs", "1")


class Concentration(OfCluster):
    """How much the top users take; `jobs/user_concentration.parquet`."""

    resource: Series[str] = column("gpu_time, cpu_time (of CPU jobs) or gpu_pend_time")
    top_percent: Series[int] = column("the top so many percent of the users", "%", low=0, high=100)
    users: Series[int] = column("users who have any of it", low=0)
    top_users: Series[int] = column("how many are the top", low=0)
    share: Series[float] = maybe("what they have of the whole", "1")
    share_as_drawn: Series[float] = maybe("the same as the published figures count it, over all users", "1")


class UserCurve(OfCluster):
    """The same for every number of top users; `jobs/user_curve.parquet`."""

    resource: Series[str] = column("gpu_time, cpu_time (of CPU jobs) or gpu_pend_time")
    rank: Series[int] = column("1 for the user who has most", low=1)
    user_share: Series[float] = column("rank over the users who have any", "1", low=0, high=1)
    share: Series[float] = column("what the users to this rank have", "1", low=0, high=1.000001)


class VirtualClusters(OfCluster):
    """Virtual clusters, partitions or queues; `jobs/vcs.parquet`."""

    vc: Series[str] = column("virtual cluster")
    gpu_quota: Series[float] = maybe("mean GPUs it may use", _GPUS)
    utilization_mean: Series[float] = maybe("mean share of these that jobs hold", "1")
    utilization_q1: Series[float] = maybe("first quartile over minutes", "1")
    utilization_median: Series[float] = maybe("median over minutes", "1")
    utilization_q3: Series[float] = maybe("third quartile over minutes", "1")
    job_num: Series[int] = column("jobs", _JOBS, low=0)
    gpu_job_num: Series[int] = column("GPU jobs", _JOBS, low=0)
    gpu_time_s: Series[float] = maybe("GPU time", _GPU_S)
    avg_gpu_num: Series[float] = maybe("mean GPUs of a GPU job", _GPUS)
    avg_run_time: Series[float] = maybe("mean run time of GPU jobs", _S)
    avg_pend_time: Series[float] = maybe("mean wait of GPU jobs", _S)


class Sequence(OfCluster):
    """HeliosData's `cluster_sequence`: minute by minute; `jobs/sequence/<cluster>.parquet`."""

    time: Series[DateTime] = instant("start of the minute")
    running_gpujob_num: Series[int] = column("GPU jobs that run", _JOBS, low=0)
    total_gpu_num: Series[float] = maybe("GPUs there are that local day", _GPUS)
    running_gpu_num: Series[float] = column("GPUs that jobs hold, at most all there are", _GPUS, low=0)
    running_gpu_multi: Series[float] = column("those of jobs with more than one GPU", _GPUS, low=0)
    running_gpu_single: Series[float] = column("those of the others", _GPUS, low=0)
    gpu_utilization: Series[float] = maybe("running over total", "1")
    gpu_utilization_multi: Series[float] = maybe("multi over total", "1")
    gpu_utilization_single: Series[float] = maybe("single over total", "1")


class VcSequence(OfCluster):
    """The same of each virtual cluster, changes only; `jobs/vc_sequence/<cluster>.parquet`.

    A row holds until the next one of the same virtual cluster.
    """

    vc: Series[str] = column("virtual cluster")
    time: Series[DateTime] = instant("start of the first minute that is so")
    total_gpu_num: Series[float] = maybe("GPUs it may use that local day", _GPUS)
    running_gpu_num: Series[float] = column("GPUs that its jobs hold, at most its quota", _GPUS, low=0)
    gpu_utilization: Series[float] = maybe("running over total", "1")


class Throughput(OfCluster):
    """HeliosData's `cluster_throughput`, in bins of 10 minutes; `jobs/throughput.parquet`."""

    time: Series[DateTime] = instant("start of the bin")
    submit_job_all: Series[int] = column("jobs submitted", _JOBS, low=0)
    start_job_all: Series[int] = column("jobs begun", _JOBS, low=0)
    end_job_all: Series[int] = column("jobs ended", _JOBS, low=0)
    submit_gpu_job: Series[int] = column("GPU jobs submitted", _JOBS, low=0)
    start_gpu_job: Series[int] = column("GPU jobs begun", _JOBS, low=0)
    end_gpu_job: Series[int] = column("GPU jobs ended", _JOBS, low=0)
    submit_gpu_num: Series[float] = column("GPUs of the jobs submitted", _GPUS, low=0)
    start_gpu_num: Series[float] = column("GPUs of the jobs begun", _GPUS, low=0)
    end_gpu_num: Series[float] = column("GPUs of the jobs ended", _GPUS, low=0)


class JobHours(OfCluster):
    """The log hour by hour, beside the telemetry of the same hour; `jobs/hours.parquet`."""

    hour: Series[DateTime] = instant("start of the hour")
    running_gpus: Series[float] = column("mean GPUs that jobs of the log hold", _GPUS, low=0)
    most_gpus: Series[float] = column("the most in a minute", _GPUS, low=0)
    capacity_gpus: Series[float] = maybe("GPUs there are", _GPUS)
    reporting_gpus: Series[float] = maybe("GPUs whose utilisation was sampled", _GPUS)
    utilisation_pct: Series[float] = maybe("mean utilisation of these", "%")
    busy_gpus: Series[float] = maybe("GPUs that were busy at least: reporting × utilisation", _GPUS)
    unexplained_gpus: Series[float] = maybe("busy GPUs for which the log has no job", _GPUS)


class Integrity(OfCluster):
    """Are jobs missing in the log? `jobs/integrity.parquet`."""

    measure: Series[str] = column("what is measured")
    value: Series[float] = maybe("its value", "see unit", low=None)
    unit: Series[str] = column("unit of the value")


class AuditTable(OfCluster):
    """What became of the rows of each log; `jobs/audit.parquet`."""

    rule: Series[str] = column("name of the rule")
    severity: Series[str] = column("info, warning or error")
    rows: Series[int] = column("rows, cells or columns concerned", low=0)
    left_out: Series[bool] = column("whether they are not in the job table")
    treatment: Series[str] = column("what was found and done")


# One file for all clusters, by its name below jobs/.
JOB_TABLES: Mapping[str, type[Table]] = MappingProxyType(
    {
        "ecdf": Ecdf,
        "types": Types,
        "status": Status,
        "completion": Completion,
        "hourly_pattern": HourlyPattern,
        "monthly": Monthly,
        "users": Users,
        "user_concentration": Concentration,
        "user_curve": UserCurve,
        "vcs": VirtualClusters,
        "throughput": Throughput,
        "hours": JobHours,
        "integrity": Integrity,
        "quota": Quota,
        "audit": AuditTable,
    }
)
# A file a cluster, in a folder of this name.
CLUSTER_TABLES: Mapping[str, type[Table]] = MappingProxyType(
    {"sequence": Sequence, "vc_sequence": VcSequence}
)
