"""The flow and the command `export`: from a real Prometheus to curves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import stamina
from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL

from flows.cli import exit_code
from flows.export import ExportResult, ExportSettings, export
from flows.settings import RunSettings
from flows.summarize import summarize
from schemas.errors import QueryRefused, ReadFailed, SourceError, UsageError
from schemas.export import ExportManifest
from schemas.manifest import OutputFile
from schemas.metrics import CATALOGUE
from tasks.export import carried_over
from tasks.prometheus import spans
from tasks.prometheus.credentials import PASSWORD, TOKEN, USER
from tests.doubles import fleet
from tests.doubles.prometheus import Prometheus, Proxy, Reply, prometheus, proxy

pytestmark = pytest.mark.usefixtures("prefect_server")

SINCE, UNTIL = "2024-05-06T08:00:00+08:00", "2024-05-06T02:00:00Z"
GPUS = {"GPU_UTIL", "POWER_USAGE", "FB_USED", "SM_ACTIVE"}
NODES = {"NODE_CPU_UTILIZATION", "NODE_MEMORY_UTILIZATION", "NODE_IB_SEND", "NODE_POWER"}
TIMES = range(fleet.START, fleet.START + fleet.SCRAPES * fleet.INTERVAL, fleet.INTERVAL)


def settings(url: str, folder: Path, **changed: object) -> ExportSettings:
    parts = {"prometheus": url, "dest": str(folder), "since": SINCE, "until": UNTIL}
    return ExportSettings.model_validate({**parts, **changed})


def run(url: str, dest: Path, **changed: object) -> ExportResult:
    return export(settings(url, dest, **changed))


def record(dest: Path) -> ExportManifest:
    return ExportManifest.model_validate_json((dest / "export.json").read_bytes())


@pytest.fixture(scope="module")
def exported(monitored: Prometheus, prefect_server: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the server has."""
    dest = tmp_path_factory.mktemp("exported") / "data set"
    run(monitored.url, dest)
    return dest


@pytest.fixture
def between(monitored: Prometheus) -> Proxy:  # type: ignore[misc]
    with proxy(monitored.url) as state, stamina.set_testing(True, attempts=2):
        yield state


def test_all_that_the_server_has_is_exported_and_the_rest_is_listed(exported: Path) -> None:
    found = record(exported)
    by_status: dict[str, set[str]] = {}
    for metric in found.metrics:
        by_status.setdefault(metric.status, set()).add(metric.metric)
    assert by_status["exported"] == GPUS | NODES
    assert by_status["absent"] == set(CATALOGUE) - GPUS - NODES
    assert set(by_status) == {"exported", "absent"}
    files = {path.relative_to(exported).as_posix() for path in exported.glob("data/**/*.csv")}
    assert files == {f"data/utilization/mine/{name}.csv" for name in GPUS | NODES}
    for output in found.outputs:
        assert output == OutputFile.of(output.path, (exported / output.path).read_bytes())


def test_the_record_says_what_was_asked(exported: Path, monitored: Prometheus) -> None:
    found = record(exported)
    assert found.server == monitored.url
    assert (found.since, found.until) == (
        datetime(2024, 5, 6, tzinfo=UTC),
        datetime(2024, 5, 6, 2, tzinfo=UTC),
    )
    assert (found.step_s, found.window_s, found.timezone) == (15, 60, "+08:00")
    (cpu,) = (m for m in found.metrics if m.metric == "NODE_CPU_UTILIZATION")
    assert cpu.query == '1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[60s]))'


def test_times_are_in_the_zone_of_since(exported: Path) -> None:
    first = (exported / "data/utilization/mine/GPU_UTIL.csv").read_text().splitlines()[1]
    assert first.startswith("2024-05-06 08:00:15+08:00,")


def test_curves_of_an_export_are_those_of_the_samples(exported: Path, tmp_path: Path) -> None:
    result = summarize(RunSettings(source=str(exported), out=str(tmp_path / "out")))
    assert {record.series for record in result.records} == GPUS | NODES
    assert not result.failed
    curves = pd.read_parquet(tmp_path / "out/summaries/curves.parquet")
    assert set(curves["cluster"]) == {"mine"}
    levels = np.linspace(0, 1, 1000)
    for name in GPUS:
        metric = CATALOGUE[name]
        table = fleet.expected_gpus(str(metric.field), TIMES, metric.scale, metric.decimals or 0)
        expected = table.melt()["value"].dropna().quantile(levels).to_numpy()
        got = curves[(curves["metric"] == name) & (curves["period"] == "all")]["value"].to_numpy()
        assert np.array_equal(got, expected), name


def test_a_second_export_asks_for_nothing_and_gives_the_same(
    exported: Path, between: Proxy, tmp_path: Path
) -> None:
    first = run(between.url, tmp_path / "dest", metrics=("GPU_UTIL", "NODE_POWER"), at_once=1)
    asked = len(between.ranges)
    assert between.most_at_once == 1, "all metrics together"
    text = (tmp_path / "dest/data/utilization/mine/GPU_UTIL.csv").read_bytes()
    assert text == (exported / "data/utilization/mine/GPU_UTIL.csv").read_bytes()
    second = run(between.url, tmp_path / "dest", metrics=("GPU_UTIL", "NODE_POWER"))
    assert len(between.ranges) == asked
    assert second.manifest.outputs == first.manifest.outputs
    run(between.url, tmp_path / "dest", metrics=("GPU_UTIL", "NODE_POWER"), force=True)
    assert len(between.ranges) == 2 * asked


def test_an_export_goes_on_when_its_server_is_back(
    monitored: Prometheus, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real server, stopped between two chunks and started again."""
    monkeypatch.setattr(spans, "SAMPLES_A_CHUNK", 640)
    samples = [one for one in fleet.gpus() if one.name == "DCGM_FI_DEV_GPU_UTIL"]
    dest = tmp_path / "dest"
    with prometheus(tmp_path / "server", samples) as server, stamina.set_testing(True, attempts=2):

        class StopsTheServer:
            chunks = 0

            def planned(self, metric: str, rows: int) -> None:
                pass

            def fetched(self, metric: str, rows: int, samples: int) -> None:
                self.chunks += 1
                if self.chunks == 3:
                    server.stop()

            def finished(self, result: object) -> None:
                pass

        asked = settings(server.url, dest, metrics=("GPU_UTIL",), at_once=1)
        with pytest.raises(ReadFailed, match="cannot be reached"):
            export(asked, StopsTheServer())
        assert not (dest / "export.json").exists()
        assert not (dest / "data").exists()
        server.start()
        result = export(asked)
    assert result.complete
    name = "data/utilization/mine/GPU_UTIL.csv"
    assert (dest / name).read_bytes() == (exported / name).read_bytes()


def test_a_metric_asked_for_by_name_is_missed(monitored: Prometheus, tmp_path: Path) -> None:
    result = run(monitored.url, tmp_path / "dest", metrics=("GPU_UTIL", "MEM_CLOCK"))
    assert result.missing == ("MEM_CLOCK",)
    assert not result.complete


def test_one_metric_that_fails_does_not_stop_the_others(monitored: Prometheus, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[FB_USED.prometheus]\nquery = 'sum(('\n")
    result = run(
        monitored.url,
        tmp_path / "dest",
        metrics=("FB_USED", "GPU_UTIL"),
        catalogue=str(tmp_path / "m.toml"),
    )
    status = {metric.metric: metric.status for metric in result.manifest.metrics}
    assert status == {"FB_USED": "failed", "GPU_UTIL": "exported"}
    assert not result.complete


def test_a_metric_of_ones_own_is_exported(monitored: Prometheus, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        "[HOT]\nunit = 'W'\ndecimals = 1\n[HOT.prometheus]\n"
        "query = 'max by (Hostname) (DCGM_FI_DEV_POWER_USAGE{Hostname!=\"\"})'\n"
        "entity = '{Hostname}'\nscale = 0.001\n"
    )
    result = run(monitored.url, tmp_path / "dest", metrics=("HOT",), catalogue=str(tmp_path / "m.toml"))
    assert result.complete
    frame = pd.read_csv(tmp_path / "dest/data/utilization/mine/HOT.csv")
    assert list(frame.columns) == ["Time", "gpu1-wl8sg", "gpu2-mig", "gpu3-late", "gpu10-x2"]
    assert frame.iloc[:, 1:].max().max() == 0.4


def test_a_server_without_our_metrics_is_told_apart_from_an_export(
    monitored: Prometheus, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="no sample") as caught:
        run(monitored.url, tmp_path / "dest", since="2020-01-01Z", until="2020-01-02Z")
    assert "--catalogue" in caught.value.hint
    assert not (tmp_path / "dest/export.json").exists()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"until": "2124-01-01Z"}, "future"),
        ({"until": SINCE}, "not before"),
        ({"since": "2024-05-06"}, "no zone"),
        ({"since": "yesterday"}, "not a time"),
        ({"timezone": "Europe/Berlin", "since": "2024-01-01"}, "change"),
        ({"timezone": "Mars"}, "not a time zone"),
        ({"metrics": ("NOPE",)}, "NOPE"),
        ({"dest": "s3://bucket/x"}, "local folder"),
        ({"prometheus": "http://a:secret@host"}, "password"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    changed: dict[str, object], says: str, tmp_path: Path
) -> None:
    asked = settings("http://host", tmp_path, **changed)

    def look() -> None:
        asked.server({})
        asked.chosen()
        asked.target()

    with pytest.raises(UsageError, match=says) as caught:
        look()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "changed", [{"step_s": "0s"}, {"step_s": "1.5s"}, {"cluster": "a/b"}, {"cluster": "ipmi"}, {"at_once": 0}]
)
def test_options_out_of_bounds_are_refused(changed: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        settings("http://host", tmp_path, **changed)


def test_some_metrics_again_leave_the_others(monitored: Prometheus, tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    run(monitored.url, dest, metrics=("GPU_UTIL", "FB_USED"))
    result = run(monitored.url, dest, metrics=("POWER_USAGE",))
    assert {file.path.rsplit("/")[-1] for file in result.manifest.outputs} == {
        "GPU_UTIL.csv",
        "FB_USED.csv",
        "POWER_USAGE.csv",
    }


def test_files_of_two_periods_are_not_mixed(monitored: Prometheus, exported: Path) -> None:
    def kept(*asked: str, **changed: object) -> set[str]:
        wanted = settings(monitored.url, exported, **changed)
        found = carried_over(exported, wanted.draft(wanted.target()), asked)
        return {metric.metric for metric in found}

    everything = GPUS | NODES
    assert kept("GPU_UTIL") == everything - {"GPU_UTIL"}
    shorter = {"until": "2024-05-06T01:00:00Z"}
    with pytest.raises(UsageError, match="FB_USED"):
        kept("GPU_UTIL", **shorter)
    assert kept(*everything, **shorter) == set()
    with pytest.raises(UsageError, match="cluster"):
        kept(*everything, cluster="other")


def test_an_export_that_comes_to_nothing_leaves_the_earlier_one(
    monitored: Prometheus, tmp_path: Path
) -> None:
    dest = tmp_path / "dest"
    run(monitored.url, dest, metrics=("GPU_UTIL",))
    before = (dest / "export.json").read_bytes()
    with pytest.raises(SourceError):
        run(monitored.url, dest, since="2020-01-01Z", until="2020-01-02Z")
    (tmp_path / "m.toml").write_text("[GPU_UTIL.prometheus]\nquery = 'limitk(('\n")
    with pytest.raises(QueryRefused, match=r"GPU_UTIL: .*parse error"):
        run(monitored.url, dest, metrics=("GPU_UTIL",), catalogue=str(tmp_path / "m.toml"))
    assert (dest / "export.json").read_bytes() == before
    assert record(dest).outputs[0] == OutputFile.of(
        "data/utilization/mine/GPU_UTIL.csv", (dest / "data/utilization/mine/GPU_UTIL.csv").read_bytes()
    )


def test_a_file_that_the_export_no_longer_has_goes(monitored: Prometheus, tmp_path: Path) -> None:
    dest = tmp_path / "dest"
    run(monitored.url, dest, metrics=("GPU_UTIL", "FB_USED"))
    (tmp_path / "m.toml").write_text("[FB_USED.prometheus]\nquery = 'nothing_of_that_name'\n")
    result = run(monitored.url, dest, metrics=("GPU_UTIL", "FB_USED"), catalogue=str(tmp_path / "m.toml"))
    assert result.missing == ("FB_USED",)
    assert [path.name for path in dest.glob("data/**/*.csv")] == ["GPU_UTIL.csv"]


def command(url: str, dest: Path, *more: str) -> list[str]:
    return ["export", str(dest), "--prometheus", url, "--since", SINCE, "--until", UNTIL, *more]


def test_the_command_says_what_it_did_and_what_comes_next(
    monitored: Prometheus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(command(monitored.url, tmp_path / "dest")) == 0
    said = capfd.readouterr()
    assert "18 metrics: 8 exported, 10 absent" in said.out
    assert f"Next: acmetrace run {tmp_path}/dest --out out" in said.out
    assert "exported GPU_UTIL: 479 rows of 7 entities, " in said.err
    assert "absent MEM_CLOCK: " in said.err


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (["--metric", "MEM_CLOCK", "GPU_UTIL"], 3, "Missing of what was asked for: MEM_CLOCK"),
        (["--metric", "NOPE"], 2, "no query for the metric NOPE"),
        (["--step", "soon"], 2, "not a duration"),
        (["--since", "2020-01-01Z", "--until", "2020-01-02Z"], 2, "has no sample of"),
        (["--token-file", "/nowhere/token"], 2, "cannot be read"),
    ],
)
def test_exit_codes_of_the_command(
    more: list[str],
    code: int,
    says: str,
    monitored: Prometheus,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    asked = command(monitored.url, tmp_path / "dest")
    if "--since" in more:
        asked = asked[:4]
    assert exit_code([*asked, *more]) == code
    said = capfd.readouterr()
    assert says in said.out + said.err


def test_a_server_that_is_gone_or_does_not_let_us_in(
    between: Proxy, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(USER, "reader")
    monkeypatch.setenv(PASSWORD, "hunter-two")
    between.always = Reply(401)
    assert exit_code(command(between.url, tmp_path / "dest")) == 2
    between.always = Reply(hang_up=True)
    assert exit_code(command(between.url, tmp_path / "dest")) == 1
    said = capfd.readouterr()
    assert "401" in said.err
    assert "cannot be reached" in said.err
    assert "hunter" not in said.err + said.out


def test_no_secret_is_printed_or_kept(
    between: Proxy,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    prefect_server: dict[str, str],
) -> None:
    monkeypatch.setenv(TOKEN, "s3cret-token")
    dest = tmp_path / "dest"
    assert exit_code(command(between.url, dest, "--metric", "GPU_UTIL", "--json")) == 0
    assert between.headers[-1]["Authorization"] == "Bearer s3cret-token"
    said = capfd.readouterr()
    assert json.loads(said.out)["server"] == between.url
    kept = b"".join(path.read_bytes() for path in dest.rglob("*") if path.is_file())
    assert "s3cret" not in said.out + said.err
    assert b"s3cret" not in kept
    database = Path(PREFECT_API_DATABASE_CONNECTION_URL.value().split("///", 1)[1])
    assert database.exists()
    assert all(b"s3cret" not in path.read_bytes() for path in database.parent.glob(f"{database.name}*"))


@pytest.mark.slow
def test_a_killed_export_goes_on(
    monitored: Prometheus, exported: Path, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    """The process is killed while the server takes its time for the fourth chunk."""
    dest, name = tmp_path / "dest", "data/utilization/mine/GPU_UTIL.csv"
    script = (
        "import sys; from tasks.prometheus import spans; spans.SAMPLES_A_CHUNK = 640; "
        "from flows.cli import exit_code; sys.exit(exit_code(sys.argv[1:]))"
    )
    with proxy(monitored.url) as between:
        between.hangs_after = 3
        asked = command(between.url, dest, "--metric", "GPU_UTIL", "--at-once", "1")
        process = subprocess.Popen([sys.executable, "-c", script, *asked], env=prefect_server)
        while len(between.ranges) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (dest / "export.json").exists()
        between.hangs_after, between.asked = -1, []
        between.goes.set()
        done = subprocess.run([sys.executable, "-c", script, *asked], env=prefect_server, check=False)
        assert done.returncode == 0
        assert len(between.ranges) == 5
    assert (dest / name).read_bytes() == (exported / name).read_bytes()
