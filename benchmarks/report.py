"""Puts the stored figures into docs/benchmarks.md and draws the work–precision picture.

python -m benchmarks.report
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.mechanisms import PEERS
from benchmarks.run import RESULTS

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
PICTURE = DOCS / "pictures" / "benchmark-mechanisms.png"


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def milliseconds(seconds: float) -> str:
    """Three significant digits, plain."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def conditions(record: dict[str, Any]) -> str:
    """Machine and versions in one line."""
    m = record["machine"]
    names = {"exudyn": "Exudyn", "mujoco": "MuJoCo", "pin": "Pinocchio"}
    versions = ", ".join(f"{names[n]} {m[n]}" for n in names if m.get(n, "not installed") != "not installed")
    return f"CPU {m['cpu']}, {m['system']}, Python {m['python']}, {versions}."


def mechanisms(record: dict[str, Any]) -> str:
    """Times at equal error, ratios, and the costs around them."""
    figures = record["figures"]
    parts = [conditions(record)]
    if figures["clock"] == "cpu":
        parts.append(
            f"**Preliminary**: the machine was busy (load average {figures['load']:.1f}), so processor times are compared instead of wall times."
        )
    rows = []
    for case in figures["cases"]:
        for level, row in case["levels"].items():
            if any("ratio" in row.get(peer, {}) for peer in PEERS):
                rows.append([case["title"], level, *(_cell(row.get(tool)) for tool in ("Jourdain", *PEERS))])
    parts.append("Time for the same error, ms, with the method that was fastest there (ratio to Jourdain):")
    parts.append(table(["problem", "error", "Jourdain", *PEERS], rows))
    parts.append("The ratio at the error nearest to 1e-5 that both reach, and the smallest ratio over all errors in the table:")
    parts.append(table(["problem", "peer", "at error", "ratio", "smallest", "target"], [r for c in figures["cases"] for r in _summary(c)]))
    parts.append(
        "What a call of `simulate` costs before it integrates, one evaluation of the right-hand side (dop853 at rtol 1e-8, radau for the "
        "stiff governor, with all of the method's own work), the smallest error each tool reached, and model, equations, machine code, assembly and a first step in a "
        "fresh process, from nothing and from the cache:"
    )
    parts.append(
        table(
            ["problem", "call, ms", "evaluation, µs", "smallest errors", "from nothing, s", "from cache, s"],
            [_costs(c, figures["compile"].get(c["name"]), figures["clock"]) for c in figures["cases"]],
        )
    )
    return "\n\n".join(parts)


def _cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "–"
    ratio = f" (**{entry['ratio']:.1f}×**)" if "ratio" in entry else ""
    return f"{milliseconds(entry['seconds'])}{ratio} {entry['method']}"


def _summary(case: dict[str, Any]) -> list[list[str]]:
    rows = []
    for peer, s in case["summary"].items():
        target = "–" if s["target"] is None else f"≥ {s['target']:.0f}×: {'reached' if s['ratio'] >= s['target'] else 'missed'}"
        rows.append([case["title"], peer, s["level"], f"{s['ratio']:.1f}×", f"{s['smallest']:.1f}×", target])
    return rows


def _costs(case: dict[str, Any], compiled: dict[str, float] | None, clock: str) -> list[str]:
    own = [r for r in case["runs"] if r["tool"] == "Jourdain" and r["setting"] == 1e-8]
    run = next((r for r in own if r["method"].startswith("dop853")), own[0])
    one = 1e6 * max(run[clock] - case["overhead_s"], 0.0) / run["evaluations"]
    errors = ", ".join(f"{t} {e:.0e}" for t, e in case["agreement"].items())
    times = [f"{compiled['cold_s']:.2f}", f"{compiled['cached_s']:.2f}"] if compiled else ["–", "–"]
    return [case["title"], milliseconds(case["overhead_s"]), f"{one:.2f}", errors, *times]


def dynamics(record: dict[str, Any]) -> str:
    """Tree dynamics against Pinocchio."""
    rows = []
    for robot in record["figures"]["robots"]:
        for name, d in robot.items():
            if isinstance(d, dict):
                ratios = [f"{d[f'{k}_us']:.3f} (**{d[f'{k}_ratio']:.1f}×**)" for k in ("batch", "loop", "single")]
                rows.append([robot["robot"], name.replace("_", " "), str(d["operations"]), f"{d['pinocchio_us']:.2f}", *ratios])
    header = ["robot", "function", "+ and ×", "Pinocchio, µs", "batch, µs", "native loop, µs", "single call, µs"]
    return f"{conditions(record)}\n\n{table(header, rows)}"


def best_peers(record: dict[str, Any]) -> str:
    """Tree dynamics against the peers at their best; in brackets the faster peer's time over ours."""
    rows, sizes = [], ("scalar", "16", "64", "256", "1024", "10000")
    for robot in record["figures"]["robots"]:
        for name, d in robot.items():
            if isinstance(d, dict):
                peers = [d["pinocchio"], d["casadi"], *([d["mujoco"]] if d.get("mujoco") else [])]
                ours = [f"{d[k]:.3f} (**{min(peers) / d[k]:.1f}×**)" for k in sizes]
                own = f"{d['mujoco']:.2f}" if d.get("mujoco") else "–"
                rows.append([robot["robot"], name.replace("_", " "), f"{d['pinocchio']:.2f}", f"{d['casadi']:.3f}", own, *ours])
    header = ["robot", "function", "Pinocchio C++", "CasADi's C", "MuJoCo C", "scalar", *(f"batch of {k}" for k in sizes[1:])]
    steps = [[r["robot"], f"{r['rollout']:.2f}", f"{r['step']:.2f}"] for r in record["figures"]["robots"] if "rollout" in r]
    told = f"A step of Euler's method, contacts and constraints off, µs:\n\n{table(['robot', 'mujoco.rollout', '`simulate`, every step kept'], steps)}"
    return f"{conditions(record)}\n\n{table(header, rows)}" + (f"\n\n{told}" if steps else "")


def coman(record: dict[str, Any]) -> str:
    """Operation counts of the humanoid."""
    f = record["figures"]
    counts = {n: d for n, d in f.items() if isinstance(d, dict)}
    rows = [[n.replace("_", " "), str(d["operations"]), f"≤ {d['target']}", str(d["robotran"])] for n, d in counts.items()]
    return table(["function", "+ and ×", "target", "ROBOTRAN"], rows) + f"\n\nBoth derived in {1e3 * f['derive_s']:.0f} ms of pure Python."


def start(record: dict[str, Any]) -> str:
    """Import and first result."""
    f = record["figures"]
    rows = [
        ["`import jourdain`", f"{f['import_s']:.2f}", "< 0.3"],
        ["fresh process to the first simulated second, empty caches", f"{f['first_second_cold_s']:.2f}", "< 3"],
        ["the same, cached", f"{f['first_second_cached_s']:.2f}", "< 1"],
        ["first simulated second of a four-bar linkage, empty caches", f"{f['first_loop_cold_s']:.2f}", ""],
        ["the same, cached", f"{f['first_loop_cached_s']:.2f}", ""],
    ]
    return table(["", "s", "target"], rows)


def compile_time(record: dict[str, Any]) -> str:
    """Growth of the compile time."""
    f = record["figures"]
    rows = [[str(n), f"{s:.2f}", str(u)] for n, s, u in zip(f["operations"], f["seconds"], f["microseconds per operation"], strict=True)]
    return (
        table(["operations", "s", "µs an operation"], rows)
        + f"\n\nTime grows as size to the power {f['exponent']} (target ≤ {f['target']})."
    )


def car(record: dict[str, Any]) -> str:
    """Evaluations of vehicles, and a lane change against real time."""
    f = record["figures"]
    names = ("coordinates", "constraints", "operations")
    rows = [
        [title, *(str(int(row[n])) for n in names), *(f"{row[n]:.2f}" for n in ("evaluation", "terms", "projection"))]
        for title, row in f["evaluations"].items()
    ]
    runs = [
        [r["method"], f"{r['rtol']:g}", f"{r['real_time']:.0f}×", str(r["evaluations"]), f"{r['microseconds']:.2f}", f"{r['error']:.0e}"]
        for r in f["lane_change"]
    ]
    first = table(["model", "coordinates", "constraints", "operations", "evaluation, µs", "of it terms, µs", "projection, µs"], rows)
    second = table(["method", "rtol", "real time", "evaluations", "µs each", "error, m"], runs)
    return f"{conditions(record)}\n\n{first}\n\nThe lane change of 10 s (target: 50 times real time):\n\n{second}"


def stepper(record: dict[str, Any]) -> str:
    """Steps from Python beside those inside a run."""
    rows = [
        [title, *(f"{row[n]:.2f}" for n in ("inside", "advance", "allowed")), f"{row['alone']:.0f}"]
        for title, row in record["figures"].items()
    ]
    return table(["system, method", "step inside simulate, µs", "advance, µs", "allowed, µs", "a simulate of its own, µs"], rows)


def sweep(record: dict[str, Any]) -> str:
    """Many runs in one call."""
    f = record["figures"]
    rows = [
        [
            f"{f['runs']} × {f['seconds']:g} s", str(f["threads"]), f"{f['wall']:.0f}", f"{f['cpu']:.0f}", f"{100 * f['efficiency']:.0f} %",
            f"{100 * f['cpu_efficiency']:.0f} %", f"≥ {100 * f['target']:.0f} %",
        ]
    ]  # fmt: skip
    header = ["runs", "threads", "wall, s", "processor, s", "efficiency by the clock", "by processor time", "target"]
    busy = ""
    if f["load"] > f["threads"] + 0.8:
        busy = f"\n\nThe machine was busy (load average {f['load']:.1f}): the efficiency by the clock says little here."
    return table(header, rows) + busy


def turns(record: dict[str, Any]) -> str:
    """The default method beside those of which it is made."""
    head = ["problem", "rtol", "dopri5, ms", "default, ms", "radau, ms", "errors", "to dopri5", "to the better"]
    lines = []
    for row in record["figures"]["rows"]:
        seconds, errors = row["seconds"], row["errors"]
        lines.append([
            row["title"] + (" (stiff)" if row["stiff"] else ""), f"{row['rtol']:g}", *(milliseconds(seconds[m]) for m in ("dopri5", "auto", "radau")),
            " / ".join(f"{errors[m]:.0e}" for m in ("dopri5", "auto", "radau")), f"{seconds['dopri5'] / seconds['auto']:.2f}×",
            f"{seconds['auto'] / min(seconds['dopri5'], seconds['radau']):.2f}",
        ])  # fmt: skip
    return conditions(record) + "\n\n" + table(head, lines) + "\n\n" + _drawn_turns(record["figures"].get("drawn", []))


def _drawn_turns(rows: list[dict[str, Any]]) -> str:
    """Problems drawn at random: time and evaluations to those of the better method, one line a problem."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        seconds, counts = row["seconds"], row["counts"]
        better = min(("dopri5", "radau"), key=seconds.__getitem__)
        ratio, evaluations = seconds["auto"] / seconds[better], counts["auto"][0] / counts[better][0]
        lines.setdefault(row["title"], []).append(f"{ratio:.2f} ({evaluations:.2f}, {better})")
    rtols = sorted({row["rtol"] for row in rows}, reverse=True)
    head = ["drawn at random: time, evaluations to those of the better", *(f"{rtol:g}" for rtol in rtols)]
    return table(head, [[title, *cells] for title, cells in lines.items()])


def conserving(record: dict[str, Any]) -> str:
    """Chains by directors: the finest steps of each, and times at equal error."""
    rows = []
    for chain, figures in record["figures"].items():
        last, equal = figures["rows"][-1], figures["equal"]
        own, peer = last["jourdain"], last.get("exudyn")
        cells = [f"{1e3 * last['step']:g}", f"{own['us_per_body_step']:.2f}", f"{own['error']:.0e}", f"{own['drift']:.0e}"]
        cells += [f"{peer['us_per_body_step']:.2f}", f"{peer['error']:.0e}"] if peer else ["–", "–"]
        cells += [f"**{equal['exudyn'] / equal['jourdain']:.1f}×** at {equal['error']:.0e}"] if equal else ["–"]
        rows.append([chain, *cells])
    header = ["chain", "step, ms", "Jourdain, µs", "error, m", "energy, J", "Exudyn, µs", "error, m", "ratio at equal error"]
    return f"{conditions(record)}\n\n{table(header, rows)}"


def conserving_hinges(record: dict[str, Any]) -> str:
    """Chains and loops of hinged bodies: work, fill and time to get ready by size, and the powers with which they grow."""
    f = record["figures"]
    rows = [
        [
            name,
            n,
            f"{r['unknowns']:.0f}",
            f"{r['fill_per_body']:.0f}",
            f"{r['us_per_body_step']:.2f}",
            f"{r['build'] + r['ready']:.2f}",
            f"{r['drift']:.0e}",
        ]
        for name, sizes in f["rows"].items()
        for n, r in sizes.items()
        if int(n) >= 100
    ]
    powers = [[name, *(f"{g[of]:.2f}" for of in ("fill_per_body", "march", "ready", "build"))] for name, g in f["growth"].items()]
    first = table(
        ["shape, reduction", "bodies", "unknowns", "factors, entries a body", "µs a body and step", "to the first step, s", "energy, J"],
        rows,
    )
    second = table(["shape, reduction", "factors", "step", "getting ready", "building"], powers)
    most = f["memory"][-1]
    return (
        f"{first}\n\nPowers of N with which they grow (fitted from 100 bodies on), where 1 is linear:\n\n{second}\n\n"
        f"Memory to build a chain of {most['n']} bodies and get ready: {most['peak']:.0f} MB, {most['per_body']:.0f} kB a body."
    )


def conserving_small(record: dict[str, Any]) -> str:
    """Heavy top and Bricard at equal error, and the largest steps."""
    from benchmarks.conserving_steps import HEADER, cells

    rows = []
    for case in record["figures"]["equal_error"]:
        for level, row in case["levels"].items():
            if len(row) == 2:
                own, peer = row["Jourdain"], row["Exudyn"]
                ratio = f"**{peer['seconds'] / own['seconds']:.1f}×**"
                times = [f"{milliseconds(x['seconds'])} {x['method']}" for x in (own, peer)]
                rows.append([case["title"], level, *times, ratio])
    first = table(["problem", "error, m", "Jourdain, ms", "Exudyn, ms", "ratio"], rows)
    second = table(list(HEADER), [[case["title"], *cells(row)] for case in record["figures"]["largest_steps"] for row in case["rows"]])
    return f"{conditions(record)}\n\n{first}\n\nThe largest stable step, and ten times that step:\n\n{second}"


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "mechanisms": mechanisms, "dynamics": dynamics, "best_peers": best_peers, "coman": coman, "start": start, "compile_time": compile_time,
    "car": car, "stepper": stepper, "sweep": sweep, "conserving": conserving, "conserving_hinges": conserving_hinges,
    "conserving_small": conserving_small, "turns": turns,
}  # fmt: skip


def insert(page: str, name: str, text: str) -> str:
    """Replaces what stands between the markers of a section."""
    pattern = re.compile(rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
    if not pattern.search(page):
        raise KeyError(f"{PAGE.name} has no markers '<!-- {name}: begin -->' and '<!-- {name}: end -->'")
    return pattern.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page)


def draw(figures: dict[str, Any], file: Path = PICTURE) -> None:
    """Time over error, one field a problem, one line a method, one colour a tool."""
    from jourdain.results.style import COLOURS, PALE, house_style, new_figure

    colours = dict(zip(("Jourdain", *PEERS), COLOURS, strict=False))
    cases = figures["cases"]
    columns = min(4, len(cases))
    lines = -(-len(cases) // columns)
    with house_style():
        figure = new_figure(3.3 * columns, 2.9 * lines + 0.5)
        axes = figure.subplots(lines, columns, squeeze=False)
        for ax in axes.flat[len(cases) :]:
            ax.set_visible(False)
        for ax, case in zip(axes.flat, cases, strict=False):
            for tool, colour in colours.items():
                runs = [r for r in case["runs"] if r["tool"] == tool and r["error"] < 0.3]
                for i, method in enumerate(dict.fromkeys(r["method"] for r in runs)):
                    points = [(r[figures["clock"]], r["error"]) for r in runs if r["method"] == method]
                    label = tool if i == 0 else None
                    ax.plot([e for _, e in points], [1e3 * t for t, _ in points], "o-", ms=3, lw=1, color=colour, label=label)
            ax.set(xscale="log", yscale="log", title=case["title"], xlim=(0.5, 1e-12))
            ax.grid(True, color=PALE)
        for ax in axes[:, 0]:
            ax.set_ylabel("time, ms")
        for ax in axes[-1]:
            ax.set_xlabel("error at the end (finer →)")
        shown: dict[str, Any] = {}
        for ax in axes.flat:
            handles, labels = ax.get_legend_handles_labels()
            shown |= dict(zip(labels, handles, strict=True))
        figure.legend(shown.values(), shown.keys(), loc="outside upper center", ncols=len(shown))
        file.parent.mkdir(exist_ok=True)
        figure.savefig(file, dpi=130)


def main() -> None:
    """Updates the page with every result file that exists."""
    page = PAGE.read_text(encoding="utf-8")
    for name, write in SECTIONS.items():
        file = RESULTS / f"{name}.json"
        if file.exists():
            record = json.loads(file.read_text(encoding="utf-8"))
            page = insert(page, name, write(record))
            if name == "mechanisms":
                draw(record["figures"])
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
